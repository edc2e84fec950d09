internal import Feed
internal import WebSocket

/// A server's answer to a handshake, in one piece and in many: what it comes to must be the same, and so must what is left.
enum HandshakeAnswerTarget: FuzzTarget {
    private enum Ending: Equatable {
        case outcome(HandshakeAnswer.Outcome, used: Int)
        case fault(HandshakeFault)
        case open
    }

    /// The choice's lowest bit is the limit, the others how long pieces are.
    static func run(_ input: Bytes, choice: Int) {
        let limit = choice & 1 == 0 ? 16 << 10 : 200
        precondition(
            ending(input, limit, piece: max(1, input.count)) == ending(input, limit, piece: choice >> 1 + 1),
            "the pieces decide what is read")
    }

    private static func ending(_ input: Bytes, _ limit: Int, piece: Int) -> Ending {
        // The key of RFC 6455, section 1.3, whose answer is in the corpus.
        var answer = HandshakeAnswer(key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["a", "b"], limit: limit)
        return input.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: piece) {
                let end = min(start + piece, bytes.count)
                var rest = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                do throws(HandshakeFault) {
                    if let outcome = try answer.next(from: &rest) { return .outcome(outcome, used: end - rest.count) }
                } catch {
                    return .fault(error)
                }
            }
            return .open
        }
    }
}
