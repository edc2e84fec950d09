internal import Feed
package import Reactor

/// The number of a line's row in a journal. Later lines have greater ones.
package typealias RowID = Int64

/// A run in a journal: its lines have successive row ids, from the first one to those of the next run.
package struct JournalRun: Sendable, Equatable {
    /// The row id of its first line, which identifies it in the journal.
    package var first: RowID
    /// The row id of the last line that it had when this was read.
    package var last: RowID
    package var name: String
    /// A line's row id less its sequence number.
    package var base: Int64
    package var ended: String?

    package init(first: RowID, last: RowID, name: String, base: Int64, ended: String? = nil) {
        (self.first, self.last, self.name, self.base, self.ended) = (first, last, name, base, ended)
    }

    /// Whether this is the run of a row; false for lines that came later.
    package func holds(_ rowID: RowID) -> Bool { first <= rowID && rowID <= last }

    /// The sequence number of the line with this row id.
    package func sequence(at rowID: RowID) -> Int { Int(rowID.subtractingSaturated(base)) }

    /// The row id where the line with this sequence number is, or would be if the run were longer.
    package func rowID(of sequence: Int) -> RowID {
        max(first, min(last.addingSaturated(1), base.addingSaturated(Int64(sequence))))
    }

    /// Returns the `hello` and `stats` with which a connection begins that gets the run's lines: newly written, because a
    /// file may contain anything.
    ///
    /// - Parameters:
    ///   - stored: the `hello` and `stats` that the journal has for the first line.
    ///   - time: the time of the lines; nil for that of the stored `hello`.
    ///   - first: the first line's sequence number.
    ///   - next: the number behind the last line.
    /// - Returns: nil when the stored `hello` is none.
    package func greeting(
        _ stored: [UInt8], at time: Timestamp?, isFiltered: Bool, from first: Int, to next: Int
    ) -> [UInt8]? {
        let stored = stored.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard let line = stored.first.flatMap({ try? LineDecoder.decode($0) }), case .hello(let hello) = line.body
        else { return nil }
        let time = time ?? line.time
        let identity = AgentIdentity(
            run: RunName.isValid(name) ? name : hello.run, version: hello.app.version ?? "",
            started: hello.app.started ?? line.time, host: hello.host)
        let lines = ControlLine.hello(
            time: time, identity: identity, isFiltered: isFiltered, interval: hello.interval, history: hello.history,
            firstSequence: first, nextSequence: next, isFleet: hello.isFleet)
        if stored.count > 1, stored[1].count < LineEncoder.longestLine, let stats = try? LineDecoder.decode(stored[1]),
            case .stats = stats.body
        {
            return lines + stored[1] + [0x0A]
        }
        return lines + ControlLine.stats(time: time, asOf: max(0, first - 1), endpoints: [], sources: [])
    }
}
