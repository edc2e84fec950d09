package import Feed
internal import HTTPServer
package import Outputs
package import Reactor

/// Serves the page, the feed and what there is to know of the agent by HTTP, on the loop that everything else runs on.
package actor WebServer {
    package struct Limits: Sendable {
        /// How many requests may be under way at once, besides the streams of readers.
        package var requests = 256
        /// Connections from one address, see `HTTPServer.Limits.connectionsPerAddress`.
        package var connectionsPerAddress = 256
        /// How long a client may take nothing of an answer, and what else `HTTPServer.Limits.patience` is for.
        package var patience = HTTPServer.Limits().patience
        /// Bytes of a connection's memory: a target and header fields of 8 KiB each fit into it, with what libmicrohttpd keeps of
        /// a hundred fields besides; what nobody sends is not touched.
        package var memory = 32 << 10

        package init() {}
    }

    private let loop: EventLoop
    private let context: WebContext
    private let routes: WebRoutes
    private let readers: FeedReaders
    private let limits: Limits
    private let seats: ReaderSeats
    private var server: HTTPServer?
    /// Open from when on it serves, or cannot.
    private let begun: Wakeup
    private let ended: Wakeup
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - seats: shared with who else has readers.
    ///   - history: where older lines than the log's are; nil for nowhere.
    package init(
        store: EventStore, desk: PollDesk, on loop: EventLoop, settings: WebSettings, limits: Limits = Limits(),
        readers: ReaderLimits = ReaderLimits(), seats: ReaderSeats = ReaderSeats(), history: HistoryDesk? = nil,
        demoPicture: @escaping WebContext.DemoPicture = { _ in nil }
    ) {
        self.loop = loop
        self.limits = limits
        self.seats = seats
        self.readers = FeedReaders(
            store: store, desk: desk, on: loop, limits: readers, seats: seats, history: history)
        context = WebContext(store: store, desk: desk, on: loop, settings, demoPicture: demoPicture)
        routes = WebRoutes(context, self.readers)
        begun = Wakeup(loop: loop)
        ended = Wakeup(loop: loop)
    }

    /// The port it listens on; 0 while it does not, and on a socket that has none.
    package var port: UInt16 { server?.port ?? 0 }

    /// How many read the feed now.
    package var readerCount: Int { readers.count }

    /// Other settings from the next request on, and other limits for readers. With another token those leave who were let in
    /// without it: one that is known to somebody who should not is taken back so.
    package func change(to settings: WebSettings, readers limits: ReaderLimits) {
        readers.change(to: limits)
        if settings.token != nil, settings.token != context.settings.token { readers.dismissAll() }
        context.settings = settings
        server?.fields = settings.fields
    }

    /// Serves until it is stopped or the task is cancelled.
    ///
    /// - Parameter open: the socket, which listens already.
    /// - Throws: `CancellationError`, or why it cannot serve there.
    package func run(_ open: @Sendable () throws(SystemError) -> Descriptor) async throws {
        begun.open()
        var limits = HTTPServer.Limits()
        limits.connections = self.limits.requests + seats.limit
        // With more seats after a reload streams would take the places of requests.
        readers.mostHere = seats.limit
        limits.connectionsPerAddress = self.limits.connectionsPerAddress
        limits.patience = self.limits.patience
        limits.memory = self.limits.memory
        let server = try HTTPServer(on: loop, listeningAt: try open(), limits: limits) { [routes, context] request in
            Self.reply(to: request, routes, context)
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

    /// Waits until `run` has begun: who has asked before is not answered by one that was stopped by then.
    package func waitUntilBegun() async { try? await begun.wait() }

    /// Has `run` come back once all who read the feed have left or `time` is over, see `FeedReaders.leave`. All else is
    /// answered until then.
    package func stop(within time: Duration, isOver: Bool) {
        if isOver, !readers.isLeaving { server?.answerWhoWaits() }
        readers.leave(within: time, isOver: isOver)
        ended.open()
    }

    private static func reply(to request: HTTPRequest, _ routes: WebRoutes, _ context: WebContext) -> HTTPReply {
        let found = routes.find(request.path)
        if let refusal = WebGuard.refusal(of: request, isOpen: found?.handler.isOpen == true, context.settings) {
            return .now(refusal)
        }
        guard let (handler, rest) = found else { return .now(.refusal(404, "there is nothing here")) }
        let method = request.method == "HEAD" ? "GET" : request.method
        guard handler.methods.contains(method) else {
            let methods = handler.methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
            return .now(
                .refusal(
                    405, "this path does not take \(request.method.prefix(20))",
                    [HTTPField("Allow", methods.joined(separator: ", "))]))
        }
        return handler.reply(to: request, below: rest)
    }
}
