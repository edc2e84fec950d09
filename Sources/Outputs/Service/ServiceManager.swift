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

/// Sockets that a service manager opened for this process. (sd_listen_fds_with_names(3).)
package enum InheritedSockets {
    /// What is served at one, by its name (`FileDescriptorName=`).
    package enum Use: String, CaseIterable {
        /// The feed, to readers of a socket; also at one of any other name, which has no other use.
        case feed
        /// The page.
        case http
    }

    private static let first: Int32 = 3

    /// Takes the first one that listens for a use; nil when there is none for this process. Each can be taken once.
    package static func take(_ use: Use, environment: [String: String]) -> Descriptor? {
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

    /// Which descriptors there are for a use, by what the environment says of them.
    static func numbers(for use: Use, environment: [String: String]) -> [Int32] {
        // More than any manager passes on; what is none does not listen.
        guard let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), 1...1_024 ~= count else { return [] }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        return (0..<count).filter { place in
            let name = Int(place) < names.count ? String(names[Int(place)]) : ""
            return Use(rawValue: name) ?? .feed == use
        }.map { first + $0 }
    }
}
