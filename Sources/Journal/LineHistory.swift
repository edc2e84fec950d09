package import Feed
package import Reactor

/// The lines to read from a journal.
package struct JournalQuery: Sendable {
    /// The earliest time, by the lines' own time.
    package var from: Timestamp?
    /// The latest time, not included.
    package var until: Timestamp?
    /// Whether the newest come first.
    package var isReversed: Bool
    /// Whether newer `stats` lines stand among the lines, from where they hold; not if it is reversed.
    package var includesStats = false

    package init(from: Timestamp? = nil, until: Timestamp? = nil, isReversed: Bool = false) {
        (self.from, self.until, self.isReversed) = (from, until, isReversed)
    }
}

/// A series and a span of time, to be read in columns.
package struct ColumnQuery: Sendable, Equatable {
    package var series: String
    package var source: String
    /// The width of a column, in microseconds, at least 1.
    package var width: Int64
    package var from: Timestamp
    /// Exclusive.
    package var until: Timestamp

    package init(of series: String, source: String, width: Int64, from: Timestamp, until: Timestamp) {
        (self.series, self.source, self.width, self.from, self.until) = (series, source, width, from, until)
    }
}

/// Columns of a series, ascending, without those that have nothing.
package struct ColumnPage: Sendable {
    package var columns: [Column]
    /// The start of the rest, which may be in the last of these columns; nil when there is no more.
    package var next: Timestamp?
    /// The time of the journal's oldest line.
    package var oldest: Timestamp?

    package init(columns: [Column], next: Timestamp?, oldest: Timestamp?) {
        (self.columns, self.next, self.oldest) = (columns, next, oldest)
    }
}

/// Successive lines of one run.
package struct JournalPage: Sendable {
    /// The run of the lines.
    package var run: JournalRun
    /// The `hello` and `stats` that hold at the first line; empty for none.
    package var greeting: [UInt8]
    /// Whole lines, each with its newline, including `gap` lines; a `stats` line never first or last.
    package var lines: [UInt8]
    /// The row id of the last line.
    package var last: RowID
    /// The sequence numbers of the first and the last line.
    package var sequences: ClosedRange<Int>

    package init(
        run: JournalRun, greeting: [UInt8], lines: [UInt8], last: RowID, sequences: ClosedRange<Int>
    ) {
        self.run = run
        self.greeting = greeting
        self.lines = lines
        self.last = last
        self.sequences = sequences
    }
}

extension JournalPage {
    /// The `stats` line of a greeting; empty for none.
    package static func stats(of greeting: [UInt8]) -> [UInt8] {
        guard let start = greeting.firstIndex(of: 0x0A), let end = greeting[(start + 1)...].firstIndex(of: 0x0A) else {
            return []
        }
        return Array(greeting[(start + 1)...end])
    }
}

/// Reads the lines of a `LineStore` while that continues. Blocks; used by one thread at a time, never the loop's.
package protocol LineHistory: AnyObject, Sendable {
    /// The row id where the run's line with this sequence number is, or would be; nil when the run is unknown.
    func rowID(of sequence: Int, in run: String) throws(JournalFault) -> RowID?

    /// Returns the requested lines behind `rowID` (all if nil; before it if the query is reversed) until they reach the
    /// number of bytes: at least one line, and of one run only.
    ///
    /// - Returns: nil when there are none.
    func page(_ query: JournalQuery, behind rowID: RowID?, bytes: Int) throws(JournalFault) -> JournalPage?

    /// Returns the next columns of a series: those of a limited number of lines, so that others are not kept waiting.
    func columns(_ query: ColumnQuery) throws(JournalFault) -> ColumnPage

    /// Returns the newest state before a row id (nil: of all), and the row id of the last line that it includes.
    func state(before rowID: RowID?) throws(JournalFault) -> (through: RowID, lines: [UInt8])?

    /// Returns the newest `alert` line of each of the feed's own alerts that is not ok, in their order, as `kept` lines; the
    /// time of each is that of the newest line before this run.
    func alerts(before run: String) throws(JournalFault) -> [UInt8]

    /// The number of files that were read, one after another: row ids are those of one file.
    var files: Int { get }

    /// Releases the file until it is read again. While it is open, closing the journal leaves files beside it.
    func close()
}
