internal import HTTPServer
package import Reactor

/// The stand-in API on a loopback port, served by the loop that everything else runs on.
///
/// With `faults` it also answers under `/fault/`, see `FaultDesk`. It takes at most 4,096 connections and closes them
/// when no request comes for two minutes.
package actor CatAPIServer {
    private let loop: EventLoop
    private let desk: FrontDesk
    private let server: HTTPServer
    /// The port it listens on, also when 0 was asked for.
    package nonisolated let port: UInt16

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Starts to serve; to be called on the loop, which must not be virtual.
    ///
    /// - Parameters:
    ///   - port: 0 has the system choose one.
    ///   - faults: whether `/fault/` is served; never for `--demo`.
    ///   - seed: picks the facts, the dogs, the air and the random delays.
    ///   - wallClock: the time that the dates of `retry-date` count from.
    /// - Throws: the reason why the port cannot be had.
    package init(
        loop: EventLoop, port: UInt16 = 0, faults: Bool = false, seed: UInt64,
        wallClock: any WallClock = SystemWallClock()
    ) throws(SystemError) {
        self.loop = loop
        let addresses = try SocketAddress.resolve(host: "127.0.0.1", port: port)
        let socket = try StreamSocket.listening(at: addresses[0])  // a name may have none, a numeric address is one
        let desk = FrontDesk(loop: loop, allowsFaults: faults, seed: seed, wallClock: wallClock)
        self.desk = desk
        server = try HTTPServer(on: loop, listeningAt: socket, limits: Self.limits) { desk.reply(to: $0) }
        self.port = server.port
        desk.host = "127.0.0.1:\(server.port)"
    }

    private static let limits: HTTPServer.Limits = {
        var limits = HTTPServer.Limits()
        limits.connections = 4_096
        limits.body = 128 << 10
        limits.patience = .seconds(120)
        return limits
    }()

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    package nonisolated var origin: String { "http://127.0.0.1:\(port)" }

    /// Complete requests so far, whatever became of them.
    package var requestCount: Int { desk.requests }

    /// WebSockets that are open.
    package var webSocketCount: Int { desk.webSockets }

    /// The delays that were really made for requests with a `delay`, in the order of the answers: the newest 10,000.
    package var servedDelays: [Duration] { desk.delays }

    /// Closes the port and every connection at once; has to be called before the server is let go of.
    package func stop() async {
        await desk.close()
        server.stop()
    }
}
