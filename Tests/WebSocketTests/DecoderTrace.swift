import WebSocket

/// What a decoder makes of bytes.
struct DecoderTrace: Equatable {
    enum Step: Equatable {
        case text(String)
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        case close(UInt16?, String)
    }

    var steps: [Step] = []
    var fault: WebSocketFault?
    /// Whether something has begun and is not complete.
    var isInside = false

    /// Decodes the pieces one after the other.
    init(role: Role, limit: Int = 1 << 16, _ pieces: [ArraySlice<UInt8>]) {
        var decoder = FrameDecoder(role: role, limit: limit)
        for piece in pieces {
            piece.withUnsafeBytes { bytes in
                var input = bytes
                do throws(WebSocketFault) {
                    while let item = try decoder.next(from: &input) {
                        switch item {
                        case .text: steps.append(.text(String(decoding: decoder.payload, as: UTF8.self)))
                        case .binary: steps.append(.binary(decoder.payload))
                        case .ping(let payload): steps.append(.ping(payload))
                        case .pong(let payload): steps.append(.pong(payload))
                        case .close(let code, let reason): steps.append(.close(code?.rawValue, reason))
                        }
                    }
                } catch {
                    fault = fault ?? error
                }
            }
            if fault != nil { break }
        }
        isInside = fault == nil && decoder.isInside
    }

    init(role: Role, limit: Int = 1 << 16, _ bytes: [UInt8]) {
        self.init(role: role, limit: limit, [bytes[...]])
    }
}
