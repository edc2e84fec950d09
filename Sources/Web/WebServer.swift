package import Feed
package import HTTPServer
package import Outputs
package import Reactor

/// Serves the page, the feed and the agent's metrics and health by HTTP, on the agent's main loop.
package actor WebServer {
    // Requests by HTTP besides streams: 256, and as many streams as readers at the start; 503, connection closed.
    /// The most requests at once, besides the streams of readers.
    package static let requests = 256
    // Connections from one IPv4 address or IPv6 /64 network, except loopback: 256; closed without an answer.
    /// The usual limits, with connections for requests only: those for readers are added.
    package static var limits: HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.connections = requests
        limits.connectionsPerAddress = 256
        return limits
    }

    private let loop: EventLoop
    private let context: WebContext
    private let routes: WebRoutes
    private let readers: FeedReaders
    private let limits: HTTPServer.Limits
    private let seats: ReaderSeats
    private var server: HTTPServer?
    /// Opened once the server has started, or failed to.
    private let begun: Wakeup
    private let ended: Wakeup
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - seats: shared with the other outputs that have readers.
    ///   - history: the source of lines older than the log's; nil for none.
    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, settings: WebSettings,
        limits: HTTPServer.Limits = WebServer.limits, readers: ReaderLimits = ReaderLimits(),
        seats: ReaderSeats = ReaderSeats(),
        history: JournalQueue? = nil,
        demoPicture: @escaping WebContext.DemoPicture = { _ in nil }
    ) {
        self.loop = loop
        self.limits = limits
        self.seats = seats
        self.readers = FeedReaders(
            store: store, polls: polls, on: loop, limits: readers, seats: seats, history: history)
        context = WebContext(store: store, polls: polls, on: loop, settings, demoPicture: demoPicture)
        routes = WebRoutes(context, self.readers)
        begun = Wakeup(loop: loop)
        ended = Wakeup(loop: loop)
    }

    /// The port it listens on; 0 while it does not, and for a socket without a port.
    package var port: UInt16 { server?.port ?? 0 }

    /// The number of readers of the feed.
    package var readerCount: Int { readers.count }

    /// Applies other settings from the next request on, and other limits for readers. With another token, all readers
    /// are closed: this revokes a token that has leaked.
    package func change(to settings: WebSettings, readers limits: ReaderLimits) {
        readers.change(to: limits)
        if settings.token != nil, settings.token != context.settings.token { readers.dismissAll() }
        context.settings = settings
        server?.fields = settings.fields
    }

    /// Serves until it is stopped or the task is cancelled.
    ///
    /// - Parameter open: opens the socket, which must listen already.
    /// - Throws: `CancellationError`, or the reason why it cannot serve there.
    package func run(_ open: @Sendable () throws(SystemError) -> Descriptor) async throws {
        begun.open()
        var limits = limits
        limits.connections += seats.limit
        // A reload may add seats, but streams must not take the connections of requests.
        readers.mostHere = seats.limit
        let server = try HTTPServer(on: loop, listeningAt: try open(), limits: limits) { [routes, context] request in
            .now(Self.response(to: request, routes, context))
        }
        server.fields = context.settings.fields
        self.server = server
        defer {
            readers.closeAll()
            server.stop()
            self.server = nil
        }
        try await ended.wait()
        try await readers.waitUntilLeft()
    }

    /// Waits until `run` has begun, so that a client that connected earlier is not answered by a stopped server.
    package func waitUntilBegun() async { try? await begun.wait() }

    /// Ends `run` once all readers of the feed have left or `time` is over, see `FeedReaders.leave`. Other requests are
    /// answered until then.
    package func stop(within time: Duration, isOver: Bool) {
        if isOver, !readers.isLeaving { server?.answerWhoWaits() }
        readers.leave(within: time, isOver: isOver)
        ended.open()
    }

    private static func response(
        to request: HTTPRequest, _ routes: WebRoutes, _ context: WebContext
    ) -> HTTPResponse {
        let found = routes.find(request.path)
        if let refusal = WebGuard.refusal(of: request, isOpen: found?.handler.isOpen == true, context.settings) {
            return refusal
        }
        guard let (handler, rest) = found else { return .refusal(404, "there is nothing here") }
        let method = request.method == "HEAD" ? "GET" : request.method
        guard handler.methods.contains(method) else {
            let methods = handler.methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
            return .refusal(
                405, "this path does not take \(request.method.prefix(20))",
                [HTTPField("Allow", methods.joined(separator: ", "))])
        }
        return handler.response(to: request, below: rest)
    }
}
