package import Reactor

/// A journal in a file of SQLite's, in WAL mode.
///
/// Unchecked: used by one thread at a time, as `LineStore` says.
package final class SQLiteLineStore: LineStore, @unchecked Sendable {
    /// How often one process moves a file aside: a disk that damages everything is not filled with what it damaged.
    private static let mostMoves = 8

    private let path: String
    private let settings: JournalSettings
    private let wall: any WallClock
    private var lock: LockFile?
    /// Whether the log beside the file may be another one's: somebody may have been at them before the lock was ours.
    private var mustCheckLog = true
    private var writer: JournalWriter?
    /// What was found to be wrong with the file, for which `open` is to move it aside.
    private var damage: String?
    /// Where to, from the first attempt on: what was moved by one that failed is not left alone there.
    private var aside: String?
    private var moves = 0
    /// The log of a file that is no longer in its place, to be moved aside before another one is opened there.
    private var orphan: FileIdentity?
    private let suspicions = JournalSuspicions()
    /// Whose lines came last: another file does not have them.
    private var run: JournalRun?

    package init(path: String, _ settings: JournalSettings = .init(), wall: any WallClock = SystemWallClock()) {
        self.path = path
        self.settings = settings
        self.wall = wall
    }

    /// For who reads it meanwhile, on another thread: what makes no sense to them is looked for here.
    package func history() -> SQLiteHistory { SQLiteHistory(path: path, suspicions: suspicions) }

    package func open() throws(JournalFault) -> JournalOpening {
        closeFile()
        let file = try JournalFile(path)
        // One that somebody removed, or whose disk is another one by now, guards nothing.
        if lock?.isInPlace != true {
            lock.take()?.remove()
            lock = try file.lock()
            mustCheckLog = true
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
            // Later somebody who reads in this process may have it open.
            if suspicions.trace == nil { file.removeStaleIndex() }
            do throws(JournalFault) {
                // A kill leaves both as the last owner has noted them.
                if mustCheckLog, lock?.note != file.pair, file.loggedBytes > 0, try !file.hasItsLog() {
                    notice = try file.moveLogAside("the log that lay beside it is another file's") ?? notice
                }
                mustCheckLog = false
                let writer = try JournalWriter(file, settings, after: run, suspicions)
                self.writer = writer
                if let pair = file.pair { lock?.leave(pair) }
                if notice == nil { notice = try writer.notice(at: wall.now) }
                return JournalOpening(
                    lastRun: try writer.lastRun(), notice: notice, positions: try writer.knownPositions())
            } catch {
                if error.kind == .corrupt { damage = error.reason }
                closeFile()
                guard error.kind == .corrupt else { throw error }
            }
        }
    }

    package func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        try use { writer throws(SQLiteFault) in try writer.commit(pieces, at: time) }
    }

    package func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
        try use { writer throws(SQLiteFault) in try writer.tidy(at: time) }
    }

    package var firstSequence: Int? { writer?.firstSequence }

    package func close() {
        closeFile()
        if let file = try? JournalFile(path) { _ = try? moveOrphanAside(file) }
        lock.take()?.remove()
    }

    private func closeFile() {
        guard let writer else { return }
        run = writer.run ?? run
        if damage != nil {
            // What is moved aside stays as it was found.
            writer.database.keepLogAtClose(true)
        } else if !writer.isInPlace {
            // Closing would remove a log by its name, and that may be another file's. What has only been renamed gets its lines.
            if writer.hasItsLog { _ = try? writer.database.checkpoint() }
            writer.database.keepLogAtClose(true)
            orphan = writer.log
        } else {
            // Whoever still reads it keeps it from being done when the connection closes.
            _ = try? writer.database.restartLog(.truncate)
        }
        self.writer = nil
    }

    /// - Returns: what is said of it.
    private func moveOrphanAside(_ file: JournalFile) throws(JournalFault) -> String? {
        guard let orphan else { return nil }
        let target = file.freeName()
        let isMoved = try file.moveLogAside(orphan, to: target)
        self.orphan = nil
        guard isMoved else { return nil }
        return "it was removed or replaced: its log was moved aside to \(target)-wal"
    }

    private func use<Value>(
        _ body: (JournalWriter) throws(SQLiteFault) -> Value
    ) throws(JournalFault) -> Value {
        guard let writer else { throw JournalFault(.disk, "the journal is not open") }
        // Another agent may have taken one of its own, and written since.
        guard lock?.isInPlace == true else {
            throw JournalFault(.corrupt, "its lock \(path).lock was removed or replaced")
        }
        do throws(SQLiteFault) {
            return try body(writer)
        } catch {
            if error.kind == .corrupt { damage = error.reason }
            throw JournalFault(error)
        }
    }
}
