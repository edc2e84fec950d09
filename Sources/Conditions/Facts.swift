internal import Feed
internal import Reactor

/// The state of a source, or of an agent of a fleet.
struct SourceFacts: Sendable {
    let name: String
    /// Its conditions that are not about one of its series.
    var pairs: [Int] = []
    /// Those of its series that look at its requests too.
    var seriesPairs: [Int] = []
    /// Its series that some condition looks at.
    var series: [Int] = []
    var failureCode: String?
    /// When it last failed or recovered; nil while that is unknown.
    var isKnown = false
    var rhythm = Rhythm.stream
    var bands: BandScale?
    var isLate = false
    /// The time of its last good answer.
    var answered: Timestamp?
    /// When something last came from it.
    var heard: Timestamp
    /// The time of its newest `latency` line, as written: the error of the same answer has the same.
    var answerTime: Timestamp?
    var times = SlidingTimes()
    /// Readings of its data from before are unknown; see `ConditionBoard.epoch`.
    var epoch = 0
    /// The earliest deadline in the heap.
    var scheduled: Timestamp?

    init(name: String, heard: Timestamp) { (self.name, self.heard) = (name, heard) }
}

/// The state of a series.
struct SeriesFacts: Sendable {
    let source: Int
    var pairs: [Int] = []
    var heard: Timestamp
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
    let begun: Timestamp
    /// Of each test, then of that behind `until`.
    var readings: [Reading]
    /// The values of tests that look at the last time; nil for the others.
    var sliding: [SlidingValues?]
    var phase = Phase.ok
    /// Of all tests, and of that behind `until`, as they last came to.
    var verdict = Verdict.unknown(.nothingYet)
    var ending: Verdict?
    /// Whether a complete answer did not have the series.
    var isGone = false
    var scheduled: Timestamp?
}

/// The common state of the series that `any` or `all` is about.
struct Group: Sendable {
    var members: [Int] = []
    var phase = Phase.ok
    /// The source whose data has changed it last, since it was judged.
    var changedBy: Int?
    var scheduled: Timestamp?
}
