import CLinux
internal import Glibc

/// A lock file that names the owner of something: its owner locks it and writes its process number into it.
package struct LockFile: ~Copyable, Sendable {
    /// Why the lock cannot be taken.
    package enum Refusal: Error, Sendable, Equatable {
        /// Another process has it; its number, if the file has one.
        case taken(Int32?)
        /// The file contains something else.
        case isOther
        case failed(SystemError)
    }

    private let path: String
    private let descriptor: Descriptor

    /// Creates the file if needed, locks it, and writes the process's number into it.
    package static func acquire(_ path: String) throws(Refusal) -> LockFile {
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

    /// Locks an open file; nil when its last owner has removed it since, so that the lock would be void.
    static func lock(_ file: consuming Descriptor, at path: String) throws(Refusal) -> LockFile? {
        let number = file.number
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw .taken(owner(number)) }
        guard isNamed(path, number) else { return nil }
        guard isLock(number) else { throw .isOther }
        let lock = LockFile(path: path, descriptor: file)
        // In this order, because others may read the owner at any time.
        let text = "\(getpid())\n"
        _ = pwrite(number, text, text.utf8.count, 0)
        _ = ftruncate(number, text.utf8.count)
        return lock
    }

    /// The most bytes in a lock file.
    private static let longest = 192

    private init(path: String, descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Whether the file still has its name: another file of that name may have another owner.
    package var isInPlace: Bool { Self.isNamed(path, descriptor.number) }

    private static func isNamed(_ path: String, _ lock: Int32) -> Bool {
        var ours = stat()
        var current = stat()
        return fstat(lock, &ours) == 0 && lstat(path, &current) == 0 && ours.st_ino == current.st_ino
            && ours.st_dev == current.st_dev
    }

    /// Removes the file, then releases the lock.
    package consuming func remove() { if isInPlace { unlink(path) } }

    /// The owner's process number in the file; nil without one.
    private static func owner(_ lock: Int32) -> Int32? {
        // Between an owner's lock and its write there is a moment, which may be long on a busy machine.
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

    /// Whether a file of the lock's name may be overwritten: it is empty, or contains only numbers.
    private static func isLock(_ file: Int32) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var bytes = [UInt8](repeating: 0, count: longest)
        let text = bytes[..<max(0, pread(file, &bytes, bytes.count, 0))]
        return text.count < longest && text.prefix { $0 != 0x0A }.count < 12
            && text.allSatisfy { $0 == 0x0A || $0 == 0x20 || (0x30...0x39).contains($0) }
    }
}
