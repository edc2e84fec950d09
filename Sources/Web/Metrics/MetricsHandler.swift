package import HTTPServer
internal import Reactor

/// Serves the agent's metrics to Prometheus, and other readers of its formats: see docs/metrics.md.
package final class MetricsHandler: WebHandler {
    private let context: WebContext
    /// The number of answers in progress.
    private var underWay = 0

    // Bound: scrapes in progress | 16, each 32 KiB and 16 bytes for each name that may be ambiguous | 503
    static let mostAtOnce = 16
    // Time to read `/metrics`: 60 s; connection closed.
    static let patience = Duration.seconds(60)

    package init(_ context: WebContext) { self.context = context }

    package func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        response(accept: request["Accept"])
    }

    /// - Parameter accept: the `Accept` header.
    func response(accept: String?) -> HTTPResponse {
        guard underWay < Self.mostAtOnce else {
            return .notNow("too many scrapes at once", retryAfter: 1)
        }
        underWay += 1
        let format = MetricsFormat(accept: accept)
        let scrape = MetricsScrape(of: context.store, as: format, limit: context.settings.metricsSeries)
        let (loop, start) = (context.loop, context.loop.clock.now)
        let stream = HTTPStream { buffer, _ in
            // A client that reads slowly would otherwise keep its place for ever.
            guard start.duration(to: loop.clock.now) < Self.patience else { return .broken(byReset: false) }
            return scrape.next(into: buffer)
        }
        stream.whenOver = { [weak self] _ in self?.underWay -= 1 }
        return HTTPResponse(
            status: 200,
            fields: [
                HTTPField("Content-Type", format.contentType), HTTPField("Cache-Control", "no-store"),
                HTTPField("Vary", "Accept"),
            ], body: .stream(stream))
    }
}
