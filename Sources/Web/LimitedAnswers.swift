internal import HTTPServer
internal import Reactor

/// Answers of a handler that may be large: some at once, each for a limited time.
final class LimitedAnswers {
    private let word: String
    private let most: Int
    private let patience: Duration
    private let loop: EventLoop
    private var underWay = 0

    /// - Parameter word: what they are, for people.
    init(_ word: String, atMost most: Int, each patience: Duration, on loop: EventLoop) {
        (self.word, self.most, self.patience, self.loop) = (word, most, patience, loop)
    }

    /// Answers with these bytes, or with 503 when too many answers are under way.
    func response(_ fields: [HTTPField], _ body: () -> [UInt8]) -> HTTPResponse {
        guard underWay < most else { return .notNow("too many \(word) at once", retryAfter: 1) }
        underWay += 1
        let (bytes, start) = (body(), loop.clock.now)
        let stream = HTTPStream(size: bytes.count) { [loop, patience] buffer, offset in
            // A client that reads slowly would otherwise keep its place for ever.
            guard start.duration(to: loop.clock.now) < patience else { return .broken(byReset: false) }
            let count = min(buffer.count, bytes.count - offset)
            buffer.copyBytes(from: bytes[offset..<offset + count])
            return count > 0 ? .bytes(count) : .end
        }
        stream.whenOver = { [weak self] _ in self?.underWay -= 1 }
        return HTTPResponse(
            status: 200, fields: fields + [HTTPField("Cache-Control", "no-store")], body: .stream(stream))
    }
}
