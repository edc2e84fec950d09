import CLinux
internal import Glibc
package import Reactor

/// A Unix socket in the file system that belongs to this process: claimed without a race, private from the start, and
/// gone at the end.
///
/// A lock file beside it (`PATH.lock`) decides who owns it; it holds the owner's process number. Files other than
/// sockets are never removed, nor is a socket with a listener.
package struct SocketFile: ~Copyable {
    /// Why a path cannot be claimed, for a person.
    package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package let path: String
    private let lock: LockFile
    private let identity: FileIdentity

    /// Claims `path` and listens there.
    ///
    /// - Parameters:
    ///   - mode: the permissions of the socket; connecting needs the right to write.
    ///   - receive: gets the listening socket.
    /// - Throws: `Refusal`.
    package static func claim(
        _ path: String, mode: UInt32 = 0o600, _ receive: (consuming Descriptor) -> Void
    ) throws(Refusal) -> SocketFile {
        guard path.utf8.count <= StreamSocket.longestPath else {
            throw Refusal(
                "the path has \(path.utf8.count) bytes; a socket's path may have "
                    + "\(StreamSocket.longestPath) at the most")
        }
        let lock = try acquireLock(path)
        do throws(Refusal) {
            try removeStale(path)
        } catch {
            lock.remove()
            throw error
        }
        do throws(SystemError) {
            let socket = try StreamSocket.bound(to: path, mode: mode)
            let identity = try FileIdentity(at: path)
            try StreamSocket.listen(socket)
            receive(socket)
            return SocketFile(path: path, lock: lock, identity: identity)
        } catch {
            lock.remove()
            throw Refusal("\(path): \(error.reason)")
        }
    }

    private init(path: String, lock: consuming LockFile, identity: FileIdentity) {
        self.path = path
        self.lock = lock
        self.identity = identity
    }

    /// Changes the socket's permissions, if the file is still this one.
    package borrowing func change(mode: UInt32) throws(SystemError) {
        try StreamSocket.setMode(mode, of: StreamSocket.file(at: path, of: identity))
    }

    /// Removes the socket, if the file is still this one, and then the lock.
    package consuming func remove() {
        if (try? FileIdentity(at: path)) == identity { unlink(path) }
        lock.remove()
    }

    private static func acquireLock(_ path: String) throws(Refusal) -> LockFile {
        let name = path + ".lock"
        do throws(LockFile.Refusal) {
            return try LockFile.acquire(name)
        } catch {
            switch error {
            case .taken(let process):
                let owner = process.map { " (process \($0))" } ?? ""
                throw Refusal("\(path) is served by another catwatch already\(owner)")
            case .isOther: throw Refusal("\(name) is there already and is not a lock of catwatch's")
            case .failed(let error): throw Refusal("\(name): \(error.reason)")
            }
        }
    }

    /// Removes a socket without a listener; refuses any other file.
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
