internal import Feed
internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings
internal import Web

/// The port that serves the page: bound by us, or handed over by the service manager.
///
/// Unchecked: created on a thread that may block, then used on the event loop only.
final class ListeningPort: @unchecked Sendable, Equatable {
    /// The requested address; nil for the service manager's socket.
    let address: HTTPAddress?
    /// The bound port; nil when the socket has none.
    let port: UInt16?
    private let isLocal: Bool
    private var socket: Descriptor?

    private init(_ socket: consuming Descriptor, at address: HTTPAddress?) {
        self.address = address
        let bound = try? SocketAddress(of: socket)
        port = bound?.port
        isLocal = bound?.isLoopback ?? false
        self.socket = consume socket
    }

    /// Whether both are the same port.
    static func == (left: ListeningPort, right: ListeningPort) -> Bool { left === right }

    /// Binds the requested address; nil when no page is to be served. Blocks briefly.
    ///
    /// - Throws: `UsageError` when the address is not available; names the process that uses it, if that is known.
    static func claim(_ options: Options) throws(UsageError) -> ListeningPort? {
        guard let address = options[\.http] else { return nil }
        do throws(SystemError) {
            return ListeningPort(try StreamSocket.listening(at: try address.address()), at: address)
        } catch {
            let owner = error.code == EADDRINUSE ? PortOwner.find(address.port).map { " (process \($0))" } ?? "" : ""
            throw UsageError("\(address): \(error.reason)\(owner)", option: SettingTable.rows.http.flag)
        }
    }

    /// Returns the service manager's socket; nil when there is none.
    ///
    /// - Throws: `UsageError` when other machines can reach it and the options do not say who may.
    static func inherited(_ options: Options, environment: [String: String]) throws(UsageError) -> ListeningPort? {
        guard let socket = InheritedSockets.claim(.http, environment: environment) else { return nil }
        let port = ListeningPort(socket, at: nil)
        try port.check(options)
        return port
    }

    /// Checks that the options say who may reach a service manager's socket that is not local.
    ///
    /// - Throws: `UsageError` when they do not.
    func check(_ options: Options) throws(UsageError) {
        if address == nil, !isLocal { try Command.checkAccess(to: "the service manager's socket", options) }
    }

    /// Returns the listening socket; only once.
    func open() throws(SystemError) -> Descriptor {
        guard let socket = socket.take() else { throw SystemError(code: EBADF, call: "accept4") }
        return socket
    }

    /// Closes the socket, unless `open` has returned it.
    func close() { socket = nil }

    /// The page's URL for people; nil when a browser cannot reach it.
    var url: String? {
        guard let port else { return nil }
        guard let address else { return "http://localhost:\(port)/" }
        // A wildcard address cannot be requested, so loopback stands for it.
        let host = ["0.0.0.0": "127.0.0.1", "::": "[::1]"][address.host]
        return "http://\(host ?? (address.host.contains(":") ? "[\(address.host)]" : address.host)):\(port)/"
    }
}

extension WebSettings {
    /// - Parameter demo: the origin of the stand-in API, when it runs.
    init(_ plan: WatchPlan, demo: String?) {
        self.init()
        let options = plan.options
        token = plan.webToken
        hosts = options[\.httpHost]
        frames = options[\.httpFrame]
        metricsSeries = options[\.metricsSeries]
        series = options[\.maxSeries] == FeedState.Limits.usualSeries ? nil : options[\.maxSeries]
        version = Version.current
        pictures = plan.pictures
        isAttached = options.passedOn != nil
        self.demo = demo
    }
}
