internal import Feed
internal import Reactor

/// The result of a test.
enum Verdict: Sendable, Equatable {
    case holds
    case doesNot
    /// It cannot be said, and the state stays as it was.
    case unknown(Doubt)

    init(_ holds: Bool) { self = holds ? .holds : .doesNot }

    /// Both at once: a test that does not hold decides, and so does the first doubt.
    func and(_ other: Verdict) -> Verdict {
        switch (self, other) {
        case (.doesNot, _), (_, .doesNot): .doesNot
        case (.unknown, _): self
        default: other
        }
    }
}

/// Why a test cannot be judged.
package enum Doubt: String, Sendable, Equatable {
    case nothingYet = "nothing came yet"
    case missing = "it is missing"
    case notComparable = "it cannot be compared"
    case leftOut = "a part was left out"
    case noAnswer = "there was no answer"
    case tooFew = "there are too few values"
    case failing = "the source fails"
    case late = "the source is late"
}

/// The newest result of one test for one series or source.
struct Reading: Sendable, Equatable {
    var verdict = Verdict.unknown(.nothingYet)
    /// The measured value.
    var value = Value.nothing
    /// When it was measured; nil before the first time.
    var time: LoopInstant?
    /// The number of the line that says so; 0 for none.
    var line = 0

    enum Value: Sendable, Equatable {
        case nothing
        case number(Double)
        /// JSON, or a text in quotes; cut.
        case text(String)

        // Bound: a measured text | 100 characters | cut
        private static let longest = 100

        /// A string.
        static func string(_ text: String) -> Value { .text("\"\(Sanitizer.visible(text, limit: longest))\"") }

        /// A value of valid JSON.
        static func json(_ bytes: Bytes) -> Value {
            .text(Sanitizer.visible(bytes: bytes.prefix(longest * 4), limit: longest))
        }

        /// As people read it, with the unit of its measure; nil for nothing.
        func shown(in measure: Measure?) -> String? {
            switch self {
            case .nothing: return nil
            case .number(let number):
                switch measure {
                case .errors: return "\((number * 10).rounded() / 10) %"
                case .ms, .percentile: return Duration.microseconds(number * 1_000).shortText
                default: return number == number.rounded() && abs(number) < 1e15 ? "\(Int(number))" : "\(number)"
                }
            case .text(let text): return text
            }
        }
    }
}

extension ConditionTest {
    /// Reads the measure of a data line, and compares it.
    func read(_ data: Line.Data, bands: BandScale?) -> (verdict: Verdict, value: Reading.Value) {
        let missing = (verdict: Verdict.unknown(.missing), value: Reading.Value.nothing)
        switch measure {
        case .value:
            guard let value = data.value else { return missing }
            switch kind {
            case .compares(_, _, .text):
                guard let word = data.word else { return (.unknown(.notComparable), .number(value)) }
                return (judge(word), .string(word))
            case .compares(_, let comparison, .bool(let wanted)):
                guard let word = data.word, word == "true" || word == "false" else {
                    return (.unknown(.notComparable), .number(value))
                }
                return (Verdict(((word == "true") == wanted) == (comparison == .equal)), .text(word))
            default: return (judge(value), data.word.map { .string($0) } ?? .number(value))
            }
        case .text:
            guard let text = data.text else { return missing }
            // The part that was cut off may contain it.
            if data.truncated, case .contains(_, let part, _) = kind, !text.holds(part) {
                return (.unknown(.leftOut), .string(text))
            }
            return (judge(text), .string(text))
        case .band:
            guard let value = data.value, let bands else { return missing }
            let name = bands.bands[bands.index(of: value)].name
            return (judge(name), .string(name))
        case .pointer(let pointer):
            guard let bytes = data.data, let document = try? JSONDocument(bytes) else {
                return data.truncated ? (.unknown(.leftOut), .nothing) : missing
            }
            let found = try? document.value(at: pointer)
            if case .exists(_, let isNegated) = kind {
                return (Verdict((found != nil) != isNegated), found.map { .json($0.minified) } ?? .nothing)
            }
            guard let found else { return missing }
            return (judge(found), .json(found.minified))
        default: return missing
        }
    }

    /// Compares a number.
    func judge(_ number: Double) -> Verdict {
        if let limit { return Verdict(comparison.holds(number, limit)) }
        return switch kind {
        case .compares(_, let comparison, .number(let limit)): Verdict(comparison.holds(number, limit))
        case .isIn(_, let range, let isNegated): Verdict(range.contains(number) != isNegated)
        default: .unknown(.notComparable)
        }
    }

    /// Compares a text; strings are compared by their bytes.
    func judge(_ text: String) -> Verdict {
        switch kind {
        case .compares(_, let comparison, .text(let other)) where comparison.isEquality:
            Verdict(text.utf8.elementsEqual(other.utf8) == (comparison == .equal))
        case .contains(_, let part, let isNegated): Verdict(text.holds(part) != isNegated)
        default: .unknown(.notComparable)
        }
    }

    /// Compares a value of JSON: of another kind, it is not equal.
    func judge(_ document: JSONDocument) -> Verdict {
        switch document.kind {
        case .number:
            guard let number = document.minified.withUnsafeBufferPointer({ JSONNumber.double($0) }) else {
                return .unknown(.notComparable)
            }
            if case .compares(_, _, .number) = kind { return judge(number) }
            if case .isIn = kind { return judge(number) }
        case .string:
            let body = JSONText.unescape(document.minified.dropFirst().dropLast())
            let text = String(decoding: body, as: UTF8.self)
            if case .compares(_, _, .text) = kind { return judge(text) }
            if case .contains = kind { return judge(text) }
        case .true, .false:
            if case .compares(_, let comparison, .bool(let wanted)) = kind {
                return Verdict((document.kind == .true) == wanted ? comparison == .equal : comparison == .unequal)
            }
        case .null:
            if case .compares(_, let comparison, .null) = kind { return Verdict(comparison == .equal) }
        case .object, .array: break
        }
        guard case .compares(_, let comparison, _) = kind, comparison.isEquality, document.kind != .object,
            document.kind != .array
        else { return .unknown(.notComparable) }
        return Verdict(comparison == .unequal)
    }
}
