internal import Feed
internal import Reactor

extension Condition {
    // Bound: the line of a condition | 4,096 bytes, 16 tests | wrong usage, exit 2
    private static let longestLine = 4_096
    fileprivate static let mostTests = 16

    /// Parses a line.
    ///
    /// - Throws: what is wrong with it first.
    package init(_ line: String) throws(ConditionFault) {
        guard line.utf8.count <= Self.longestLine else {
            throw ConditionFault(
                "a condition has at most \(Self.longestLine) bytes", in: String(line.unicodeScalars.prefix(40)) + "…",
                at: 0)
        }
        var parser = ConditionParser(line, try ConditionScanner.tokens(of: line))
        self = try parser.condition()
    }
}

/// Reads the tokens of a line.
private struct ConditionParser {
    private typealias Token = ConditionScanner.Token

    private let line: String
    private let tokens: [ConditionScanner.Token]
    private var index = 0
    /// The measure of the test before.
    private var measure: Measure?

    /// The durations of `for`, `over` and `silent`.
    private static let spans = Duration.milliseconds(1)...Duration.seconds(30 * 86_400)
    private static let scopes: [String: Condition.Scope] = ["any": .any, "all": .all, "agent": .agent]
    private static let percentiles = ["p50": 50, "p90": 90, "p95": 95, "p99": 99]
    private static let simple: [String: Measure] = [
        "value": .value, "text": .text, "band": .band, "status": .status, "ms": .ms,
    ]
    /// The words that begin a test.
    private static let beginnings =
        Array(simple.keys).sorted() + Array(percentiles.keys).sorted() + Measure.WindowPart.allCases.map(\.rawValue)
        + ["errors", "fails", "silent", "not", "in", "contains"]
    private static let joints = ["and", "for", "until"]

    init(_ line: String, _ tokens: [ConditionScanner.Token]) { (self.line, self.tokens) = (line, tokens) }

    private var token: Token? { index < tokens.count ? tokens[index] : nil }
    private var end: Int { line.utf8.count }

    private func fault(_ message: String, at token: Token? = nil) -> ConditionFault {
        ConditionFault(message, in: line, at: (token ?? self.token)?.range.lowerBound ?? end)
    }

    /// Takes the token if it is this word.
    private mutating func take(_ word: String) -> Bool {
        guard token?.plain == word else { return false }
        index += 1
        return true
    }

    mutating func condition() throws(ConditionFault) -> Condition {
        let name = try name()
        let start = index
        guard token != nil else { throw fault("a test is missing, such as > 100 or status = 200") }
        let subject = try subject()
        var tests: [ConditionTest] = []
        repeat {
            guard tests.count < Condition.mostTests else {
                throw fault("a condition has at most \(Condition.mostTests) tests")
            }
            tests.append(try test(ofAgent: subject.scope == .agent))
        } while take("and")
        let hold = take("for") ? try duration(behind: "for") : .zero
        var ending: Condition.End?
        if take("until") {
            let test = try test(ofAgent: subject.scope == .agent)
            ending = Condition.End(test: test, hold: take("for") ? try duration(behind: "for") : .zero)
        }
        if let token { throw unexpected(token) }
        let text = text(from: 0, to: tokens.count)
        let condition = Condition(
            text: text, name: name ?? text, body: self.text(from: start, to: tokens.count), subject: subject,
            tests: tests, hold: hold, end: ending)
        if condition.isOfSources, let name = condition.literalSubject, SeriesKind(of: name) != .data {
            let source = name.split(separator: ":").last ?? ""
            throw ConditionFault("such a test is of a source; write \(source) in front of it", in: line, at: 0)
        }
        return condition
    }

    /// The text of the tokens with these indices.
    private func text(from first: Int, to last: Int) -> String {
        guard first < last else { return "" }
        let range = tokens[first].range.lowerBound..<tokens[last - 1].range.upperBound
        return String(decoding: Array(line.utf8)[range], as: UTF8.self)
    }

    private func unexpected(_ token: Token) -> ConditionFault {
        let word = token.plain ?? ""
        if let number = index > 0 ? tokens[index - 1].plain : nil, (try? DurationText.parse(number)) != nil,
            (try? DurationText.parse("1\(word)")) != nil, word.utf8.first?.isDecimalDigit == false
        {
            return fault("'\(word)' must follow the number at once; write \(number)\(word)")
        }
        switch word {
        case "or": return fault("there is no 'or'; write two conditions")
        case "for", "until", "and": return fault("'\(word)' does not stand here; the order is: and, for, until")
        default: break
        }
        let meant = EditDistance.suggestion(for: word, among: Self.joints).map { "; did you mean '\($0)'?" } ?? ""
        return fault("nothing more was expected here, but and, for or until\(meant)")
    }

    // MARK: Name and subject

    private mutating func name() throws(ConditionFault) -> String? {
        guard let token, case .word(let parts) = token.kind, let last = parts.last, !last.isQuoted,
            last.text.hasSuffix(":")
        else { return nil }
        let text = parts.map(\.text).joined().dropLast()
        guard !text.isEmpty else { throw fault("a name is missing in front of the colon") }
        index += 1
        return String(text)
    }

    private mutating func subject() throws(ConditionFault) -> Condition.Subject {
        if let word = token?.plain, let scope = Self.scopes[word] {
            index += 1
            guard let pattern = try pattern() else {
                throw fault("behind '\(word)' stands \(scope == .agent ? "an agent" : "a source")")
            }
            return Condition.Subject(scope: scope, pattern: pattern)
        }
        guard let token, !beginsTest(token) else { return Condition.Subject(scope: .each, pattern: nil) }
        return Condition.Subject(scope: .each, pattern: try pattern())
    }

    private func beginsTest(_ token: Token) -> Bool {
        guard case .word(let parts) = token.kind else { return true }
        if let word = token.plain { return word.hasPrefix("/") || Self.beginnings.contains(word) }
        // A pointer may have parts in quotes.
        return parts.first.map { !$0.isQuoted && $0.text.hasPrefix("/") } ?? false
    }

    /// Takes a name of a source or series; nil if the token cannot be one.
    private mutating func pattern() throws(ConditionFault) -> NamePattern? {
        guard let token, case .word(let parts) = token.kind, !beginsTest(token) else { return nil }
        for part in parts where !part.isQuoted && part.text.utf8.contains(UInt8(ascii: ":")) {
            throw fault("a name with a colon stands in quotes; the name of a condition is followed by a blank")
        }
        if let word = token.plain, Self.joints.contains(word) {
            throw fault("a source with the name '\(word)' stands in quotes: \"\(word)\"")
        }
        index += 1
        return NamePattern(parts: parts.map { ($0.text, isLiteral: $0.isQuoted) })
    }

    // MARK: Tests

    private mutating func test(ofAgent: Bool) throws(ConditionFault) -> ConditionTest {
        let kind = try kind(ofAgent: ofAgent)
        let test = ConditionTest(kind)
        measure = test.measure ?? measure
        return test
    }

    private mutating func kind(ofAgent: Bool) throws(ConditionFault) -> ConditionTest.Kind {
        guard let begin = token else { throw fault("a test is missing here, such as > 100 or status = 200") }
        if take("fails") {
            guard let code = token?.plain, !Self.joints.contains(code) else { return .fails(code: nil) }
            index += 1
            return .fails(code: code)
        }
        if take("silent") { return .isSilent(try duration(behind: "silent")) }
        guard !ofAgent else { throw fault("an agent 'fails', or is 'silent' for a time: agent web1 silent 30s") }
        let given = try givenMeasure()
        let measure = given ?? self.measure ?? .value
        if case .pointer(let pointer) = given {
            if take("exists") { return .exists(pointer, isNegated: false) }
            if take("missing") { return .exists(pointer, isNegated: true) }
        }
        let isNegated = take("not")
        if take("in") { return .isIn(measure, try range(for: measure), isNegated: isNegated) }
        if take("contains") { return try contains(measure, isNegated) }
        guard !isNegated else { throw fault("behind 'not' stands 'in' or 'contains'") }
        if case .comparison(let comparison)? = token?.kind {
            index += 1
            return .compares(measure, comparison, try literal(for: measure, comparison))
        }
        if token == nil || given != nil {
            throw fault("\(measure.text) is compared: \(ConditionScanner.comparisons), in, contains")
        }
        throw unknownTest(begin)
    }

    private func unknownTest(_ token: Token) -> ConditionFault {
        let word = token.plain ?? ""
        if word == "exists" || word == "missing" { return fault("'\(word)' follows a pointer: /a \(word)", at: token) }
        if let meant = EditDistance.suggestion(for: word, among: Self.beginnings + ["exists", "missing"]) {
            return fault("there is no test '\(word)'; did you mean '\(meant)'?", at: token)
        }
        return fault("a test begins with a sign (\(ConditionScanner.comparisons)), a measure or a pointer", at: token)
    }

    /// Takes a measure, if one stands here.
    private mutating func givenMeasure() throws(ConditionFault) -> Measure? {
        guard let token, case .word(let parts) = token.kind, let first = parts.first, !first.isQuoted else {
            return nil
        }
        if first.text.hasPrefix("/") {
            do throws(JSONPointer.Fault) {
                let pointer = try JSONPointer(parts.map(\.text).joined())
                index += 1
                return .pointer(pointer)
            } catch {
                throw fault("in a pointer ~ is written ~0, and / within a key ~1")
            }
        }
        guard let word = token.plain else { return nil }
        if let measure = Self.simple[word] {
            index += 1
            if self.token?.plain == "over" { throw fault("'\(word)' has no 'over'; min, max, mean and count do") }
            return measure
        }
        if let percent = Self.percentiles[word] {
            index += 1
            return .percentile(percent, try span(of: word))
        }
        if word == "errors" {
            index += 1
            return .errors(try span(of: word))
        }
        guard let part = Measure.WindowPart(rawValue: word) else { return nil }
        index += 1
        guard self.token?.plain == "over" else { return .window(part) }
        guard part != .last else { throw fault("'last' has no 'over'; 'value' is the newest") }
        return .over(part, try span(of: word))
    }

    private mutating func span(of word: String) throws(ConditionFault) -> Duration {
        guard take("over") else { throw fault("'\(word)' is of a time: \(word) over 5m") }
        return try duration(behind: "over")
    }

    private mutating func duration(behind word: String) throws(ConditionFault) -> Duration {
        guard let text = token?.plain else { throw fault("behind '\(word)' stands a duration, such as 30s or 2m") }
        do throws(DurationText.Fault) {
            let duration = try DurationText.parse(text)
            guard Self.spans.contains(duration) else { throw .range }
            index += 1
            return duration
        } catch {
            switch error {
            case .form: throw fault("'\(word)' takes a duration, such as 500ms, 30s, 2m or 1h")
            case .range: throw fault("a duration is between 1ms and 30d")
            }
        }
    }

    // MARK: Values

    /// The unit of a measure's numbers, and the units that a line may write, with their factors.
    private static func units(of measure: Measure) -> [String: Double] {
        switch measure {
        case .ms, .percentile: ["": 1, "ms": 1, "s": 1_000]
        case .errors: ["": 1, "%": 1]
        default: ["": 1]
        }
    }

    /// Takes a number.
    ///
    /// - Parameter text: a word, or a part of one.
    private func number(_ text: some StringProtocol, for measure: Measure) throws(ConditionFault) -> Double {
        let all = Array(text.utf8)
        let bytes = Array(all.prefix { "0123456789+-.eE".utf8.contains($0) })
        let unit = String(decoding: all.dropFirst(bytes.count), as: UTF8.self)
        let value = bytes.withUnsafeBufferPointer { bytes in
            (try? JSONMinifier.validate(bytes)).map { _ in JSONNumber.double(bytes) }
        }
        guard let value else { throw fault("a number is missing, such as 100, -2.5 or 1e6") }
        guard let number = value else { throw fault("'\(text)' is out of the range of a double") }
        let units = Self.units(of: measure)
        guard let factor = units[unit] else {
            let known = units.keys.filter { !$0.isEmpty }.sorted()
            let what = known.isEmpty ? "\(measure.text) has no unit" : "write \(known.joined(separator: " or "))"
            throw fault("'\(unit)' is no unit here; \(what)")
        }
        let scaled = number * factor
        guard scaled.isFinite else { throw fault("'\(text)' is out of the range of a double") }
        return scaled
    }

    private mutating func literal(for measure: Measure, _ comparison: Comparison) throws(ConditionFault) -> Literal {
        guard let token, case .word = token.kind else { throw fault("a value is missing to compare with") }
        func checked(_ literal: Literal, _ allowed: Bool, _ what: String) throws(ConditionFault) -> Literal {
            guard allowed else { throw fault("\(measure.text) is compared with \(what)") }
            guard comparison.isEquality else {
                throw fault("only numbers have an order; write = or !=, or compare with a number")
            }
            return literal
        }
        let literal: Literal
        if let text = token.quoted {
            switch measure {
            case .value, .text, .band, .pointer: literal = try checked(.text(text), true, "")
            default: literal = try checked(.text(text), false, "a number")
            }
        } else if let word = token.plain {
            switch (word, measure) {
            case ("true", .value), ("true", .pointer): literal = try checked(.bool(true), true, "")
            case ("false", .value), ("false", .pointer): literal = try checked(.bool(false), true, "")
            case ("null", .pointer): literal = try checked(.null, true, "")
            case (_, .band): literal = try checked(.text(word), true, "")
            case (_, .text): throw fault("a text stands in quotes: \"\(word)\"")
            case (_, .value) where !Self.mayBeNumber(word): literal = try checked(.text(word), true, "")
            case (_, .pointer) where !Self.mayBeNumber(word):
                throw fault("a text stands in quotes: \"\(word)\"")
            default: literal = .number(try number(word, for: measure))
            }
        } else {
            throw fault("a value is a number, a string in quotes, true, false, null, or the name of a state or band")
        }
        index += 1
        return literal
    }

    private static func mayBeNumber(_ word: String) -> Bool {
        guard let first = word.utf8.first else { return false }
        return first.isDecimalDigit || "+-.".utf8.contains(first)
    }

    private mutating func contains(_ measure: Measure, _ isNegated: Bool) throws(ConditionFault) -> ConditionTest.Kind {
        switch measure {
        case .text, .pointer: break
        case .value: throw fault("value is no text; write text contains, or a pointer")
        default: throw fault("\(measure.text) is no text; 'contains' is for text and pointers")
        }
        guard let text = token?.quoted else { throw fault("behind 'contains' stands a string in quotes") }
        guard !text.isEmpty else { throw fault("every text contains nothing") }
        index += 1
        return .contains(measure, text, isNegated: isNegated)
    }

    /// Takes `A..B`, with or without blanks around the points.
    private mutating func range(for measure: Measure) throws(ConditionFault) -> ClosedRange<Double> {
        switch measure {
        case .text, .band: throw fault("\(measure.text) is no number")
        default: break
        }
        var words: [Substring] = []
        let begin = index
        while words.count < 3, let word = token?.plain {
            let cut = word.utf8.indices.first { word[$0...].hasPrefix("..") }
            if let cut {
                words += [word[..<cut], "..", word[word.utf8.index(cut, offsetBy: 2)...]].filter { !$0.isEmpty }
            } else {
                words.append(word[...])
            }
            index += 1
        }
        guard words.count == 3, words[1] == ".." else {
            throw fault("behind 'in' stands a range: 1..5", at: begin < tokens.count ? tokens[begin] : nil)
        }
        let (low, high) = (try number(words[0], for: measure), try number(words[2], for: measure))
        guard low <= high else {
            throw fault("the range ends before it begins", at: tokens[begin])
        }
        return low...high
    }
}
