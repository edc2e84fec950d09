package import Reactor

/// The stand-in API on a loopback port, served by the loop that everything else runs on.
///
/// With `faults` it also answers under `/fault/`, see `FaultDesk`. It takes at most 4,096 connections and closes them
/// when they are idle for two minutes.
package actor CatAPIServer {
    private let loop: EventLoop
    private let daemon: HTTPDaemon
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
        precondition(!loop.clock.isVirtual, "libmicrohttpd does not follow a virtual clock")
        self.loop = loop
        let responder = Responder(allowsFaults: faults, seed: seed, wallClock: wallClock)
        daemon = try HTTPDaemon(loop: loop, port: port, responder: responder, seed: seed)
        self.port = daemon.port
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    package nonisolated var origin: String { "http://127.0.0.1:\(port)" }

    /// Complete requests so far, whatever became of them.
    package var requestCount: Int { daemon.requests }

    /// WebSockets that are open.
    package var webSocketCount: Int { daemon.webSockets }

    /// The delays that were really made for requests with a `delay`, in the order of the answers: the newest 10,000.
    package var servedDelays: [Duration] { daemon.delays }

    /// Closes the port and every connection at once; has to be called before the server is let go of.
    package func stop() { daemon.stop() }
}
