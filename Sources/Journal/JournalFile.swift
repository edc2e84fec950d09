internal import Glibc
internal import Reactor

/// A journal's file and those beside it, as names in a folder: whether they may be written to, and how they are moved aside.
package struct JournalFile {
    /// With its folder's links followed; the file itself is none.
    let path: String
    private let folder: String

    /// - Throws: `.disk` when there is no such folder.
    init(_ path: String) throws(JournalFault) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard !name.isEmpty else { throw JournalFault(.disk, "\(path): it is not a file") }
        let given = slash.map { String(path[..<$0]) }.map { $0.isEmpty ? "/" : $0 } ?? "."
        guard let resolved = realpath(given, nil) else {
            throw JournalFault(.disk, "\(given): \(SystemError(code: errno, call: "realpath").reason)")
        }
        defer { free(resolved) }
        folder = String(cString: resolved)
        self.path = folder == "/" ? "/" + name : "\(folder)/\(name)"
    }

    /// Whether two paths are of one file, whatever they are called, or would be if it were there.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        var (first, second) = (stat(), stat())
        if stat(left, &first) == 0, stat(right, &second) == 0 {
            return first.st_dev == second.st_dev && first.st_ino == second.st_ino
        }
        guard let first = try? JournalFile(left), let second = try? JournalFile(right) else { return left == right }
        return first.path == second.path
    }

    /// How many bytes the log beside it has room for; 0 for none.
    var loggedBytes: Int64 {
        var status = stat()
        return lstat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Which file the log beside it is; nil for none.
    var logIdentity: FileIdentity? { try? FileIdentity(at: path + "-wal") }

    /// Has it for this process alone.
    ///
    /// - Throws: `.taken`, `.disk`.
    func lock() throws(JournalFault) -> LockFile {
        try checkFolder()
        try check(".lock")
        do throws(LockFile.Refusal) {
            return try LockFile.take(path + ".lock")
        } catch {
            switch error {
            case .taken(let process):
                let owner = process.map { " (process \($0))" } ?? ""
                throw JournalFault(.taken, "it is written by another catwatch already\(owner)")
            case .isOther: throw JournalFault(.disk, "\(path).lock is there already and is not a lock of catwatch's")
            case .failed(let error): throw JournalFault(.disk, "\(path).lock: \(error.reason)")
            }
        }
    }

    /// Who owns the folder can put anything else in the file's place at any time.
    private func checkFolder() throws(JournalFault) {
        var status = stat()
        guard stat(folder, &status) == 0 else {
            throw JournalFault(.disk, "\(folder): \(SystemError(code: errno, call: "stat").reason)")
        }
        guard [0, geteuid()].contains(status.st_uid) else {
            throw JournalFault(
                .disk, "its folder \(folder) belongs to another user (\(status.st_uid)), and is not written to")
        }
    }

    /// Which file it is and which one the log beside it, for the next agent; nil when there is none of either.
    var pair: String? {
        guard let file = FileIdentity.lasting(at: path), let log = FileIdentity.lasting(at: path + "-wal") else {
            return nil
        }
        return "\(file) \(log)"
    }

    /// Whether the log beside it is its own, found out by reading both.
    func hasItsLog() throws(JournalFault) -> Bool {
        do throws(SQLiteFault) {
            return try JournalPair.belongTogether(at: path)
        } catch {
            throw JournalFault(error)
        }
    }

    /// Which file has the name now.
    func identity() throws(JournalFault) -> FileIdentity {
        do throws(SystemError) {
            return try FileIdentity(at: path)
        } catch {
            throw JournalFault(.disk, error.reason)
        }
    }

    /// Makes the file, for its owner alone, or checks the one that is there. A log of another file is moved aside.
    ///
    /// A file that is there is not opened: closing it again would end what SQLite has locked of it in this process.
    ///
    /// - Returns: what was moved aside, in words; nil for nothing.
    func prepare() throws(JournalFault) -> String? {
        for suffix in ["-wal", "-shm"] { try check(suffix) }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            // SQLite would remove the log, whose lines may be nowhere else.
            let notice = try moveLogAside("it was removed or renamed without its log")
            do throws(SystemError) {
                _ = try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            } catch {
                throw JournalFault(.disk, error.reason)
            }
            return notice
        }
        try check(status)
        return status.st_size == 0 ? try moveLogAside("an empty file has taken its place") : nil
    }

    /// Removes the index of another log or file, which somebody who has it open would have SQLite go by.
    ///
    /// Opens the file, which `prepare` does not do: only for who has not opened it yet.
    func removeStaleIndex() { if JournalIndex.isStale(beside: path) { unlink(path + "-shm") } }

    /// What may not be written to.
    private func check(_ status: stat) throws(JournalFault) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw JournalFault(.disk, "it is a symbolic link, and links are not followed")
        default: throw JournalFault(.disk, "it is not a file")
        }
        guard status.st_uid == geteuid() else {
            throw JournalFault(.disk, "it belongs to another user (\(status.st_uid)), and is not written to")
        }
        // Each name would have a log and a lock of its own.
        guard status.st_nlink == 1 else {
            throw JournalFault(.disk, "it has other names as well (hard links), under which another could write to it")
        }
    }

    /// What lies beside it is believed; in a folder where others may make files it need not be ours.
    private func check(_ suffix: String) throws(JournalFault) {
        var status = stat()
        guard lstat(path + suffix, &status) == 0, ![0, geteuid()].contains(status.st_uid) else { return }
        throw JournalFault(.disk, "\(path)\(suffix) belongs to another user (\(status.st_uid)), and is not believed")
    }

    /// What it may be called when it is moved aside: nothing is called that, nor has a log that would be its own.
    func freeName() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        let base = path + ".corrupt-" + String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        var target = base
        var number = 1
        while ["", "-wal", "-shm"].contains(where: { exists(target + $0) }) {
            number += 1
            target = "\(base)-\(number)"
        }
        return target
    }

    /// Renames it, and its log with it, which nobody here has opened. May be called again for the rest after a fault.
    func moveAside(to target: String) throws(JournalFault) {
        // The file last: what is left when this is interrupted is never somebody else's log beside a new file.
        for suffix in ["-wal", "-shm", ""] { try move(suffix, to: target) }
    }

    /// Renames the log beside it, which belongs to another file, and its index, which others may still have open.
    ///
    /// - Parameter reason: how that is known.
    /// - Returns: what is said of it; nil when there is no log.
    func moveLogAside(_ reason: String) throws(JournalFault) -> String? {
        let isThere = logIdentity != nil
        guard isThere || exists(path + "-shm") else { return nil }
        let target = freeName()
        for suffix in ["-wal", "-shm"] { try move(suffix, to: target) }
        return isThere ? "\(reason): that was moved aside to \(target)-wal" : nil
    }

    /// Renames what is beside it of a file that had its name before: SQLite would put that log into this one.
    ///
    /// - Parameter log: that file's; another one came with the file that is there now.
    /// - Returns: whether its log lay there.
    func moveLogAside(_ log: FileIdentity, to target: String) throws(JournalFault) -> Bool {
        let isThere = log == logIdentity
        if isThere { try move("-wal", to: target) }
        // SQLite makes it anew, from whichever log there is.
        try move("-shm", to: target)
        return isThere
    }

    private func move(_ suffix: String, to target: String) throws(JournalFault) {
        guard rename(path + suffix, target + suffix) != 0, errno != ENOENT else { return }
        throw JournalFault(.disk, "\(path)\(suffix): \(SystemError(code: errno, call: "rename").reason)")
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
