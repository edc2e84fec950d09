internal import Feed
internal import Reactor

/// One condition for one series, source or agent.
struct ConditionInstance: Sendable {
    let condition: Int
    /// The name of the series, source or agent.
    let name: String
    let source: Int
    /// Nil for a condition of the source itself.
    let series: Int?
    /// When it began to be observed.
    var begun: LoopInstant
    /// Of each test, then of that behind `until`.
    var readings: [Reading]
    /// The values of each test that looks at the last time; empty if there is none.
    var sliding: [SlidingValues?]
    var state = ConditionState()
    /// The newest verdict on all tests, and on that behind `until`.
    var verdict = Verdict.unknown(.nothingYet)
    var ending: Verdict?
    /// When it may change without an event.
    var due: LoopInstant?
    /// Whether it is in the list of those that time may change, and of those that wait for the end of an answer.
    var isTimed = false
    var isWaiting = false
    /// Its changes within a second, and when that began.
    var changes = ChangeCount()
    var course = Course()

    init(_ number: Int, _ condition: Condition, _ name: String, source: Int, series: Int?, at now: LoopInstant) {
        (self.condition, self.name, self.source, self.series, begun) = (number, name, source, series, now)
        readings = condition.allTests.map { _ in Reading() }
        let spans = condition.allTests.map(\.slidingSpan)
        sliding = spans.allSatisfy { $0 == nil } ? [] : spans.map { $0.map { SlidingValues(of: $0) } }
    }
}

/// The common state of the series that `any` or `all` is about.
struct ConditionSet: Sendable {
    var members: Set<Int> = []
    /// How many members' tests hold, and do not; the same of the tests behind `until`.
    var (holding, failing) = (0, 0)
    var (ending, lasting) = (0, 0)
    /// The sources that it may be about, and which have not answered yet.
    var awaited: Set<Int> = []
    /// Whether there was no room for a member.
    var isCut = false
    var state = ConditionState()
    var due: LoopInstant?
    var isChanged = false
    var changes = ChangeCount()
    var course = Course()

    /// Counts a member, or no longer.
    mutating func count(_ verdict: Verdict, _ ending: Verdict?, by step: Int) {
        if verdict == .holds { holding += step }
        if verdict == .doesNot { failing += step }
        if ending == .holds { self.ending += step }
        if ending == .doesNot { lasting += step }
    }

    /// `any` holds if one member's tests do, `all` does not if one member's do not. Otherwise a member without a result means
    /// no result.
    func verdict(isAny: Bool) -> Verdict {
        Self.verdict(isAny, holding, failing, members.count, isWhole: awaited.isEmpty && !isCut)
    }

    /// The opposite of "any holds" is "all do not".
    func ending(isAny: Bool) -> Verdict {
        Self.verdict(!isAny, ending, lasting, members.count, isWhole: awaited.isEmpty && !isCut)
    }

    private static func verdict(_ isAny: Bool, _ holding: Int, _ failing: Int, _ count: Int, isWhole: Bool) -> Verdict {
        if isAny, holding > 0 { return .holds }
        if !isAny, failing > 0 { return .doesNot }
        guard count > 0, isWhole, holding + failing == count else { return .unknown(.nothingYet) }
        return Verdict(!isAny)
    }
}

/// How a condition came to hold.
struct Course: Sendable {
    /// The number of the line since which the tests hold; 0 if it was time, or an earlier run.
    var from = 0
    /// The value that is furthest beyond the limit.
    var worst: Double?
}

/// Changes of a state within a second.
struct ChangeCount: Sendable {
    // Bound: changes of the state of a condition for a series | 10 a second | the newest is evaluated at the next second
    private static let most = 10

    private var start = LoopInstant(nanoseconds: .min)
    private var count = 0

    /// When there is room for further changes.
    var end: LoopInstant { start.advanced(by: .seconds(1)) }

    /// Counts a change; false if there were too many.
    mutating func add(at now: LoopInstant) -> Bool {
        if now >= end { (start, count) = (now, 0) }
        count += 1
        return count <= Self.most
    }
}

/// The state of a source, or of an agent of a fleet.
struct ObservedSource: Sendable {
    let name: String
    /// What its name has before the first dot: in a fleet, the agent that it belongs to.
    let agent: String?
    let isAgent: Bool
    /// The conditions of the source itself, and those of its series that look at its requests too.
    var instances: [Int] = []
    var requestInstances: [Int] = []
    /// Its series that some condition is about.
    var series: Set<Int> = []
    var rhythm = Rhythm.stream
    var isStream: Bool { if case .stream = rhythm { true } else { false } }
    var bands: BandScale?
    var isListed = false
    /// Whether an answer or a failure has come.
    var hasSpoken = false
    var hasAnswered = false
    /// The code of its newest error while it fails.
    var failure: String?
    var isLate = false
    /// Whether the agent that it belongs to is away.
    var isCutOff = false
    /// Whether what was read of its data counts.
    var isWell: Bool { failure == nil && !isLate && !isCutOff }
    /// When its last good answer came, and when something last did.
    var answered: LoopInstant?
    var heard: LoopInstant?
    /// The instances that wait for the end of its answer, and when its newest line came.
    var waiting: [Int] = []
    var changed = LoopInstant(nanoseconds: 0)
    /// Whether its answer is complete, and whether an HTTP answer has come in this batch.
    var isComplete = false
    /// Whether pages are missing, as its newest progress says.
    var isPaging = false
    var isAnswering = false
    var times = SlidingTimes()

    init(name: String, isAgent: Bool = false) {
        (self.name, self.isAgent) = (name, isAgent)
        let dot = name.utf8.firstIndex(of: UInt8(ascii: "."))
        agent = isAgent ? nil : dot.map { String(name[..<$0]) }
    }
}

struct ObservedSeriesState: Sendable {
    /// Empty for a free place.
    var name: String
    var source: Int
    var instances: [Int] = []
    var heard: LoopInstant?
    var wants = ObservedSeries.none
}

/// A change of a condition's state.
struct Transition: Sendable {
    let condition: Int
    /// What it is about, and the name of its source, if that is one.
    let about: String
    let source: String?
    let old: ConditionState.Phase
    let new: ConditionState
    let at: Moment
    /// The lines since which it holds, and which decided.
    let from: Int
    let line: Int
    let value: Reading.Value
    let worst: Double?
    /// Whether what it is about is gone.
    let isGone: Bool
}

extension Condition {
    /// What views show of its tests: the first of `value` with a number.
    var shownLimit: Alert.Limit? { tests.lazy.compactMap(\.shownLimit).first }

    /// What a set is called in lines.
    var setName: String { subject.pattern?.text ?? "*" }

    /// What it wants to see of a series.
    func wants(_ index: Int32) -> ObservedSeries {
        var wants = ObservedSeries(index: index)
        for test in allTests {
            switch (test.measure, test.kind) {
            case (.value, .compares(_, _, .number)), (.value, .isIn), (.over, _): break
            case (.window, _): wants.needsWindows = true
            case (.value, _), (.text, _), (.pointer, _), (.band, _): wants.needsEvents = true
            default: break
            }
        }
        return wants
    }
}

extension ConditionTest {
    /// How far back it needs all values or requests; nil if it needs none.
    var slidingSpan: Duration? {
        switch measure {
        case .over(_, let span), .errors(let span): span
        default: nil
        }
    }

    fileprivate var shownLimit: Alert.Limit? {
        switch kind {
        case .compares(.value, let comparison, .number(let number)):
            Alert.Limit.Comparison(rawValue: comparison.rawValue).map { Alert.Limit($0, number) }
        case .isIn(.value, let range, let isNegated):
            Alert.Limit(isNegated ? .outside : .within, range.lowerBound, range.upperBound)
        default: nil
        }
    }
}
