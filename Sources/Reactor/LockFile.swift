import CLinux
internal import Glibc

/// A file that says whose something is: it is locked by its owner, and has the owner's process number in it, and maybe a note
/// for the next one.
package struct LockFile: ~Copyable, Sendable {
    /// Why it cannot be had.
    package enum Refusal: Error, Sendable, Equatable {
        /// Somebody else has it: the process, as the file says.
        case taken(Int32?)
        /// A file of that name holds something else.
        case isOther
        case failed(SystemError)
    }

    private let path: String
    private let descriptor: Descriptor

    /// Locks the file, which is made when it is not there, and writes the process's number into it.
    package static func take(_ path: String) throws(Refusal) -> LockFile {
        while true {
            if let lock = try lock(open(path), at: path) { return lock }
        }
    }

    static func open(_ path: String) throws(Refusal) -> Descriptor {
        do throws(SystemError) {
            return try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } catch {
            throw .failed(error)
        }
    }

    /// Locks a file that was opened; nil when its last owner has removed it since, so that it guards nothing.
    static func lock(_ file: consuming Descriptor, at path: String) throws(Refusal) -> LockFile? {
        let number = file.number
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw .taken(owner(number)) }
        guard isNamed(path, number) else { return nil }
        guard isLock(number) else { throw .isOther }
        let lock = LockFile(path: path, descriptor: file)
        lock.leave(lock.note)
        return lock
    }

    /// The longest text in one, in bytes.
    private static let longest = 192

    /// What its owner, or the one before, has left; empty for nothing.
    package var note: String {
        let lines = Self.text(descriptor.number).split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        return lines.count > 1 ? String(decoding: lines[1].prefix { $0 != 0x0A }, as: UTF8.self) : ""
    }

    /// Has the next owner find this note, in digits and spaces, unless the lock is removed by then.
    package func leave(_ note: String) {
        let text = "\(getpid())\n" + (note.isEmpty ? "" : note + "\n")
        // Not the other way round: others may read whose it is at any time.
        _ = pwrite(descriptor.number, text, text.utf8.count, 0)
        _ = ftruncate(descriptor.number, text.utf8.count)
    }

    private static func text(_ lock: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = pread(lock, &bytes, bytes.count, 0)
        return Array(bytes[..<max(0, count)])
    }

    private init(path: String, descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Whether the file still has its name: another one of that name may be somebody else's.
    package var isInPlace: Bool { Self.isNamed(path, descriptor.number) }

    private static func isNamed(_ path: String, _ lock: Int32) -> Bool {
        var ours = stat()
        var current = stat()
        return fstat(lock, &ours) == 0 && lstat(path, &current) == 0 && ours.st_ino == current.st_ino
            && ours.st_dev == current.st_dev
    }

    /// Removes the file, and only then lets go of it.
    package consuming func remove() { if isInPlace { unlink(path) } }

    /// Whose it is, as the file says; nil when it does not.
    private static func owner(_ lock: Int32) -> Int32? {
        // Between its locking the file and its writing into it there is a moment, long on a busy machine.
        for _ in 0..<1_000 {
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = pread(lock, &bytes, bytes.count, 0)
            if count > 0, let process = Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)) {
                return process
            }
            usleep(1_000)
        }
        return nil
    }

    /// Whether a file that happens to have the lock's name may be written to: one that is empty, or holds numbers.
    private static func isLock(_ file: Int32) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        let text = text(file)
        return text.count < longest && text.prefix { $0 != 0x0A }.count < 12
            && text.allSatisfy { $0 == 0x0A || $0 == 0x20 || (0x30...0x39).contains($0) }
    }
}
