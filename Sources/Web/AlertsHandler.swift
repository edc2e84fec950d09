internal import Feed
internal import HTTPServer
internal import Reactor

/// `GET /alerts`: the newest line of each alert that fires.
final class AlertsHandler: WebHandler {
    private let context: WebContext
    private let answers: LimitedAnswers

    // Bound: answers of `/alerts` in progress | 4, each whole | 503
    static let mostAtOnce = 4
    // Time to read `/alerts`: 60 s; connection closed.
    static let patience = Duration.seconds(60)

    init(_ context: WebContext) {
        self.context = context
        answers = LimitedAnswers("readers", atMost: Self.mostAtOnce, each: Self.patience, on: context.loop)
    }

    func response(to _: HTTPRequest, below _: Substring) -> HTTPResponse {
        // Before that, nobody knows what fires.
        guard context.store.assumeIsolated({ $0.hasBegun }) else {
            return .notNow("the agent is not there", retryAfter: 1)
        }
        return answers.response([HTTPField("Content-Type", "application/json")]) {
            context.store.assumeIsolated { Self.body(of: $0) }
        }
    }

    private static func body(of store: isolated EventStore) -> [UInt8] {
        let alerts = store.alerts
        let lines = alerts.compactMap(\.line)
        var body = LineWriter.bytes(atMost: 32 + LineWriter.mostEscaped(store.run.utf8.count)) { writer in
            writer.raw("{\"run\":")
            writer.string(store.run)
            writer.raw(",\"alerts\":[")
        }
        body += lines.joined(separator: [UInt8(ascii: ",")])
        body += "],\"more_alerts\":\(alerts.count - lines.count)}\n".utf8
        return body
    }
}
