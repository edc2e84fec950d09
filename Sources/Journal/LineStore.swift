package import Feed
package import Reactor

/// A piece of the feed to keep; pieces are kept in order.
package enum JournalPiece: Sendable {
    /// `hello` and `stats`: the run of the lines that follow, and the state of its sources.
    case greeting([UInt8])
    case lines(LineSpan)
    /// What a new reader gets behind the lines so far: `hello`, `stats` and `kept` lines.
    case state([UInt8])
    /// Where the members of a fleet, and streams, are as of the lines so far; the newest last.
    case positions([MemberPosition])
    /// These sequence numbers are missing; the bytes are the `gap` line that reports them.
    case gap(ClosedRange<Int>, [UInt8])
    /// The run has ended; the bytes are its `bye` line.
    case end([UInt8])
}

/// The previous run, as the journal has it.
package struct LastRun: Sendable, Equatable {
    package var name: String
    /// The sequence number of its last kept line; 0 for none.
    package var durable: Int
    /// The reason in its `bye` line; nil when it did not get that far.
    package var ended: String?

    package init(name: String, durable: Int, ended: String?) {
        (self.name, self.durable, self.ended) = (name, durable, ended)
    }
}

/// The result of opening a journal.
package struct JournalOpening: Sendable, Equatable {
    /// Nil in a new journal.
    package var lastRun: LastRun?
    /// One sentence for people about a fault and its repair; nil when all was well.
    package var notice: String?
    /// The positions of a fleet's members in the journal, the newest last.
    package var positions: [MemberPosition]

    package init(lastRun: LastRun? = nil, notice: String? = nil, positions: [MemberPosition] = []) {
        (self.lastRun, self.notice, self.positions) = (lastRun, notice, positions)
    }
}

/// The settings of a journal.
package struct JournalSettings: Sendable, Equatable {
    /// The failures that a commit survives.
    package enum Sync: String, Sendable, CaseIterable {
        /// A crash of the process.
        case normal
        /// A crash of the machine as well.
        case full
    }

    package var sync = Sync.normal
    /// How long lines are kept at most.
    package var age: Duration = .seconds(7 * 86_400)
    // A journal's file: 256 MiB (`--journal-bytes`) and seven days (`--journal-age`); oldest lines deleted.
    /// The maximum size of the file, in bytes.
    package var bytes = 256 << 20

    package init() {}
}

/// Keeps lines beyond the life of the process. Blocks; used by one thread at a time, never the loop's.
package protocol LineStore: AnyObject, Sendable {
    /// Opens the journal, and repairs it or moves it aside when it is damaged. May be called again after a fault; then
    /// the current run sends its greeting again and continues.
    ///
    /// - Throws: `.taken` when another agent has it; otherwise it is locked until `close`.
    func open() throws(JournalFault) -> JournalOpening

    /// Keeps all pieces or none: after the call returns, they outlive the process.
    func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault)

    /// Deletes lines that are too old or too many, a few at a time.
    ///
    /// - Returns: whether there is more to do.
    func tidy(at time: Timestamp) throws(JournalFault) -> Bool

    /// The sequence number of the current run's oldest kept line; nil before the first.
    var firstSequence: Int? { get }

    /// Closes the journal: no more lines come.
    func close()
}
