internal import Reactor

/// The words of the series whose values stand for words, and since when each series has its word: since the first of its
/// events in a row that have it. An event that is older than the newest one changes nothing.
struct SeriesWords: Sendable {
    private struct Run: Sendable {
        /// The word of the newest event; nil when that has none.
        var word: [UInt8]?
        var since: Timestamp
        /// The time of the newest event.
        var newest: Timestamp
        /// The time of the series' first event, if all since then have this word: an earlier run may have had it before.
        var first: Timestamp?
    }

    // Bound: words of series | one of 64 bytes for each series with values | removed with the series
    private var runs: [Int: Run] = [:]

    var isEmpty: Bool { runs.isEmpty }

    func knows(_ series: Int) -> Bool { runs[series] != nil }

    /// The word of a series' newest event; nil when that has none.
    func word(of series: Int) -> [UInt8]? { runs[series]?.word }

    mutating func remove(_ series: Int) { runs[series] = nil }

    /// Records the first event of a series that has a word.
    ///
    /// - Parameters:
    ///   - said: the time that its line says, if it is of another agent or an earlier run.
    ///   - last: the time of the newest event before it, which had no word; nil when there was none.
    /// - Returns: since when the series has this word, as the event's line says it.
    mutating func begin(
        _ series: Int, with word: [UInt8], at time: Timestamp, since said: Timestamp?, after last: Timestamp?
    ) -> Timestamp {
        let since = min(said ?? time, time)
        if let last, last > time {
            runs[series] = Run(word: nil, since: last, newest: last)
        } else {
            runs[series] = Run(word: word, since: since, newest: time, first: last == nil ? time : nil)
        }
        return since
    }

    /// Records an event of a series that has had words; see `begin`.
    mutating func follow(_ word: [UInt8]?, of series: Int, at time: Timestamp, since said: Timestamp?) -> Timestamp {
        guard let run = runs[series] else { return time }
        let isSame = run.word == word
        let since = min(said ?? (isSame && time >= run.since ? run.since : time), time)
        guard time >= run.newest else { return since }
        runs[series] = Run(word: word, since: since, newest: time, first: isSame ? run.first : nil)
        return since
    }

    /// Records the newest word of an earlier run, for a series that has had events in this one.
    mutating func extend(_ series: Int, by word: [UInt8], since: Timestamp) {
        guard let run = runs[series], run.first != nil, run.word == word, since < run.since else { return }
        runs[series]?.since = since
    }

    /// Records an event of an earlier run that had no word.
    mutating func interrupt(_ series: Int, at time: Timestamp) {
        guard let run = runs[series] else { return }
        if time >= run.newest {
            runs[series] = Run(word: nil, since: time, newest: time)
        } else if let first = run.first, time > run.since {
            runs[series]?.since = first
        }
    }
}
