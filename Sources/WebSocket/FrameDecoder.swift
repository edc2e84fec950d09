/// Decodes a peer's frames after the handshake, in pieces of any size (RFC 6455, section 5).
///
/// Everything is checked as early as possible: an announced length that is too large fails in the header, invalid UTF-8
/// at its first wrong byte. It holds one message of at most `limit` bytes and 125 bytes of a control frame.
package struct FrameDecoder: Sendable {
    /// A complete message or control frame.
    package enum Item: Sendable, Equatable {
        /// A text message, whose bytes are `payload` until the next call.
        case text
        /// A binary message, whose bytes are `payload` until the next call.
        case binary
        case ping([UInt8])
        case pong([UInt8])
        /// The last item: everything behind it is skipped. The code is nil when the peer gave none.
        case close(CloseCode?, reason: String)
    }

    /// The decoder's position within a frame.
    private enum State: Sendable {
        /// In the header, of which `headerCount` bytes have come.
        case header
        case payload
        case closed
    }

    /// The message that `next` has just returned.
    package private(set) var payload: [UInt8] = []

    private let expectsMask: Bool
    private let limit: Int
    private var state = State.header
    private var fault: WebSocketFault?

    // The frame.
    private var header: (UInt64, UInt64) = (0, 0)  // of up to 14 bytes
    private var headerCount = 0
    private var headerSize = 2
    private var opcode = Opcode.continuation
    private var isFinal = false
    private var key: UInt32 = 0
    private var length = 0
    private var taken = 0

    // The message.
    private var message: Opcode?
    private var isReturned = false
    /// The number of bytes of the payload that are known to be text.
    private var checked = 0
    /// The number of empty frames of the message.
    private var emptyFrames = 0
    private var control: [UInt8] = []

    /// The most bytes of a message's memory that are kept between messages.
    private static let keptCapacity = 64 << 10
    // Bound: empty frames of a WebSocket message | 1,024 | connection closed with code 1009
    /// The most empty frames of a message.
    private static let mostEmptyFrames = 1_024

    /// - Parameters:
    ///   - role: our role: a client accepts only unmasked frames, a server only masked ones.
    ///   - limit: the most bytes of a message.
    package init(role: Role, limit: Int) {
        expectsMask = role == .server
        self.limit = limit
    }

    /// Whether a message or a frame has begun and is incomplete.
    package var isInside: Bool { state == .payload || headerCount > 0 || message != nil }

    /// Returns the next complete item; nil when `input` is used up without one.
    ///
    /// - Parameter input: the received bytes; used ones are removed from the front.
    /// - Throws: `WebSocketFault`, and the same again at every later call.
    package mutating func next(from input: inout UnsafeRawBufferPointer) throws(WebSocketFault) -> Item? {
        if let fault { throw fault }
        if isReturned { beginMessage() }
        do throws(WebSocketFault) {
            while true {
                switch state {
                case .header:
                    guard try decodeHeader(from: &input) else { return nil }
                case .payload:
                    try decodePayload(from: &input)
                    guard taken == length else { return nil }
                    state = .header
                    headerCount = 0
                    headerSize = 2
                    if let item = try endFrame() { return item }
                case .closed:
                    input = UnsafeRawBufferPointer(rebasing: input[input.count...])
                    return nil
                }
            }
        } catch {
            fault = error
            payload = []
            throw error
        }
    }

    private mutating func beginMessage() {
        isReturned = false
        message = nil
        checked = 0
        emptyFrames = 0
        if payload.capacity > Self.keptCapacity { payload = [] } else { payload.removeAll(keepingCapacity: true) }
    }

    // MARK: The header

    /// Decodes header bytes one by one, because each can be invalid by itself.
    private mutating func decodeHeader(from input: inout UnsafeRawBufferPointer) throws(WebSocketFault) -> Bool {
        var used = 0
        defer { input = UnsafeRawBufferPointer(rebasing: input[used...]) }
        while headerCount < headerSize {
            guard used < input.count else { return false }
            let byte = input[used]
            used += 1
            withUnsafeMutableBytes(of: &header) { $0[headerCount] = byte }  // at most 14 of 16
            headerCount += 1
            if headerCount == 1 { try decodeFirst(byte) }
            if headerCount == 2 { try decodeSecond(byte) }
            if headerCount == lengthEnd, headerCount > 2 { try decodeLength() }
        }
        if expectsMask { key = UInt32(truncatingIfNeeded: number(headerCount - 4..<headerCount)) }
        taken = 0
        if opcode.isControl { control.removeAll(keepingCapacity: true) }
        state = .payload
        return true
    }

    /// The end of the length, which a masking key may follow.
    private var lengthEnd: Int { headerSize - (expectsMask ? 4 : 0) }

    private func number(_ range: Range<Int>) -> UInt64 {
        withUnsafeBytes(of: header) { bytes in range.reduce(0) { $0 << 8 | UInt64(bytes[$1]) } }
    }

    private mutating func decodeFirst(_ byte: UInt8) throws(WebSocketFault) {
        guard byte & 0x70 == 0 else { throw WebSocketFault(.protocolError, "set a reserved bit") }
        guard let opcode = Opcode(rawValue: byte & 0x0F) else {
            throw WebSocketFault(.protocolError, "sent a frame of the reserved kind \(byte & 0x0F)")
        }
        isFinal = byte & 0x80 != 0
        self.opcode = opcode
        switch opcode {
        case .close, .ping, .pong:
            guard isFinal else { throw WebSocketFault(.protocolError, "fragmented a control frame") }
        case .continuation:
            guard message != nil else { throw WebSocketFault(.protocolError, "continued a message that never began") }
        case .text, .binary:
            guard message == nil else {
                throw WebSocketFault(.protocolError, "began a message within another")
            }
            message = opcode
        }
    }

    private mutating func decodeSecond(_ byte: UInt8) throws(WebSocketFault) {
        guard (byte & 0x80 != 0) == expectsMask else {
            throw WebSocketFault(.protocolError, expectsMask ? "sent a frame without a mask" : "sent a masked frame")
        }
        let short = Int(byte & 0x7F)
        guard !opcode.isControl || short <= FrameEncoder.longestControl else {
            throw WebSocketFault(.protocolError, "sent a control frame of more than 125 bytes")
        }
        headerSize = 2 + (short == 126 ? 2 : short == 127 ? 8 : 0) + (expectsMask ? 4 : 0)
        if short < 126 { try setLength(UInt64(short)) }
    }

    private mutating func decodeLength() throws(WebSocketFault) {
        let announced = number(2..<headerCount)
        guard announced >> 63 == 0 else { throw WebSocketFault(.protocolError, "sent a frame of a negative length") }
        guard announced > (headerCount == 4 ? 125 : 0xFFFF) else {
            throw WebSocketFault(.protocolError, "wrote a length in more bytes than it needs")
        }
        try setLength(announced)
    }

    private mutating func setLength(_ announced: UInt64) throws(WebSocketFault) {
        guard opcode.isControl || announced <= UInt64(limit - payload.count) else {
            throw WebSocketFault(.tooBig, "sent a message of more than \(limit) bytes")
        }
        length = Int(announced)  // at most the limit
    }

    // MARK: The payload

    private mutating func decodePayload(from input: inout UnsafeRawBufferPointer) throws(WebSocketFault) {
        let count = min(length - taken, input.count)
        guard count > 0 else { return }
        // In bounds: `count` is at most the number of bytes.
        let bytes = UnsafeRawBufferPointer(rebasing: input[..<count])
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        if opcode.isControl {
            append(bytes, to: &control)
        } else {
            append(bytes, to: &payload)
            if message == .text { try checkText() }
        }
        taken += count
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        let start = target.count
        target.append(contentsOf: bytes)
        guard expectsMask else { return }
        target.withUnsafeMutableBytes { all in
            Masking.apply(key, offset: taken, to: UnsafeMutableRawBufferPointer(rebasing: all[start...]))
        }
    }

    /// Checks the payload up to a character that is incomplete, which is checked again with the bytes that follow.
    private mutating func checkText() throws(WebSocketFault) {
        do {
            checked += try UTF8Span(validating: payload.span.extracting(checked...)).count
        } catch {
            guard error.kind == .truncatedScalar, checked + error.byteOffsets.upperBound == payload.count else {
                throw Self.notText
            }
            checked += error.byteOffsets.lowerBound
        }
    }

    private static let notText = WebSocketFault(.invalidData, "sent text that is not UTF-8")

    /// Returns the item that a complete frame ends; nil when it is only a part of a message.
    private mutating func endFrame() throws(WebSocketFault) -> Item? {
        switch opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close:
            let item = try closing()
            state = .closed
            return item
        case .text, .binary, .continuation:
            guard isFinal else {
                // Non-empty frames are bounded by the message's byte limit.
                if length == 0 { emptyFrames += 1 }
                guard emptyFrames <= Self.mostEmptyFrames else {
                    throw WebSocketFault(.tooBig, "sent more than \(Self.mostEmptyFrames) empty parts of a message")
                }
                return nil
            }
            isReturned = true
            guard message == .text else { return .binary }
            guard checked == payload.count else { throw Self.notText }
            return .text
        }
    }

    private func closing() throws(WebSocketFault) -> Item {
        guard !control.isEmpty else { return .close(nil, reason: "") }
        guard control.count >= 2 else { throw WebSocketFault(.protocolError, "sent half a close code") }
        let code = CloseCode(rawValue: UInt16(control[0]) << 8 | UInt16(control[1]))
        guard code.isValid else {
            throw WebSocketFault(.protocolError, "closed with the code \(code.rawValue), which has no meaning")
        }
        guard let reason = String(validating: control[2...], as: UTF8.self) else {
            throw WebSocketFault(.invalidData, "closed with a reason that is not UTF-8")
        }
        return .close(code, reason: reason)
    }
}
