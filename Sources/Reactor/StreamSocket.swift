import CLinux
internal import Glibc

/// Makes stream sockets that do not block: Unix sockets by path, TCP sockets by numeric address.
package enum StreamSocket {
    /// The longest path of a Unix socket, in bytes. (unix(7): 108 with the zero behind it.)
    package static let longestPath = 107

    /// A Unix socket bound to `path` with these permissions, not yet listening, so that nobody can connect.
    ///
    /// The permissions are the descriptor's before the file appears, whatever the umask, and never wider than asked for.
    /// - Throws: `ENAMETOOLONG`, `EADDRINUSE` when there is a file, and what bind(2) says.
    package static func bound(to path: String, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        let socket = try unix()
        let number = socket.number
        try systemCall("fchmod", on: path) { fchmod(number, mode) }
        try systemCall("bind", on: path) { cw_bind_unix(number, path) }
        // The umask has taken bits away; nothing was wider than it should be in between.
        do throws(SystemError) {
            try systemCall("chmod", on: path) { chmod(path, mode) }
        } catch {
            unlink(path)
            throw error
        }
        return socket
    }

    /// Listens. `backlog` connections wait to be accepted at the most, fewer where the system says so.
    package static func listen(_ socket: borrowing Descriptor, backlog: Int32 = 4_096) throws(SystemError) {
        let number = socket.number
        try systemCall("listen") { Glibc.listen(number, backlog) }
    }

    /// A Unix socket connected to `path`; a Unix socket connects at once or not at all.
    ///
    /// - Throws: `ECONNREFUSED` when nobody listens, `ENOENT`, `EAGAIN` when too many wait already.
    package static func connected(to path: String) throws(SystemError) -> Descriptor {
        let socket = try unix()
        let number = socket.number
        try systemCall("connect", on: path) { cw_connect_unix(number, path) }
        return socket
    }

    /// The process at the other end of a connected Unix socket; nil when the kernel does not say.
    package static func peer(of socket: borrowing Descriptor) -> Int32? {
        let process = cw_peer_pid(socket.number)
        return process > 0 ? process : nil
    }

    /// How many bytes a new Unix socket sends ahead of its peer's reading (`SO_SNDBUF`).
    package static let sendBuffer: Int = {
        guard let socket = try? unix() else { return 212_992 }  // Linux's own default
        var size: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(socket.number, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0 else { return 212_992 }
        return Int(size)
    }()

    private static func unix() throws(SystemError) -> Descriptor {
        Descriptor(owning: try systemCall("socket") { cw_stream_socket(AF_UNIX) })
    }
}
