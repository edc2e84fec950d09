package import HTTPServer
internal import Reactor

/// Tells Prometheus, and whoever else reads its formats, what there is in numbers: see docs/metrics.md.
package final class MetricsHandler: WebHandler {
    private let context: WebContext
    /// Answers that are on their way.
    private var underWay = 0

    /// How many there may be: each has up to 32 KiB, and 16 bytes for each name that may be there twice.
    static let mostAtOnce = 16
    /// How long a client may take to get all of it.
    static let patience = Duration.seconds(60)

    package init(_ context: WebContext) { self.context = context }

    package func reply(to request: HTTPRequest, below _: Substring) -> HTTPReply {
        .now(response(accept: request["Accept"]))
    }

    /// - Parameter accept: which formats are asked for.
    func response(accept: String?) -> HTTPResponse {
        guard underWay < Self.mostAtOnce else {
            return .notNow("too many scrapes at once", retryAfter: 1)
        }
        underWay += 1
        let format = MetricsFormat(accept: accept)
        let scrape = MetricsScrape(of: context.store, as: format, limit: context.settings.metricsSeries)
        let (loop, start) = (context.loop, context.loop.clock.now)
        let stream = HTTPStream { buffer, _ in
            // One that keeps taking a little would have its place for ever.
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
