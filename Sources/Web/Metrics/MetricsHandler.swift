package import HTTPServer
internal import Reactor

/// Serves the agent's metrics to Prometheus, and other readers of its formats: see docs/metrics.md.
package final class MetricsHandler: WebHandler {
    private let context: WebContext
    private let answers: LimitedAnswers

    // Bound: scrapes in progress | 4, each with its answer | 503
    static let mostAtOnce = 4
    // Time to read `/metrics`: 60 s; connection closed.
    static let patience = Duration.seconds(60)

    package init(_ context: WebContext) {
        self.context = context
        answers = LimitedAnswers("scrapes", atMost: Self.mostAtOnce, each: Self.patience, on: context.loop)
    }

    package func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        response(accept: request["Accept"])
    }

    /// - Parameter accept: the `Accept` header.
    func response(accept: String?) -> HTTPResponse {
        let format = MetricsFormat(accept: accept)
        let fields = [HTTPField("Content-Type", format.contentType), HTTPField("Vary", "Accept")]
        return answers.response(fields) {
            let limit = context.settings.metricsSeries
            return context.store.assumeIsolated { MetricsText.bytes(of: $0, as: format, atMost: limit) }
        }
    }
}
