internal import Feed
internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings
internal import Web

/// The port that the page is served at: bound by us, or handed over by the service manager.
///
/// Unchecked: made where one may wait, and then used on the loop only.
final class ListeningPort: @unchecked Sendable {
    /// Which one was asked for; nil for the service manager's.
    let address: HTTPAddress?
    /// Where it is; nil when it has no port.
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

    /// Binds what options ask for; nil when nothing is to be served. Blocks a little.
    ///
    /// - Throws: `UsageError` when it cannot be had, with the process that has it, if that can be known.
    static func claim(_ options: Options) throws(UsageError) -> ListeningPort? {
        guard let address = options[\.http] else { return nil }
        do throws(SystemError) {
            return ListeningPort(try StreamSocket.listening(at: try address.address()), at: address)
        } catch {
            let owner = error.code == EADDRINUSE ? PortOwner.find(address.port).map { " (process \($0))" } ?? "" : ""
            throw UsageError("\(address): \(error.reason)\(owner)", option: SettingTable.rows.http.flag)
        }
    }

    /// The service manager's; nil when there is none.
    ///
    /// - Throws: `UsageError` when others get there and nobody has said whom to let in.
    static func inherited(_ options: Options, environment: [String: String]) throws(UsageError) -> ListeningPort? {
        guard let socket = InheritedSockets.take(.http, environment: environment) else { return nil }
        let port = ListeningPort(socket, at: nil)
        try port.check(options)
        return port
    }

    /// Checks that it is said whom to let in, where others get to the service manager's; of another one the options know.
    ///
    /// - Throws: `UsageError` when it is not.
    func check(_ options: Options) throws(UsageError) {
        if address == nil, !isLocal { try Command.checkAccess(to: "the service manager's socket", options) }
    }

    /// The socket, which listens; once.
    func open() throws(SystemError) -> Descriptor {
        guard let socket = socket.take() else { throw SystemError(code: EBADF, call: "accept4") }
        return socket
    }

    /// Closes it, if nobody has taken it.
    func close() { socket = nil }

    /// Where a person finds the page; nil when a browser cannot get there.
    var url: String? {
        guard let port else { return nil }
        guard let address else { return "http://localhost:\(port)/" }
        // All addresses are none that one can ask for.
        let host = ["0.0.0.0": "127.0.0.1", "::": "[::1]"][address.host]
        return "http://\(host ?? (address.host.contains(":") ? "[\(address.host)]" : address.host)):\(port)/"
    }
}

extension WebSettings {
    /// - Parameter demo: where the stand-in API is, when it runs.
    init(_ plan: WatchPlan, demo: String? = nil) {
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
