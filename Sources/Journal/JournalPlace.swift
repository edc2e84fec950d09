internal import Feed
package import Reactor

/// The position of a line in a journal: its run's number there, and its offset in the run. Later lines have greater
/// ones.
///
/// It is also the line's row id, which saves another index. A run whose sequence numbers span more than `most`, as in a
/// hostile feed, becomes several runs of the same name.
package struct JournalPlace: Sendable, Hashable, Comparable {
    package let id: Int64

    /// The number of bits for the offset in the run.
    static let bits: Int64 = 36
    /// The greatest offset in a run.
    package static let most = Int64(1) << bits - 1

    /// The greatest number of a run in a journal.
    static let mostRuns = Int64.max >> bits

    package init(id: Int64) { self.id = id }

    /// - Parameters:
    ///   - run: from 1 to 2^27 - 1.
    ///   - offset: the line's sequence number less the run's `base`, from 0 to `most`.
    init(run: Int64, offset: Int64) { id = run << Self.bits | offset }

    package var run: Int64 { id >> Self.bits }
    package var offset: Int64 { id & Self.most }

    /// The lowest row id.
    package static let first = JournalPlace(id: 0)
    /// The highest row id.
    package static let last = JournalPlace(id: .max)
    /// The row id behind it; itself for the last.
    package var next: JournalPlace { JournalPlace(id: id.addingSaturated(1)) }
    /// The row id before it; itself for the first.
    package var previous: JournalPlace { JournalPlace(id: max(0, id - 1)) }

    package static func < (left: JournalPlace, right: JournalPlace) -> Bool { left.id < right.id }
}

/// A run as the journal stores it.
package struct JournalRun: Sendable, Equatable {
    /// From 1, in the order in which the journal first got them.
    package var number: Int64
    package var name: String
    /// The sequence number of the line at offset 0.
    package var base: Int
    package var ended: String?
    /// The `hello` line that the run began with.
    package var hello: [UInt8]

    package init(number: Int64, name: String, base: Int, ended: String?, hello: [UInt8]) {
        (self.number, self.name, self.base, self.ended, self.hello) = (number, name, base, ended, hello)
    }

    /// The row id of the line with this sequence number; nil when the run has none for it.
    @inline(__always)
    package func rowID(of sequence: Int) -> JournalPlace? {
        // As unsigned numbers, the difference cannot overflow.
        guard sequence >= base, UInt(bitPattern: sequence &- base) <= UInt(JournalPlace.most) else { return nil }
        return JournalPlace(run: number, offset: Int64(sequence &- base))
    }

    /// Returns the `hello` and `stats` with which a connection begins that gets the run's lines: newly written, because a
    /// file may contain anything.
    ///
    /// - Parameters:
    ///   - time: the time of the lines; nil for that of the run's own `hello`.
    ///   - first: the first line's sequence number.
    ///   - next: the number behind the last line.
    ///   - stats: the run's `stats` at the first line; nil for none.
    /// - Returns: nil when the run's own `hello` is none.
    package func greeting(
        at time: Timestamp?, isFiltered: Bool, from first: Int, to next: Int, _ stats: [UInt8]?
    ) -> [UInt8]? {
        guard let line = try? LineDecoder.decode(self.hello.filter { $0 != 0x0A }[...]),
            case .hello(let hello) = line.body
        else { return nil }
        let time = time ?? line.time
        let identity = AgentIdentity(
            run: RunName.isValid(name) ? name : hello.run, version: hello.app.version ?? "",
            started: hello.app.started ?? line.time, host: hello.host)
        let lines = ControlLine.hello(
            time: time, identity: identity, isFiltered: isFiltered, interval: hello.interval, history: hello.history,
            firstSequence: first, nextSequence: next, isFleet: hello.isFleet)
        if let stats, stats.firstIndex(of: 0x0A) == stats.count - 1, stats.count <= LineEncoder.longestLine,
            let line = try? LineDecoder.decode(stats.dropLast()), case .stats = line.body
        {
            return lines + stats
        }
        return lines + ControlLine.stats(time: time, asOf: max(0, first - 1), endpoints: [], sources: [])
    }

    /// The sequence number of the line with this row id.
    package func sequence(at rowID: JournalPlace) -> Int { base.addingSaturated(Int(rowID.offset)) }
}
