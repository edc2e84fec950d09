import CLinux
internal import Glibc

/// A file that says whose something is: it is locked by its owner, and has the owner's process number in it.
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
        let text = "\(getpid())\n"
        _ = ftruncate(number, 0)
        _ = pwrite(number, text, text.utf8.count, 0)
        return LockFile(path: path, descriptor: file)
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

    /// Whether a file that happens to have the lock's name may be written to: one that is empty, or holds a number.
    private static func isLock(_ file: Int32) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file, &bytes, bytes.count, 0)
        return count >= 0 && count < 16 && bytes[..<count].allSatisfy { $0 == 0x0A || (0x30...0x39).contains($0) }
    }
}
