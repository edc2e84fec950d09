import CLinux
internal import Glibc
package import Reactor

/// A Unix socket in the file system that belongs to this process: claimed without a race, private from the start, and
/// gone at the end.
///
/// A lock file beside it (`PATH.lock`) settles who may have it; it holds the owner's process number. What is not a socket
/// is never removed, nor is a socket that somebody answers on.
package struct SocketFile: ~Copyable {
    /// Why a path cannot be had, in words for a person.
    package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package let path: String
    private let lock: Descriptor
    private let identity: FileIdentity

    /// Claims `path` and listens there.
    ///
    /// - Parameters:
    ///   - mode: the permissions of the socket; connecting needs the right to write.
    ///   - take: gets the listening socket.
    /// - Throws: `Refusal`.
    package static func claim(
        _ path: String, mode: UInt32 = 0o600, _ take: (consuming Descriptor) -> Void
    ) throws(Refusal) -> SocketFile {
        guard path.utf8.count <= StreamSocket.longestPath else {
            throw Refusal(
                "the path has \(path.utf8.count) bytes; a socket's path may have "
                    + "\(StreamSocket.longestPath) at the most")
        }
        let lock = try takeLock(path)
        do throws(Refusal) {
            try removeStale(path)
        } catch {
            unlink(path + ".lock")
            throw error
        }
        do throws(SystemError) {
            let socket = try StreamSocket.bound(to: path, mode: mode)
            let identity = try FileIdentity(at: path)
            try StreamSocket.listen(socket)
            take(socket)
            return SocketFile(path: path, lock: lock, identity: identity)
        } catch {
            unlink(path + ".lock")
            throw Refusal("\(path): \(error.reason)")
        }
    }

    private init(path: String, lock: consuming Descriptor, identity: FileIdentity) {
        self.path = path
        self.lock = lock
        self.identity = identity
    }

    /// Gives the socket other permissions, if it is still this one.
    ///
    /// - Parameter opened: see `StreamSocket.setMode`.
    package borrowing func change(mode: UInt32, opened: () -> Void = {}) throws(SystemError) {
        try StreamSocket.setMode(mode, at: path, of: identity, opened: opened)
    }

    /// Removes the socket, if it is still this one, and then the lock.
    package consuming func remove() {
        if (try? FileIdentity(at: path)) == identity { unlink(path) }
        unlink(path + ".lock")
    }

    /// Locks `PATH.lock` and writes the process's number into it.
    ///
    /// - Parameter opened: called between opening and locking it, when its owner may go, for tests of that.
    static func takeLock(_ path: String, opened: () -> Void = {}) throws(Refusal) -> Descriptor {
        let name = path + ".lock"
        while true {
            let lock: Descriptor
            do throws(SystemError) {
                lock = try Descriptor.open(name, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            } catch {
                throw Refusal("\(name): \(error.reason)")
            }
            opened()
            let number = lock.number
            guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
                throw Refusal("\(path) is served by another catwatch already\(owner(number))")
            }
            // Its last owner may have removed it between our open and our lock; then it guards nothing.
            var ours = stat()
            var current = stat()
            guard fstat(number, &ours) == 0, lstat(name, &current) == 0, ours.st_ino == current.st_ino else { continue }
            guard isLock(number) else { throw Refusal("\(name) is there already and is not a lock of catwatch's") }
            let text = "\(getpid())\n"
            _ = ftruncate(number, 0)
            _ = pwrite(number, text, text.utf8.count, 0)
            return lock
        }
    }

    /// ` (process 123)`, as the lock file says; empty when it does not.
    private static func owner(_ lock: Int32) -> String {
        // Between its locking the file and its writing into it there is a moment, long on a busy machine.
        for _ in 0..<1_000 {
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = pread(lock, &bytes, bytes.count, 0)
            if count > 0, let process = Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)) {
                return " (process \(process))"
            }
            usleep(1_000)
        }
        return ""
    }

    /// Whether a file that happens to have the lock's name may be written to: one that is empty, or holds a number.
    private static func isLock(_ file: Int32) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file, &bytes, bytes.count, 0)
        return count >= 0 && count < 16 && bytes[..<count].allSatisfy { $0 == 0x0A || (0x30...0x39).contains($0) }
    }

    /// Removes a socket that nobody answers on; leaves everything else, and says so.
    private static func removeStale(_ path: String) throws(Refusal) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Refusal("\(path) is there already and is not a socket")
        }
        do throws(SystemError) {
            let probe = try StreamSocket.connected(to: path)
            let process = StreamSocket.peer(of: probe).map { " (process \($0))" } ?? ""
            throw SystemError(code: EADDRINUSE, call: "connect", subject: process)
        } catch {
            switch error.code {
            case ECONNREFUSED: unlink(path)
            case ENOENT: break  // its owner removed it in between
            case EAGAIN: throw Refusal("\(path) is served by another program already, and many wait for that one")
            case EADDRINUSE: throw Refusal("\(path) is served by another program already\(error.subject)")
            default: throw Refusal("\(path): \(error.reason)")
            }
        }
    }
}
