internal import Feed
internal import HTTPServer
internal import Reactor

/// `GET /alerts`: the newest line of each alert that fires.
final class AlertsHandler: WebHandler {
    private let context: WebContext
    private let answers: StreamedAnswers

    // Bound: answers of `/alerts` in progress | 16, each 32 KiB and a line | 503
    static let mostAtOnce = 16
    // Time to read `/alerts`: 60 s; connection closed.
    static let patience = Duration.seconds(60)
    private static let mostPiece = 32 << 10

    init(_ context: WebContext) {
        self.context = context
        answers = StreamedAnswers("readers", atMost: Self.mostAtOnce, each: Self.patience, on: context.loop)
    }

    func response(to _: HTTPRequest, below _: Substring) -> HTTPResponse {
        let store = context.store
        // Before that, nobody knows what fires.
        guard store.assumeIsolated({ $0.hasBegun }) else { return .notNow("the agent is not there", retryAfter: 1) }
        return answers.response([HTTPField("Content-Type", "application/json")]) {
            var walk = store.assumeIsolated { $0.walk }
            var piece = Self.start(of: walk.run)
            var (told, leftOut) = (0, 0)
            var isOver = false
            return {
                guard !isOver else { return .end }
                return store.assumeIsolated { store in
                    guard store.identity.run == walk.run else { return .broken }
                    while piece.count < Self.mostPiece, !isOver {
                        guard let alert = store.nextAlert(&walk) else {
                            isOver = true
                            piece += "],\"more_alerts\":\(leftOut)}\n".utf8
                            break
                        }
                        guard let line = alert.line else {
                            leftOut += 1
                            continue
                        }
                        if told > 0 { piece.append(UInt8(ascii: ",")) }
                        piece += line
                        told += 1
                    }
                    defer { piece = [] }
                    return .bytes(piece)
                }
            }
        }
    }

    private static func start(of run: String) -> [UInt8] {
        LineWriter.bytes(atMost: 32 + LineWriter.mostEscaped(run.utf8.count)) { writer in
            writer.raw("{\"run\":")
            writer.string(run)
            writer.raw(",\"alerts\":[")
        }
    }
}
