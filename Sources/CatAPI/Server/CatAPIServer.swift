internal import HTTPServer
package import Reactor

/// The stand-in API on a loopback port, served by the same event loop as everything else.
///
/// With `faults` it also answers under `/fault/`, see `FaultRouter`. It takes at most 4,096 connections and closes them
/// when no request comes for two minutes.
package actor CatAPIServer {
    private let loop: EventLoop
    private let router: DemoRouter
    private let server: HTTPServer
    /// The port that it listens on, also when 0 was requested.
    package nonisolated let port: UInt16

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Starts to serve; call it on the loop, which must not be virtual.
    ///
    /// - Parameters:
    ///   - port: 0 lets the system choose one.
    ///   - faults: whether to serve `/fault/`; never for `--demo`.
    ///   - seed: determines the facts, the dogs, the air and the random delays.
    ///   - wallClock: the clock that `retry-date` counts from.
    /// - Throws: the reason why the port is not available.
    package init(
        loop: EventLoop, port: UInt16 = 0, faults: Bool = false, seed: UInt64,
        wallClock: any WallClock = SystemWallClock()
    ) throws(SystemError) {
        self.loop = loop
        let addresses = try SocketAddress.resolve(host: "127.0.0.1", port: port)
        let socket = try StreamSocket.listening(at: addresses[0])  // a numeric address always resolves
        let router = DemoRouter(loop: loop, allowsFaults: faults, seed: seed, wallClock: wallClock)
        self.router = router
        server = try HTTPServer(on: loop, listeningAt: socket, limits: Self.limits) { router.reply(to: $0) }
        self.port = server.port
        router.host = "127.0.0.1:\(server.port)"
    }

    // Bound: the stand-in's HTTP server | 4,096 connections, 128 KiB of a body, 120 s for a body or response | as in
    //   any
    private static let limits: HTTPServer.Limits = {
        var limits = HTTPServer.Limits()
        limits.connections = 4_096
        limits.body = 128 << 10
        limits.patience = .seconds(120)
        return limits
    }()

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    package nonisolated var origin: String { "http://127.0.0.1:\(port)" }

    /// The number of complete requests so far, whatever the responses.
    package var requestCount: Int { router.requests }

    /// The number of open WebSockets.
    package var webSocketCount: Int { router.webSockets }

    /// The real delays of requests with a `delay`, in the order of the responses: the newest 10,000.
    package var servedDelays: [Duration] { router.delays }

    /// Closes the port and every connection at once; call it before releasing the server.
    package func stop() async {
        await router.close()
        server.stop()
    }
}
