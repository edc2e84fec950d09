internal import Feed
internal import Reactor

/// One condition on a feed, as people write it in a line: `hot: rooms/kitchen > 1000 for 2m until < 800`.
///
/// docs/conditions.md has the grammar.
package struct Condition: Sendable, Equatable {
    /// The line as written, without white space around it.
    package let text: String
    /// The name before the colon; the line itself without one.
    package let name: String
    /// The line without its name.
    package let body: String
    let subject: Subject
    /// All must hold at the same time; never empty.
    let tests: [ConditionTest]
    /// How long they must hold.
    let hold: Duration
    /// The test behind `until`; nil for the opposite of the tests, at once.
    let end: End?
    /// The tests, then that behind `until`.
    let allTests: [ConditionTest]
    /// How long the test behind `until` must hold; nil without one.
    let endHold: Duration?
    /// The first test with a limit to numbers, and the sign of values beyond it; nil without one.
    let limitTest: Int?
    let limitSign: Double

    init(
        text: String, name: String, body: String, subject: Subject, tests: [ConditionTest], hold: Duration, end: End?
    ) {
        (self.text, self.name, self.body, self.subject) = (text, name, body, subject)
        (self.tests, self.hold, self.end) = (tests, hold, end)
        allTests = tests + (end.map { [$0.test] } ?? [])
        endHold = end?.hold
        let limit = tests.enumerated().lazy.compactMap { index, test -> (Int, Double)? in
            guard case .compares(_, let comparison, .number) = test.kind else { return nil }
            return comparison.sign.map { (index, $0) }
        }.first
        (limitTest, limitSign) = (limit?.0, limit?.1 ?? 0)
    }

    /// A test that ends a condition, and how long it must hold.
    struct End: Sendable, Equatable {
        var test: ConditionTest
        var hold: Duration
    }

    /// The sources or series that a condition is about.
    struct Subject: Sendable, Equatable {
        var scope: Scope
        /// Nil for every series.
        var pattern: NamePattern?
    }

    enum Scope: Sendable, Equatable {
        /// Each series has its own state.
        case each
        /// There is one state: any of the series, or all of them.
        case any, all
        /// An agent of a fleet.
        case agent
    }

    /// The name of the only series or source that it is about, if the line says it.
    package var literalSubject: String? { subject.scope == .agent ? nil : subject.pattern?.literal }

    /// Whether it is about agents of a fleet.
    package var isAboutAgents: Bool { subject.scope == .agent }

    /// Whether the line leaves out what it is about.
    package var isAboutAll: Bool { subject.pattern == nil }

    /// The line of a condition about one series or source, in quotes where the name needs them.
    package static func line(about name: String, _ test: String) -> String {
        let plain = "\(name) \(test)"
        if let condition = try? Condition(plain), condition.literalSubject == name, condition.name == plain {
            return plain
        }
        let quoted = LineWriter.bytes(atMost: LineWriter.mostEscaped(name.utf8.count) + 2) { $0.string(name) }
        return "\(String(decoding: quoted, as: UTF8.self)) \(test)"
    }
}

extension Condition {
    var isOfSet: Bool { subject.scope == .any || subject.scope == .all }

    var mayBeSilent: Bool { allTests.contains { if case .isSilent = $0.kind { true } else { false } } }

    /// Whether it is about a source as such, and not about its series.
    package var isOfSources: Bool {
        if subject.scope == .agent { return true }
        if subject.pattern?.contains(UInt8(ascii: "/")) ?? false { return false }
        return allTests.allSatisfy { test in
            switch test.kind {
            case .fails, .isSilent: true
            default: test.measure?.isOfRequests ?? false
            }
        }
    }

    /// The longest time that it looks back.
    var memory: Duration {
        allTests.reduce(max(hold, end?.hold ?? .zero)) { longest, test in
            if case .isSilent(let span) = test.kind { return max(longest, span) }
            switch test.measure {
            case .over(_, let span), .percentile(_, let span), .errors(let span): return max(longest, span)
            default: return longest
            }
        }
    }

    var looksAtRequests: Bool { allTests.contains { $0.measure?.isOfRequests ?? false } }

    var hasPercentile: Bool {
        allTests.contains { if case .percentile = $0.measure { true } else { false } }
    }

    /// The source whose series it is about, as far as its subject is the name of one; nil if it may be about several.
    var literalSource: Substring? {
        guard let name = subject.pattern?.literal else { return nil }
        let own = SeriesKind.prefixed.first { name.utf8.starts(with: $0.prefix.utf8) }?.prefix ?? ""
        return name.dropFirst(own.count).prefix { $0 != "/" }
    }

    func isAbout(source: String) -> Bool {
        if let literal = subject.pattern?.literal { return literal.utf8.elementsEqual(source.utf8) }
        // The agent's own lines are meant only where they are named.
        guard !source.isOwnSource else { return false }
        return subject.pattern?.matches(source) ?? true
    }

    /// Whether it is about this series of a source.
    package func isAbout(series: String, of source: String) -> Bool {
        if let literal = subject.pattern?.literal, literal.utf8.elementsEqual(series.utf8) { return true }
        // Series of response times, memory and counts too.
        guard SeriesKind(of: series) == .data else { return false }
        if let pattern = subject.pattern, pattern.matches(series) { return !source.isOwnSource }
        return isAbout(source: source)
    }

    /// Whether it may be about some series of a source.
    func mayBeAbout(source: String) -> Bool {
        isAbout(source: source)
            || !source.isOwnSource && subject.pattern?.mayMatch(beginning: "\(source)/") ?? false
    }

    /// Whether it may be about some source of an agent.
    func mayBeAbout(agent: String) -> Bool { subject.pattern?.mayMatch(beginning: "\(agent).") ?? true }
}

extension String {
    /// Whether it is the source that stands for an agent itself.
    var isOwnSource: Bool { self == EventStore.ownName || hasSuffix(".\(EventStore.ownName)") }
}

/// One test of a condition.
struct ConditionTest: Sendable, Equatable {
    let kind: Kind
    /// Whether it compares the newest event's value, whose verdict only an event changes.
    let isOfValue: Bool
    /// The comparison with a number, if it is one.
    let limit: Double?
    let comparison: Comparison

    init(_ kind: Kind) {
        self.kind = kind
        (limit, comparison, isOfValue) =
            switch kind {
            case .compares(.value, let comparison, .number(let number)): (number, comparison, true)
            case .compares(let measure, let comparison, _): (nil, comparison, measure == .value)
            case .isIn(let measure, _, _), .contains(let measure, _, _): (nil, .equal, measure == .value)
            case .exists, .fails, .isSilent: (nil, .equal, false)
            }
    }

    enum Kind: Sendable, Equatable {
        case compares(Measure, Comparison, Literal)
        case isIn(Measure, ClosedRange<Double>, isNegated: Bool)
        case contains(Measure, String, isNegated: Bool)
        /// Whether the pointer leads to something.
        case exists(JSONPointer, isNegated: Bool)
        /// Whether the source fails: with this code, or with any.
        case fails(code: String?)
        /// Whether nothing has come for so long.
        case isSilent(Duration)
    }

    /// The measure that is compared; nil for a test without one.
    var measure: Measure? {
        switch kind {
        case .compares(let measure, _, _), .isIn(let measure, _, _), .contains(let measure, _, _): measure
        case .exists(let pointer, _): .pointer(pointer)
        case .fails, .isSilent: nil
        }
    }
}

enum Comparison: String, Sendable, CaseIterable {
    case less = "<"
    case atMost = "<="
    case greater = ">"
    case atLeast = ">="
    case equal = "="
    case unequal = "!="

    /// The sign of values that are far beyond a limit; nil without an order.
    var sign: Double? {
        switch self {
        case .greater, .atLeast: 1
        case .less, .atMost: -1
        case .equal, .unequal: nil
        }
    }

    /// Whether it needs no order.
    var isEquality: Bool { self == .equal || self == .unequal }

    func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .less: left < right
        case .atMost: left <= right
        case .greater: left > right
        case .atLeast: left >= right
        case .equal: left == right
        case .unequal: left != right
        }
    }
}

/// The value that a line names.
enum Literal: Sendable, Equatable {
    case number(Double)
    /// A string, or the name of a state or a band.
    case text(String)
    case bool(Bool)
    case null
}

/// The quantity that a test looks at.
enum Measure: Sendable, Equatable {
    /// The number of a data line, or the word that it stands for.
    case value
    case text
    /// A value within `data`.
    case pointer(JSONPointer)
    /// The name of the band of the value.
    case band
    case status
    case ms
    /// Of the newest closed window.
    case window(WindowPart)
    /// Of the values of the last time.
    case over(WindowPart, Duration)
    /// Of the response times of the last time.
    case percentile(Int, Duration)
    /// Percent of the requests of the last time.
    case errors(Duration)

    enum WindowPart: String, Sendable, CaseIterable {
        case last, min, max, mean, count
    }

    /// Whether it is about requests of a source, and not about its data.
    var isOfRequests: Bool {
        switch self {
        case .status, .ms, .percentile, .errors: true
        case .value, .text, .pointer, .band, .window, .over: false
        }
    }

    /// As people write it.
    var text: String {
        switch self {
        case .value: "value"
        case .text: "text"
        case .pointer(let pointer): pointer.text.isEmpty ? "the document" : pointer.text
        case .band: "band"
        case .status: "status"
        case .ms: "ms"
        case .window(let part): part.rawValue
        case .over(let part, let span): "\(part.rawValue) over \(DurationText.format(span))"
        case .percentile(let percent, let span): "p\(percent) over \(DurationText.format(span))"
        case .errors(let span): "errors over \(DurationText.format(span))"
        }
    }
}
