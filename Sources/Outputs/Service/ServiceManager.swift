import CLinux
internal import Glibc
package import Reactor

/// What a service manager is told (`READY=1` and the like), as sd_notify(3) does it: one datagram each.
package struct ServiceManager: Sendable {
    private let address: String
    /// How often `WATCHDOG=1` has to come; nil when the manager does not ask for it.
    package let watchdog: Duration?

    /// - Parameter environment: with `NOTIFY_SOCKET`, and `WATCHDOG_USEC` and `WATCHDOG_PID` if there is a watchdog.
    /// - Returns: nil when no service manager wants to hear anything.
    package init?(environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@") else {
            return nil
        }
        self.address = address
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        watchdog =
            isOurs
            ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    }

    /// Tells it; what cannot be delivered is lost, as with sd_notify(3).
    package func tell(_ state: String) {
        guard let number = try? systemCall("socket", { cw_datagram_socket() }) else { return }
        let socket = Descriptor(owning: number)
        let bytes = Array(state.utf8)
        _ = cw_send_unix(socket.number, address, bytes, bytes.count)
    }
}

/// Sockets that a service manager opened for this process. (sd_listen_fds(3).)
package enum InheritedSockets {
    private static let first: Int32 = 3

    /// Takes the first of them; nil when there is none for this process.
    package static func takeListener(environment: [String: String]) -> Descriptor? {
        guard environment["LISTEN_PID"] == "\(getpid())", let text = environment["LISTEN_FDS"], let count = Int32(text),
            count > 0
        else { return nil }
        var isListening: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(first, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0 else {
            return nil
        }
        let flags = cw_get_status_flags(first)
        if flags >= 0 { _ = cw_set_status_flags(first, flags | O_NONBLOCK) }
        return Descriptor(owning: first)
    }
}
