import CLinux
internal import Glibc
package import Reactor

/// Notifies a service manager (`READY=1` and the like) like sd_notify(3): by one datagram each.
package struct ServiceManager: Sendable {
    private let address: String
    /// How often `WATCHDOG=1` must be sent; nil when the manager does not require it.
    package let watchdog: Duration?

    /// - Parameter environment: with `NOTIFY_SOCKET`, and with `WATCHDOG_USEC` and `WATCHDOG_PID` if there is a
    ///   watchdog.
    /// - Returns: nil when there is no service manager to notify.
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

    /// Sends a state; an undeliverable one is lost, as with sd_notify(3).
    package func tell(_ state: String) {
        guard let number = try? systemCall("socket", { cw_datagram_socket() }) else { return }
        let socket = Descriptor(owning: number)
        let bytes = Array(state.utf8)
        _ = cw_send_unix(socket.number, address, bytes, bytes.count)
    }
}

/// Sockets that a service manager opened for this process. (sd_listen_fds_with_names(3).)
package enum InheritedSockets {
    /// The use of a socket, by its name (`FileDescriptorName=`).
    package enum Use: String, CaseIterable {
        /// The feed, for readers of a socket; also the use of sockets with any other name.
        case feed
        /// The page.
        case http
    }

    private static let first: Int32 = 3

    /// Returns the first listening socket for a use; nil when there is none for this process. Each can be claimed once.
    package static func claim(_ use: Use, environment: [String: String]) -> Descriptor? {
        guard environment["LISTEN_PID"] == "\(getpid())" else { return nil }
        for number in numbers(for: use, environment: environment) {
            var isListening: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0 else {
                continue
            }
            let flags = cw_get_status_flags(number)
            if flags >= 0 { _ = cw_set_status_flags(number, flags | O_NONBLOCK) }
            return Descriptor(owning: number)
        }
        return nil
    }

    /// The descriptors for a use, according to the environment.
    static func numbers(for use: Use, environment: [String: String]) -> [Int32] {
        // No manager passes more; numbers that are not sockets fail the check for listening.
        guard let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), 1...1_024 ~= count else { return [] }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        return (0..<count).filter { index in
            let name = Int(index) < names.count ? String(names[Int(index)]) : ""
            return Use(rawValue: name) ?? .feed == use
        }.map { first + $0 }
    }
}
