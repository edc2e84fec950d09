internal import HTTPServer
internal import Reactor

/// The answers of a handler that are made piece by piece while they are sent: some at once, each within a time.
final class StreamedAnswers {
    /// What comes next of an answer.
    enum Piece {
        /// More of it; none if it has to be asked again.
        case bytes([UInt8])
        case end
        /// The connection ends, so that the reader notices the missing part.
        case broken
    }

    private let word: String
    private let most: Int
    private let patience: Duration
    private let loop: EventLoop
    private var underWay = 0

    /// - Parameter word: what they are, for people.
    init(_ word: String, atMost most: Int, each patience: Duration, on loop: EventLoop) {
        (self.word, self.most, self.patience, self.loop) = (word, most, patience, loop)
    }

    /// Answers with a stream, or with 503 when too many are under way.
    ///
    /// - Parameter begin: returns a closure that returns the pieces one by one.
    func response(_ fields: [HTTPField], _ begin: () -> () -> Piece) -> HTTPResponse {
        guard underWay < most else { return .notNow("too many \(word) at once", retryAfter: 1) }
        underWay += 1
        let (next, start) = (begin(), loop.clock.now)
        var piece: [UInt8] = []
        var offset = 0
        let stream = HTTPStream { [loop, patience] buffer, _ in
            // A client that reads slowly would otherwise keep its place for ever.
            guard start.duration(to: loop.clock.now) < patience else { return .broken(byReset: false) }
            while offset == piece.count {
                switch next() {
                case .bytes(let bytes): (piece, offset) = (bytes, 0)
                case .end: return .end
                case .broken: return .broken(byReset: false)
                }
            }
            let count = min(buffer.count, piece.count - offset)
            buffer.copyBytes(from: piece[offset..<offset + count])
            offset += count
            return .bytes(count)
        }
        stream.whenOver = { [weak self] _ in self?.underWay -= 1 }
        return HTTPResponse(
            status: 200, fields: fields + [HTTPField("Cache-Control", "no-store")], body: .stream(stream))
    }
}
