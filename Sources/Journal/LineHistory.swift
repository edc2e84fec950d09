package import Reactor

/// Which lines are asked for.
package struct JournalQuery: Sendable {
    /// From when on, by the lines' own time.
    package var from: Timestamp?
    /// Up to when, which is not included.
    package var until: Timestamp?
    /// Whether the newest come first.
    package var isReversed = false

    package init() {}
}

/// Some lines of one run, one behind the other.
package struct JournalPage: Sendable {
    /// Whose they are.
    package var run: JournalRun
    /// What `stats` said of the sources before the first of them; nil when nothing did.
    package var stats: [UInt8]?
    /// Whole lines, each with its newline; also `gap` lines of what is missing.
    package var lines: [UInt8]
    /// Where the last one is.
    package var last: JournalPlace
    /// The numbers of the first and the last one.
    package var sequences: ClosedRange<Int>

    package init(
        run: JournalRun, stats: [UInt8]?, lines: [UInt8], last: JournalPlace, sequences: ClosedRange<Int>
    ) {
        self.run = run
        self.stats = stats
        self.lines = lines
        self.last = last
        self.sequences = sequences
    }
}

/// Reads what a `LineStore` has kept, while it goes on. It blocks, and is used by one thread at a time, which is not the loop's.
package protocol LineHistory: AnyObject, Sendable {
    /// Where the line with this number of this run is, or would be; nil when nothing of that run is kept.
    func place(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace?

    /// The lines behind `place` (nil: all; before it, when the query is reversed) that are asked for: as many as have so many
    /// bytes together, at least one, and of one run only.
    ///
    /// - Returns: nil when there are none.
    func page(_ query: JournalQuery, behind place: JournalPlace?, bytes: Int) throws(JournalFault) -> JournalPage?
}
