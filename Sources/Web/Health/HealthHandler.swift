package import HTTPServer
internal import Reactor

/// Reports the agent's health. The report is renewed at most once a second, so that requests are cheap however many
/// sources there are.
package final class HealthHandler: WebHandler {
    private let context: WebContext
    private let look: (WebContext) -> HealthReport
    private var report = HealthReport(isGood: false, body: [])
    private var isFreshUntil: LoopInstant

    private static let freshness = Duration.seconds(1)

    private init(_ context: WebContext, _ look: @escaping (WebContext) -> HealthReport) {
        self.context = context
        self.look = look
        isFreshUntil = context.loop.clock.now
    }

    /// For `/healthz`.
    package static func alive(_ context: WebContext) -> HealthHandler {
        HealthHandler(context) { .liveness(of: $0.polls) }
    }

    /// For `/readyz`.
    package static func ready(_ context: WebContext) -> HealthHandler {
        HealthHandler(context) { .readiness(of: $0.store) }
    }

    package var isOpen: Bool { true }

    package func response(to _: HTTPRequest, below _: Substring) -> HTTPResponse {
        let now = context.loop.clock.now
        if isFreshUntil <= now {
            report = look(context)
            isFreshUntil = now.advanced(by: Self.freshness)
        }
        return HTTPResponse(
            status: report.isGood ? 200 : 503,
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store")],
            body: .bytes(report.body))
    }
}
