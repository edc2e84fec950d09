package import Feed
package import Reactor

/// What is to be kept, in the order in which it came.
package enum JournalPiece: Sendable {
    /// `hello` and `stats`: whose lines those are that follow, and how the sources are from here on.
    case greeting([UInt8])
    case lines(LineSpan)
    /// These are missing; the bytes are the `gap` line that says so.
    case gap(ClosedRange<Int>, [UInt8])
    /// Their run is over; the bytes are its `bye` line.
    case end([UInt8])
}

/// The run before, as a journal was left.
package struct LastRun: Sendable, Equatable {
    package var name: String
    /// The number of its last line that is kept; 0 for none.
    package var durable: Int
    /// Why it ended, as its `bye` said; nil when it did not come so far.
    package var ended: String?

    package init(name: String, durable: Int, ended: String?) {
        (self.name, self.durable, self.ended) = (name, durable, ended)
    }
}

/// What opening a journal came to.
package struct JournalOpening: Sendable, Equatable {
    /// Nil in a new journal.
    package var lastRun: LastRun?
    /// One sentence for a person on what was not as it should be, and what became of it; nil when all was well.
    package var notice: String?
    /// Up to where it has the lines of agents of a fleet, the newest run of each last.
    package var positions: [AgentPosition]

    package init(lastRun: LastRun? = nil, notice: String? = nil, positions: [AgentPosition] = []) {
        (self.lastRun, self.notice, self.positions) = (lastRun, notice, positions)
    }
}

/// How a journal is kept.
package struct JournalSettings: Sendable, Equatable {
    /// What a commit survives.
    package enum Sync: String, Sendable, CaseIterable {
        /// The end of the process.
        case normal
        /// The end of the machine as well.
        case full
    }

    package var sync = Sync.normal
    /// How long lines are kept at the most.
    package var age: Duration = .seconds(7 * 86_400)
    /// How large the file may grow, in bytes.
    package var bytes = 256 << 20

    package init() {}
}

/// Why a journal could not do what it was asked to.
package struct JournalFault: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Somebody who reads the file keeps it from being tidied up, and it has grown as far as it may.
        case held
        /// What is open is of no use any more; it is to be opened anew, which moves aside what makes no sense.
        case corrupt
        /// The disk: full, gone, read-only, not ours.
        case disk
        /// Another agent writes it; the reason names its process.
        case taken
    }

    package var kind: Kind
    /// For a person.
    package var reason: String

    /// Which journal, and why; a reason that begins with that says it itself.
    package func text(at path: String) -> String { reason.hasPrefix(path) ? reason : "\(path): \(reason)" }

    package init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }
}

/// Where lines are kept beyond the process. It blocks, and is used by one thread at a time, which is not the loop's.
package protocol LineStore: AnyObject, Sendable {
    /// Opens it, mends it or moves aside what cannot be mended. May be called again after a fault; then the run under way is
    /// greeted anew, and goes on.
    ///
    /// - Throws: `.taken` when another agent has it, which is ours alone from here to `close`.
    func open() throws(JournalFault) -> JournalOpening

    /// Keeps all of the pieces, or none: when it returns, they outlive the process.
    func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault)

    /// Lets go of what is too old or too much, a little at a time.
    ///
    /// - Returns: whether there is more to do.
    func tidy(at time: Timestamp) throws(JournalFault) -> Bool

    /// The number of the oldest line that is kept of the run whose lines come; nil for none yet.
    var firstSequence: Int? { get }

    /// Closes it: nothing more comes.
    func close()
}
