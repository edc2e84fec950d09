package import HTTPServer
internal import Reactor

/// Serves the agent's metrics to Prometheus, and other readers of its formats: see docs/metrics.md.
package final class MetricsHandler: WebHandler {
    private let context: WebContext
    private let answers: StreamedAnswers

    // Bound: scrapes in progress | 16, each 32 KiB and 16 bytes for each name that may be ambiguous | 503
    static let mostAtOnce = 16
    // Time to read `/metrics`: 60 s; connection closed.
    static let patience = Duration.seconds(60)

    package init(_ context: WebContext) {
        self.context = context
        answers = StreamedAnswers("scrapes", atMost: Self.mostAtOnce, each: Self.patience, on: context.loop)
    }

    package func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        response(accept: request["Accept"])
    }

    /// - Parameter accept: the `Accept` header.
    func response(accept: String?) -> HTTPResponse {
        let format = MetricsFormat(accept: accept)
        let fields = [HTTPField("Content-Type", format.contentType), HTTPField("Vary", "Accept")]
        return answers.response(fields) {
            let scrape = MetricsScrape(of: context.store, as: format, limit: context.settings.metricsSeries)
            return { scrape.next() }
        }
    }
}
