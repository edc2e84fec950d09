internal import Feed
internal import Reactor

/// The state of a source, or of an agent of a fleet.
struct SourceFacts: Sendable {
    let name: String
    /// What its name has before the first dot: in a fleet, the agent that it belongs to.
    let agent: String?
    /// The conditions of the source itself, and those of its series that look at its requests too.
    var pairs: [Int] = []
    var seriesPairs: [Int] = []
    /// Its series that some condition is about.
    var series: [Int] = []
    /// The code of its newest error while it fails.
    var failureCode: String?
    /// Whether it is known if it fails.
    var isKnown = false
    /// Whether a `stats` line names it, and whether something good has come from it.
    var isListed = false
    /// Whether it was there, and is not any more.
    var isRetired = false
    var hasAnswered = false
    /// Whether anything has come from it since the run began.
    var isOfThisRun = true
    /// Whether an error came since its last complete answer, and the time of the newest, as written.
    var hasError = false
    var errorTime: Timestamp?
    /// The newest time at which an answer had both data and an error: a part of it is missing.
    var flawed: Timestamp?
    /// The state that the newest `stats` line gives, where lines tell the states.
    var status: SourceStatus?
    /// Whether its lines only set readings.
    var isPast = false
    var rhythm = Rhythm.stream
    var bands: BandScale?
    var isLate = false
    /// Whether the agent that it belongs to is away.
    var isCutOff = false
    /// The time of its last good answer.
    var answered: Timestamp?
    /// The time of its last request that has ended.
    var requested: Timestamp?
    /// When something last came from it; nil if nothing has, and it is not waited for.
    var heard: Timestamp?
    /// The time of its newest `latency` line, as written: the error of the same answer has the same.
    var answerTime: Timestamp?
    var times = SlidingTimes()
    /// Readings of its data from earlier epochs are unknown; readings of its requests from before `whole`.
    var epoch = 0
    var whole = 0

    init(name: String, heard: Timestamp?) {
        (self.name, self.heard) = (name, heard)
        let dot = name.utf8.firstIndex(of: UInt8(ascii: "."))
        agent = dot.map { String(name[..<$0]) }
    }
}

/// The state of a series.
struct SeriesFacts: Sendable {
    let source: Int
    var pairs: [Int] = []
    var heard: Timestamp?
    /// The time of its newest event, and the start of its newest window.
    var newest: Timestamp?
    var window: Timestamp?
}

/// One condition for one series, source or agent.
struct Pair: Sendable {
    let condition: Int
    /// The name of the series, source or agent.
    let name: String
    let source: Int
    /// Nil for a condition of the source itself.
    let series: Int?
    /// The time from which on no line is missing; nil before the first time.
    var begun: Timestamp?
    /// Of each test, then of that behind `until`.
    var readings: [Reading]
    /// The values of each test that looks at the last time; nil for the others, empty if there is none.
    var sliding: [SlidingValues?]
    var phase = Phase.ok
    /// The newest verdict on all tests, and on that behind `until`.
    var verdict = Verdict.unknown(.nothingYet)
    var ending: Verdict?
    /// Whether a complete answer did not have the series.
    var isGone = false
    /// The room that it takes.
    var size: Int { 1 + 10 * sliding.count { $0 != nil } }
}

/// The common state of the series that `any` or `all` is about.
struct Group: Sendable {
    /// The sources of its series.
    var sources: Set<Int> = []
    var phase = Phase.ok
    /// Whether there was no room for a series.
    var isCut = false
    /// When a series has changed first and last, since it was judged.
    var changedFirst: Timestamp?
    var changed: Timestamp?
    /// The newest verdict on all of them.
    var verdict: Verdict?
}

extension Condition {
    /// The first test with a limit to numbers, and the sign of values beyond it; nil without one.
    var limit: (test: Int, sign: Double)? {
        for (index, test) in tests.enumerated() {
            guard case .compares(_, let comparison, .number) = test.kind else { continue }
            switch comparison {
            case .greater, .atLeast: return (index, 1)
            case .less, .atMost: return (index, -1)
            case .equal, .unequal: continue
            }
        }
        return nil
    }
}

extension ConditionTest {
    /// The time of which it needs all values or requests; nil for none.
    var slidingSpan: Duration? {
        switch measure {
        case .over(_, let span), .errors(let span): span
        default: nil
        }
    }

    /// The limits of a test on the value of an event, on one side of which it comes to the same; nil for any other test.
    var limits: [Double]? {
        switch kind {
        case .compares(.value, let comparison, .number(let limit)) where !comparison.isEquality: [limit]
        case .isIn(.value, let range, _): [range.lowerBound, range.upperBound]
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

extension Condition {
    /// What views show of its tests: the first of `value` with a number.
    var shownLimit: Alert.Limit? { tests.lazy.compactMap(\.shownLimit).first }
}

extension SourceFacts {
    /// It is not there any more: nothing that was known of it counts, should it come back.
    mutating func forget() {
        (isListed, isRetired, hasAnswered, isKnown, hasError, isLate) = (false, true, false, false, false, false)
        (failureCode, answered, requested, heard, flawed, status) = (nil, nil, nil, nil, nil, nil)
        times = SlidingTimes()
    }

    /// Takes over what is known of the source elsewhere.
    mutating func adopt(_ other: SourceFacts) {
        let (pairs, seriesPairs, series) = (pairs, seriesPairs, series)
        self = other
        (self.pairs, self.seriesPairs, self.series) = (pairs, seriesPairs, series)
    }
}

extension Pair {
    /// Takes over the state of the same condition for the same series.
    mutating func adopt(_ other: Pair) {
        (begun, readings, sliding, phase) = (other.begun, other.readings, other.sliding, other.phase)
        (verdict, ending, isGone) = (other.verdict, other.ending, other.isGone)
    }
}

extension Group {
    /// Takes over the state of the same condition.
    mutating func adopt(_ other: Group) {
        (phase, verdict, changedFirst, changed) = (other.phase, other.verdict, other.changedFirst, other.changed)
        isCut = isCut || other.isCut
    }
}
