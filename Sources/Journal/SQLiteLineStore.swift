package import Reactor

/// A journal in a SQLite file, in WAL mode.
///
/// Unchecked: used by one thread at a time, as `LineStore` says.
package final class SQLiteLineStore: LineStore, @unchecked Sendable {
    // Damaged journals that a process moves aside: 8; left alone, retried every second.
    /// Keeps a disk that damages everything from being filled with such files.
    private static let mostMoves = 8

    private let path: String
    private let settings: JournalSettings
    private let wall: any WallClock
    private var lock: LockFile?
    private var writer: JournalWriter?
    /// The damage for which `open` has to move the file aside.
    private var damage: String?
    /// The target of an unfinished move: the next attempt moves the remaining files to the same name.
    private var aside: String?
    private var moves = 0
    /// The log of a replaced file, to be moved aside before the next file is opened.
    private var orphan: FileIdentity?
    private let shared = SharedJournal()

    package init(path: String, _ settings: JournalSettings = .init(), wall: any WallClock = SystemWallClock()) {
        self.path = path
        self.settings = settings
        self.wall = wall
    }

    /// Returns a reader for another thread; damage that it finds makes the writer scan the file again.
    package func history() -> SQLiteHistory { SQLiteHistory(path: path, shared: shared) }

    package func open() throws(JournalFault) -> JournalOpening {
        closeFile()
        let file = try JournalFile(path)
        // A lock file that was removed or replaced protects nothing.
        if lock?.isInPlace != true {
            lock.take()?.remove()
            lock = try file.lock()
        }
        var notice = try moveOrphanAside(file)
        while true {
            if let damage {
                guard moves < Self.mostMoves else {
                    throw JournalFault(.disk, "\(damage), and it was moved aside \(moves) times: is the disk sound?")
                }
                let target = aside ?? file.freeName()
                aside = target
                try file.moveAside(to: target)
                notice = "\(damage): it was moved aside to \(target), and a new journal begun"
                (self.damage, aside) = (nil, nil)
                moves += 1
            }
            notice = try file.prepare() ?? notice
            do throws(JournalFault) {
                let writer = try JournalWriter(file, settings, shared)
                self.writer = writer
                return try writer.opening(notice, at: wall.now)
            } catch {
                if error.kind == .corrupt { damage = error.reason }
                closeFile()
                guard error.kind == .corrupt else { throw error }
            }
        }
    }

    package func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        try use { writer throws(JournalFault) in try writer.commit(pieces, at: time) }
    }

    package func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
        try use { writer throws(JournalFault) in try writer.tidy(at: time) }
    }

    package var firstSequence: Int? { writer?.firstSequence }

    package func close() {
        closeFile()
        if let file = try? JournalFile(path) { _ = try? moveOrphanAside(file) }
        lock.take()?.remove()
    }

    /// SQLite would apply the log of a file that was replaced to the one that took its place.
    private func moveOrphanAside(_ file: JournalFile) throws(JournalFault) -> String? {
        defer { orphan = nil }
        return orphan != nil && orphan == file.logIdentity ? try file.moveLogAside() : nil
    }

    private func closeFile() {
        guard let writer else { return }
        if damage != nil {
            // A damaged file is moved aside exactly as it was found.
            writer.database.keepLogAtClose(true)
        } else if !writer.isInPlace {
            // SQLite leaves the log of a file that lost its name. One that was only renamed gets its lines.
            _ = try? writer.database.checkpoint()
            orphan = writer.log
        } else {
            // A reader can prevent the checkpoint at closing, so do it first.
            _ = try? writer.database.restartLog(.truncate)
        }
        self.writer = nil
    }

    private func use<Value>(
        _ body: (JournalWriter) throws(JournalFault) -> Value
    ) throws(JournalFault) -> Value {
        guard let writer else { throw JournalFault(.disk, "the journal is not open") }
        // Another agent may have created a lock of its own and written since.
        guard lock?.isInPlace == true else {
            throw JournalFault(.corrupt, "its lock \(path).lock was removed or replaced")
        }
        do throws(JournalFault) {
            return try body(writer)
        } catch {
            if error.kind == .corrupt { damage = error.reason }
            throw error
        }
    }
}
