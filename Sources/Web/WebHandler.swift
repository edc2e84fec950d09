package import Feed
package import HTTPServer
internal import Outputs
package import Reactor

/// What answers at one path of the web server, or at all that lie below one. Everything in it happens on the loop.
package protocol WebHandler {
    /// The methods it takes; HEAD comes with GET.
    var methods: [String] { get }
    /// Whether it answers without the token too: it says nothing secret.
    var isOpen: Bool { get }
    /// Answers a request that may be made; it must not wait.
    ///
    /// - Parameter rest: what the path has behind the handler's own, as it was sent; empty for one of a single path.
    func reply(to request: HTTPRequest, below rest: Substring) -> HTTPReply
}

extension WebHandler {
    package var methods: [String] { ["GET"] }
    package var isOpen: Bool { false }
}

/// What handlers answer from. Used on the loop.
package final class WebContext {
    package let store: EventStore
    package let desk: PollDesk
    package let loop: EventLoop
    /// What the settings say now; a reload may have changed it by the next request.
    package internal(set) var settings: WebSettings

    /// A picture (SVG) of the stand-in API by its path there; nil when there is none.
    package typealias DemoPicture = @Sendable (_ path: String) -> [UInt8]?
    let demoPicture: DemoPicture

    package init(
        store: EventStore, desk: PollDesk, on loop: EventLoop, _ settings: WebSettings,
        demoPicture: @escaping DemoPicture = { _ in nil }
    ) {
        self.store = store
        self.desk = desk
        self.loop = loop
        self.settings = settings
        self.demoPicture = demoPicture
    }
}

/// Which handler answers where.
struct WebRoutes {
    private var exact: [String: any WebHandler] = [:]
    private var below: [(path: String, handler: any WebHandler)] = []

    /// - Parameter context: what handlers answer from.
    init(_ context: WebContext, _ readers: FeedReaders) {
        add("/events", FeedHandler(.events, readers))
        add("/feed", FeedHandler(.lines, readers))
        for file in PageFiles.all {
            let page = PageFileHandler(file)
            add("/\(file.name)", page)
            if exact["/"] == nil { add("/", page) }
        }
        add("/poll/", PollHandler(context))
        add("/snapshot", SnapshotHandler(context))
        add("/config", ConfigHandler(context))
        add("/demo/", DemoHandler(context))
        add("/metrics", MetricsHandler(context))
        add("/healthz", HealthHandler.alive(context))
        add("/readyz", HealthHandler.ready(context))
    }

    /// - Parameter path: a path that ends with a slash stands for all that lie below it, but `/` for itself.
    private mutating func add(_ path: String, _ handler: any WebHandler) {
        if path.utf8.count > 1, path.hasSuffix("/") {
            below.append((path, handler))
        } else {
            exact[path] = handler
        }
    }

    /// Who answers at a path as it was sent; nil for nobody.
    func find(_ path: Substring) -> (handler: any WebHandler, rest: Substring)? {
        if let handler = exact[String(path)] { return (handler, "") }
        return below.first { path.hasPrefix($0.path) }.map { ($0.handler, path.dropFirst($0.path.count)) }
    }
}
