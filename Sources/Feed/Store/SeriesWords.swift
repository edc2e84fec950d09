internal import Reactor

/// The words of the series whose values stand for words, and since when each series has its word: since the first of its
/// events in a row that have it, from the first one that had any. An event that is older than the newest one changes nothing.
struct SeriesWords: Sendable {
    private struct Run: Sendable {
        /// The word of the newest event; nil when that has none.
        var word: [UInt8]?
        var since: Timestamp
        /// The time of the newest event.
        var newest: Timestamp
        /// The time of the series' first word, if all events since have it: an earlier run may have had it before.
        var first: Timestamp?
    }

    // Bound: words of series | one of 64 bytes each | removed with the series
    private var runs: [Int: Run] = [:]

    var isEmpty: Bool { runs.isEmpty }

    func knows(_ series: Int) -> Bool { runs[series] != nil }

    /// The word of a series' newest event; nil when that has none.
    func word(of series: Int) -> [UInt8]? { runs[series]?.word }

    mutating func remove(_ series: Int) { runs[series] = nil }

    /// Records an event of a series: its first word, or any event behind that.
    ///
    /// - Parameter said: the time that the event's line says, if it is of another agent or an earlier run.
    /// - Returns: since when the series has this word, as the event's line says it.
    mutating func follow(_ word: [UInt8]?, of series: Int, at time: Timestamp, since said: Timestamp?) -> Timestamp {
        guard let run = runs[series] else {
            let since = min(said ?? time, time)
            runs[series] = Run(word: word, since: since, newest: time, first: time)
            return since
        }
        let isSame = run.word == word
        let since = min(said ?? (isSame ? run.since : time), time)
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
