import Feed
import Inputs
import Reactor

/// An HTTP transport that answers by a script, in its loop's time, and remembers what it was asked.
actor ScriptedTransport: HTTPTransport {
    /// What a request comes to.
    struct Reply: Sendable {
        /// How long it takes; past the request's deadline it comes to a timeout.
        var after = Duration.zero
        var outcome: Result<HTTPAnswer, HTTPFailure>

        static func answer(
            _ status: Int = 200, _ body: String = #"{"fact":"Cats sleep.","length":11}"#,
            headers: HTTPAnswerHeaders = HTTPAnswerHeaders(contentType: "application/json"), after: Duration = .zero
        ) -> Reply {
            Reply(after: after, outcome: .success(HTTPAnswer(status: status, body: Array(body.utf8), headers: headers)))
        }

        static func failure(_ code: Failure.Code, _ message: String, after: Duration = .zero) -> Reply {
            Reply(after: after, outcome: .failure(HTTPFailure(code, message)))
        }
    }

    /// A request that was made.
    struct Call: Sendable {
        /// When it began and ended.
        var began: LoopInstant
        var ended: LoopInstant?
        var url: String
        var headers: [String]
        /// The origins that redirects may lead to.
        var origins: Set<String>?
    }

    private let loop: EventLoop
    private let script: @Sendable (Int, HTTPRequest) -> Reply
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var calls: [Call] = []
    private(set) var underWay = 0
    private(set) var mostUnderWay = 0
    private(set) var cancelled = 0
    private var refused: Range<LoopInstant>?

    /// - Parameter script: gets the request's number, from 0, and the request.
    init(on loop: EventLoop, script: @escaping @Sendable (Int, HTTPRequest) -> Reply) {
        self.loop = loop
        self.script = script
    }

    /// Refuses connections between two times from now, whatever the script says.
    func refuse(_ times: Range<Duration>) {
        let now = loop.clock.now
        refused = now.advanced(by: times.lowerBound)..<now.advanced(by: times.upperBound)
    }

    func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        let number = calls.count
        calls.append(
            Call(began: loop.clock.now, url: request.url, headers: request.headers, origins: request.origins))
        underWay += 1
        mostUnderWay = max(mostUnderWay, underWay)
        defer {
            underWay -= 1
            calls[number].ended = loop.clock.now
        }
        var reply = script(number, request)
        if refused?.contains(loop.clock.now) == true { reply = .failure(.connect, "refused") }
        if reply.after >= request.timeout {
            reply = .failure(.timeout, "no answer within the deadline", after: request.timeout)
        }
        if reply.after > .zero {
            do {
                try await loop.sleep(for: reply.after)
            } catch {
                cancelled += 1
                throw HTTPFailure(.closed, "the request was cancelled")
            }
        }
        var answer = try reply.outcome.get()
        answer.timing.total = reply.after.milliseconds
        answer.timing.wait = reply.after.milliseconds
        answer.timing.bytes = answer.body.count
        return answer
    }

    func open(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>) {
        throw HTTPFailure(.connect, "there are no feeds here")
    }
}
