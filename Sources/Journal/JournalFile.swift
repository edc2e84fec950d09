internal import Glibc
internal import Reactor

/// A journal's file and the files beside it: checks whether they may be written to, and moves them aside.
package struct JournalFile {
    /// The absolute path; symbolic links are resolved in its folder, but the file itself may not be one.
    let path: String
    private let folder: String

    /// - Throws: `.disk` when the folder does not exist.
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

    /// Whether two paths lead to the same file, or would if it existed.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        var (first, second) = (stat(), stat())
        if stat(left, &first) == 0, stat(right, &second) == 0 {
            return first.st_dev == second.st_dev && first.st_ino == second.st_ino
        }
        guard let first = try? JournalFile(left), let second = try? JournalFile(right) else { return left == right }
        return first.path == second.path
    }

    /// The size of the write-ahead log beside it, in bytes; 0 for none.
    var loggedBytes: Int64 {
        var status = stat()
        return lstat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The identity of the write-ahead log beside it; nil for none.
    var logIdentity: FileIdentity? { try? FileIdentity(at: path + "-wal") }

    /// Locks the journal for this process.
    ///
    /// - Throws: `.taken` when another agent writes it, `.disk` when it cannot be locked.
    func lock() throws(JournalFault) -> LockFile {
        try checkFolder()
        try check(".lock")
        do throws(LockFile.Refusal) {
            return try LockFile.acquire(path + ".lock")
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

    /// Refuses a folder that belongs neither to us nor to root: its owner could replace the file at any time.
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

    /// Returns the identity of the file that has the name now.
    func identity() throws(JournalFault) -> FileIdentity {
        do throws(SystemError) {
            return try FileIdentity(at: path)
        } catch {
            throw JournalFault(.disk, error.reason)
        }
    }

    /// Creates the file, readable by its owner only, or checks the existing one. A log without its file is moved aside:
    /// SQLite would delete it, or apply it to another file.
    ///
    /// Does not open an existing file: closing it would release SQLite's locks in this process.
    ///
    /// - Returns: a sentence about what was moved aside; nil for nothing.
    func prepare() throws(JournalFault) -> String? {
        for suffix in ["-wal", "-shm"] { try check(suffix) }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let notice = try moveLogAside()
            do throws(SystemError) {
                _ = try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            } catch {
                throw JournalFault(.disk, error.reason)
            }
            return notice
        }
        try checkKind()
        try check(status)
        return status.st_size == 0 ? try moveLogAside() : nil
    }

    /// Refuses everything but a regular file, if it exists, for readers too: opening a pipe would wait for its writer.
    func checkKind() throws(JournalFault) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw JournalFault(.disk, "it is a symbolic link, and links are not followed")
        default: throw JournalFault(.disk, "it is not a file")
        }
    }

    /// Refuses a file of another user, or with several names.
    private func check(_ status: stat) throws(JournalFault) {
        guard status.st_uid == geteuid() else {
            throw JournalFault(.disk, "it belongs to another user (\(status.st_uid)), and is not written to")
        }
        // With hard links, each name would have its own log and lock.
        guard status.st_nlink == 1 else {
            throw JournalFault(.disk, "it has other names as well (hard links), under which another could write to it")
        }
    }

    /// Refuses a file beside the journal that belongs neither to us nor to root: SQLite trusts these files.
    private func check(_ suffix: String) throws(JournalFault) {
        var status = stat()
        guard lstat(path + suffix, &status) == 0, ![0, geteuid()].contains(status.st_uid) else { return }
        throw JournalFault(.disk, "\(path)\(suffix) belongs to another user (\(status.st_uid)), and is not believed")
    }

    /// Returns a name to move the journal to: neither it nor its `-wal` and `-shm` exist yet.
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

    /// Renames the file with its log; nobody in this process may have it open. May be called again after a fault.
    func moveAside(to target: String) throws(JournalFault) {
        // The file last, so that an interruption never leaves its log beside a new file.
        for suffix in ["-wal", "-shm", ""] { try move(suffix, to: target) }
    }

    /// Renames the log and the index beside it, which belong to another file.
    ///
    /// - Returns: a sentence about the move; nil when there is no log.
    func moveLogAside() throws(JournalFault) -> String? {
        let isThere = logIdentity != nil
        guard isThere || exists(path + "-shm") else { return nil }
        let target = freeName()
        for suffix in ["-wal", "-shm"] { try move(suffix, to: target) }
        return isThere ? "a log without its file was moved aside to \(target)-wal" : nil
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
