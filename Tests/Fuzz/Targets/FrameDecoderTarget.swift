internal import Feed
internal import WebSocket

/// Frames of a peer, in one piece and in many: what comes out must be the same.
enum FrameDecoderTarget: FuzzTarget {
    private struct Trace: Equatable {
        var items: [FrameDecoder.Item] = []
        var payloads: [[UInt8]] = []
        var fault: WebSocketFault?
    }

    /// The choice's lowest bit is our role, the next one the limit, the others how long pieces are.
    static func run(_ input: Bytes, choice: Int) {
        let role: Role = choice & 1 == 0 ? .client : .server
        let limit = choice & 2 == 0 ? 1 << 20 : 126
        let whole = trace(input, role, limit, piece: max(1, input.count))
        let pieces = trace(input, role, limit, piece: choice >> 2 + 1)
        precondition(whole == pieces, "the pieces decide what is read")
        precondition(whole.payloads.allSatisfy { $0.count <= limit }, "a message is longer than the limit")
    }

    private static func trace(_ input: Bytes, _ role: Role, _ limit: Int, piece: Int) -> Trace {
        var decoder = FrameDecoder(role: role, limit: limit)
        var trace = Trace()
        input.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: piece) {
                var rest = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + piece, bytes.count)])
                do throws(WebSocketFault) {
                    while let item = try decoder.next(from: &rest) {
                        trace.items.append(item)
                        if item == .text || item == .binary { trace.payloads.append(decoder.payload) }
                    }
                } catch {
                    trace.fault = error
                    return
                }
                precondition(rest.isEmpty, "bytes are left over")
            }
        }
        return trace
    }
}
