package import Feed
package import HTTPServer
internal import Outputs
package import Reactor

/// Answers at one path of the web server, or at all paths below one. Everything in it runs on the loop.
package protocol WebHandler {
    /// The accepted methods; GET includes HEAD.
    var methods: [String] { get }
    /// Whether it answers without the token: it reveals nothing secret.
    var isOpen: Bool { get }
    /// Answers a permitted request; must not wait.
    ///
    /// - Parameter rest: the path behind the handler's own, still encoded; empty for a handler of a single path.
    func response(to request: HTTPRequest, below rest: Substring) -> HTTPResponse
}

extension WebHandler {
    package var methods: [String] { ["GET"] }
    package var isOpen: Bool { false }
}

/// The state that handlers share. Used on the loop.
package final class WebContext {
    package let store: EventStore
    package let polls: PollRequests
    package let loop: EventLoop
    /// The current settings; a reload may change them before the next request.
    package internal(set) var settings: WebSettings

    /// A picture (SVG) of the stand-in API by its path there; nil when there is none.
    package typealias DemoPicture = @Sendable (_ path: String) -> [UInt8]?
    let demoPicture: DemoPicture

    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, _ settings: WebSettings,
        demoPicture: @escaping DemoPicture = { _ in nil }
    ) {
        self.store = store
        self.polls = polls
        self.loop = loop
        self.settings = settings
        self.demoPicture = demoPicture
    }
}

/// The handlers by path.
struct WebRoutes {
    private var exact: [String: any WebHandler] = [:]
    private var below: [(path: String, handler: any WebHandler)] = []

    init(_ context: WebContext, _ readers: FeedReaders) {
        add("/events", FeedHandler(form: .events, readers: readers))
        add("/feed", FeedHandler(form: .lines, readers: readers))
        for file in PageFiles.all {
            let page = PageFileHandler(file)
            add("/\(file.name)", page)
            if exact["/"] == nil { add("/", page) }
        }
        add("/poll/", PollHandler(context: context))
        add("/snapshot", SnapshotHandler(context))
        add("/config", ConfigHandler(context: context))
        add("/demo/", DemoHandler(context: context))
        add("/metrics", MetricsHandler(context))
        add("/alerts", AlertsHandler(context))
        add("/healthz", HealthHandler.alive(context))
        add("/readyz", HealthHandler.ready(context))
    }

    /// - Parameter path: one that ends with a slash stands for all paths below it, except `/`, which stands for itself.
    private mutating func add(_ path: String, _ handler: any WebHandler) {
        if path.utf8.count > 1, path.hasSuffix("/") {
            below.append((path, handler))
        } else {
            exact[path] = handler
        }
    }

    /// Returns the handler for a path, still encoded; nil when there is none.
    func find(_ path: Substring) -> (handler: any WebHandler, rest: Substring)? {
        if let handler = exact[String(path)] { return (handler, "") }
        return below.first { path.hasPrefix($0.path) }.map { ($0.handler, path.dropFirst($0.path.count)) }
    }
}
