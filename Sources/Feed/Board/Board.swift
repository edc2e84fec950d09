package import Reactor

/// What every view shows: a fold over the lines of a feed, the same wherever it is done.
///
/// A pure function of the lines, without clock: two boards that were given the same lines are equal. The page's
/// JavaScript has a twin; both are tested with Tests/FeedTests/Vectors/board. The rules, in the order of a line's way:
///
/// 1. **Runs.** A `hello` with another `run` than the last one's empties the board: nothing of the old run is kept but
///    `runChanges`, which goes up by one (not for the first run). With the same run, everything is kept and only `hello`
///    is replaced. Either way `bye` is forgotten. `bye` keeps its reason and changes nothing else.
/// 2. **Numbers.** A numbered line with a number not above `lastSequence` is ignored entirely. Otherwise its number
///    becomes `lastSequence`; if it is not the first of its run, the reader unfiltered, and the number higher than the
///    next one, a gap with the reason `hole` is noted. A `gap` line with a `to` above `lastSequence` is noted from its
///    `from`, or from behind `lastSequence` if that is higher, and `lastSequence` becomes `to`. Any other is ignored.
/// 3. **Clock.** A line's time becomes `clock`, also a later one's earlier time, as the agent's clock may step. But the
///    time of a data line is its event's and only moves `clock` forward.
/// 4. **Events and points.** A data line is an event of its series, with a value or without; `event` is the one that is
///    latest by time, then number. Its `data` is not kept when it has more than `dataPerEvent` bytes. When all series' kept
///    data has more than `data` bytes together, the one with the lowest number goes, and so on until it fits, which may be
///    the new one itself; either way the event `isCut`, as it is when the line is `truncated`, and `dataLeftOut` goes up by one.
///    A data line with a value is a point of its series besides, a latency line one of `latency:SOURCE` (its `ms`), a
///    memory line one of `memory:SOURCE` (its `rss_bytes`). A point that is not later than `clock` less the history
///    (the hello's, or 120 s) is not kept. See `BoardHistories` for the bounds. `newest` is the point that is latest by
///    time, then number, kept or not.
/// 5. **Window lines** replace one of the same start unless its revision is higher. One of another width than those kept
///    for the series replaces them all. Over `windowsPerSeries`, or over `windows` for all series together, the series'
///    window of the earliest start goes, which may be the new one itself.
/// 6. **Endpoints** are told apart by their source and their name. A `stats` line with an `as_of` of at least `lastSequence` replaces all endpoints: one that is known
///    with the same count and errors stays as it is, any other begins as `LatencyHistogram(summary)`, one not listed is
///    gone; newest phases stay. Latency lines with a higher number than the last such `as_of` are counted on top, and
///    likewise the errors of error lines that name an endpoint.
/// 7. **Sources.** The same `stats` lines set state and since, type (cut as texts are), unit (cut at 32 bytes of UTF-8) and
///    bands, all three to none where they are missing; a source that they do not name has none either and is no longer
///    `isListed`.
///    Entries with another state than these three are passed over. Bands that break a rule of `BandScale` (1 to 64 of
///    them, ascending ends that only the last one is without, names of 1 to 64 bytes, letters of one character and at most
///    16 bytes, colours of `#` and six hexadecimal digits) are none. A data or progress line, and a latency line with status 304,
///    make their source `ok`; an error line `failing`, with its code, message, attempt and time of retry (line's time plus
///    `retry_in_ms`). `since` changes only when the state does. A source begins as `starting` at its first line's time.
///    The times, numbers and codes (cut at 64 code points) of its errors are kept over the history as points are.
/// 8. Every numbered line is one of the newest `lines`, with the value and text that fit its type.
///
/// Texts are cut at 1,000 code points, and so are names where they are no more than shown (in `lines` and `memory`). A
/// name of a series, endpoint or source that is new and has more than 2,048 bytes of UTF-8, or comes when there are as
/// many as may be, is refused and counted, and so is a series or endpoint of a source with such a name. Lines of an unknown
/// type count as numbered lines if they have a number; a data line is one of an unknown type with a `series`.
package struct Board: Sendable {
    /// How much a board holds at the most.
    package struct Limits: Sendable {
        package var series = 10_000
        package var pointsPerSeries = 4_096
        package var points = 262_144
        package var windowsPerSeries = 512
        package var windows = 131_072
        package var endpoints = 10_000
        package var sources = 10_000
        package var memory = 4_096
        package var lines = 500
        package var gaps = 100
        /// Bytes of `data` that one event keeps.
        package var dataPerEvent = 4 << 10
        /// Bytes of `data` that all events keep together.
        package var data = 8 << 20
        package var errorsPerSource = 256
        package var errors = 16_384

        package init() {}
    }

    package let limits: Limits

    /// The hello of the newest connection.
    package internal(set) var hello: Line.Hello?
    /// How many times the run changed since the board was made.
    package internal(set) var runChanges = 0
    /// Why the agent said goodbye; nil while it has not, or is back.
    package internal(set) var bye: Line.Bye?
    /// The number of the newest line applied or named as missed; 0 before the first.
    package internal(set) var lastSequence = 0
    /// The agent's time, as the newest line tells.
    package internal(set) var clock: Timestamp?

    /// In the order of their first line.
    package internal(set) var series: [BoardSeries] = []
    /// The points of all series.
    package internal(set) var points: BoardPoints
    /// How many events' data was not kept for its length, or let go for others'.
    package internal(set) var dataLeftOut = 0
    /// How many events, points and window lines had no series for being refused one.
    package internal(set) var refusedSeries = 0

    /// In the order of their first line, or the newest stats line's.
    package internal(set) var endpoints: [BoardEndpoint] = []
    /// How many lines had no endpoint for being refused one.
    package internal(set) var refusedEndpoints = 0
    /// In the order of their first line.
    package internal(set) var sources: [BoardSource] = []
    /// The errors of all sources.
    package internal(set) var errors: BoardHistories<BoardError>
    /// How many lines had no source for being refused one.
    package internal(set) var refusedSources = 0

    package internal(set) var memory: BoardRing<BoardMemory>
    /// The newest agent line.
    package internal(set) var agent: Line.Agent?
    /// The newest numbered lines, the oldest first.
    package internal(set) var lines: BoardRing<BoardLine>
    /// The newest gaps, the oldest first.
    package internal(set) var gaps: BoardRing<BoardGap>
    /// How many gaps there were in this run.
    package internal(set) var gapCount = 0
    /// How many lines were missed in this run.
    package internal(set) var missed = 0

    var seriesByName: [String: Int] = [:]
    var endpointsByName: [EndpointName: Int] = [:]
    var sourcesByName: [String: Int] = [:]
    /// What the endpoints' base counts already.
    var statsAsOf = 0
    var windowCount = 0
    var eventData: BoardEventData
    var isRunning = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
        points = BoardPoints(limitPerOwner: limits.pointsPerSeries, limit: limits.points)
        errors = BoardHistories(limitPerOwner: limits.errorsPerSource, limit: limits.errors)
        eventData = BoardEventData(series: limits.series)
        memory = BoardRing(capacity: limits.memory)
        lines = BoardRing(capacity: limits.lines)
        gaps = BoardRing(capacity: limits.gaps)
    }

    /// The index of the series of this name; nil when there is none.
    package func series(named name: String) -> Int? { seriesByName[name] }

    /// The index of the endpoint of this name as a source asks it; nil when there is none.
    package func endpoint(named name: String, of source: String) -> Int? {
        endpointsByName[EndpointName(name, source: source)]
    }

    /// The index of the source of this name; nil when there is none.
    package func source(named name: String) -> Int? { sourcesByName[name] }

    /// The points of a series, the oldest first.
    package func points(of series: Int) -> BoardRing<BoardPoint> { points[series] }

    /// The errors of a source within the history, the oldest first.
    package func errors(of source: Int) -> BoardRing<BoardError> { errors[source] }

    /// Whether points within the history were given up for the bounds.
    package func isTrimmed(_ series: Int) -> Bool { points.isTrimmed(series) }
}

/// One line as a feed screen shows it.
package struct BoardLine: Sendable, Equatable {
    package var sequence: Int
    package var time: Timestamp
    package var type: String
    /// Empty when the line has none.
    package var source: String
    package var series: String?
    /// A data line's value, a window's last, a latency's ms, a memory's rss_bytes, a progress's done.
    package var value: Double?
    /// A data line's text, an error's message, a latency's endpoint; at most 1,000 code points.
    package var text: String?
    /// An error's code.
    package var code: String?
}
