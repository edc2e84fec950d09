import CLinux
internal import Glibc

/// Creates non-blocking stream sockets: Unix sockets by path, TCP sockets by numeric address.
package enum StreamSocket {
    /// The longest path of a Unix socket, in bytes. (unix(7): 108 with the zero behind it.)
    package static let longestPath = 107

    /// A Unix socket bound to `path` with these permissions, not yet listening, so that nobody can connect.
    ///
    /// The descriptor has the permissions before the file appears, so they are never wider than requested: those
    /// removed by the umask are restored on that very file. A failure leaves no file behind.
    ///
    /// - Throws: `ENAMETOOLONG`, `EADDRINUSE` when the file exists, `EEXIST` when it was replaced by another one, and
    ///   other errors of bind(2).
    package static func bound(to path: String, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        let socket = try bind(to: path, mode: mode)
        do throws(SystemError) {
            try setMode(mode, of: file(at: path))
        } catch {
            removeOwn(path)
            throw error
        }
        return socket
    }

    /// Does the same, but leaves the permissions reduced by the umask.
    static func bind(to path: String, mode: UInt32) throws(SystemError) -> Descriptor {
        let socket = try unix()
        let number = socket.number
        try systemCall("fchmod", on: path) { fchmod(number, mode) }
        try systemCall("bind", on: path) { cw_bind_unix(number, path) }
        return socket
    }

    /// Removes the file at a path if it is a Unix socket of the caller's user.
    static func removeOwn(_ path: String) {
        var status = stat()
        if lstat(path, &status) == 0, isOwnSocket(status) { unlink(path) }
    }

    /// Opens the file of a Unix socket of the caller's user with O_PATH: in a folder that others may write to, another
    /// file may take its path at any moment.
    ///
    /// - Parameter identity: the expected file; nil for any.
    /// - Throws: `EEXIST` when another file is there.
    package static func file(at path: String, of identity: FileIdentity? = nil) throws(SystemError) -> Descriptor {
        let file = try Descriptor.open(path, flags: cw_o_path | O_NOFOLLOW)
        let status = try status(of: file)
        guard isOwnSocket(status), identity.map({ $0 == FileIdentity(status) }) ?? true else {
            throw SystemError(code: EEXIST, call: "open", subject: path)
        }
        return file
    }

    /// Changes the permissions of a socket's file: of that very file, even if another one has its path by now.
    package static func setMode(_ mode: UInt32, of file: borrowing Descriptor) throws(SystemError) {
        guard try status(of: file).st_mode & 0o7777 != mode else { return }
        // A descriptor opened with O_PATH does not support fchmod(2). (open(2), O_PATH.)
        let number = file.number
        try systemCall("chmod") { chmod("/proc/self/fd/\(number)", mode) }
    }

    private static func status(of file: borrowing Descriptor) throws(SystemError) -> stat {
        var status = stat()
        let number = file.number
        try systemCall("fstat") { fstat(number, &status) }
        return status
    }

    private static func isOwnSocket(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
    }

    /// Listens. At most 4,096 connections wait to be accepted, fewer if the system's limit is lower.
    package static func listen(_ socket: borrowing Descriptor) throws(SystemError) {
        let number = socket.number
        try systemCall("listen") { Glibc.listen(number, 4_096) }
    }

    /// A Unix socket connected to `path`; a Unix socket connects at once or fails.
    ///
    /// - Throws: `ECONNREFUSED` when nobody listens, `ENOENT`, `EAGAIN` when too many wait already.
    package static func connected(to path: String) throws(SystemError) -> Descriptor {
        let socket = try unix()
        let number = socket.number
        try systemCall("connect", on: path) { cw_connect_unix(number, path) }
        return socket
    }

    /// The process at the other end of a connected Unix socket; nil when unknown to the kernel.
    package static func peer(of socket: borrowing Descriptor) -> Int32? {
        let process = cw_peer(socket.number).process
        return process > 0 ? process : nil
    }

    /// The user of the process that listens at the other end of a connected Unix socket; nil when unknown to the
    /// kernel.
    package static func peerUser(of socket: borrowing Descriptor) -> UInt32? {
        let peer = cw_peer(socket.number)
        return peer.process >= 0 ? peer.user : nil
    }

    private static func unix() throws(SystemError) -> Descriptor {
        Descriptor(owning: try systemCall("socket") { cw_stream_socket(AF_UNIX) })
    }
}
