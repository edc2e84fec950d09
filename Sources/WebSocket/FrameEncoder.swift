/// Writes frames (RFC 6455, section 5.2).
package enum FrameEncoder {
    /// The longest payload of a control frame, in bytes.
    package static let longestControl = 125

    /// Appends one frame to `output`.
    ///
    /// - Parameters:
    ///   - payload: at most 125 bytes in a control frame, which is always final.
    ///   - key: a client's masking key, an unpredictable random number for each frame; nil for a server.
    package static func append(
        _ opcode: Opcode, _ payload: some Collection<UInt8>, isFinal: Bool = true, key: UInt32?,
        to output: inout [UInt8]
    ) {
        let count = payload.count
        precondition(!opcode.isControl || count <= longestControl && isFinal, "a control frame is short and whole")
        appendHeader(opcode, count: count, isFinal: isFinal, key: key, to: &output)
        let start = output.count
        output.append(contentsOf: payload)
        guard let key else { return }
        output.withUnsafeMutableBytes { bytes in
            Masking.apply(key, offset: 0, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    /// Appends a close frame; a reason that is too long is cut between two characters.
    package static func appendClose(_ code: CloseCode, _ reason: String = "", key: UInt32?, to output: inout [UInt8]) {
        var payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        for scalar in reason.unicodeScalars {
            let encoded = UTF8.encode(scalar).map { Array($0) } ?? []
            guard payload.count + encoded.count <= longestControl else { break }
            payload += encoded
        }
        append(.close, payload, key: key, to: &output)
    }

    /// Encodes lengths in as few bytes as possible, which receivers may require.
    private static func appendHeader(
        _ opcode: Opcode, count: Int, isFinal: Bool, key: UInt32?, to output: inout [UInt8]
    ) {
        output.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let mask: UInt8 = key == nil ? 0 : 0x80
        if count <= 125 {
            output.append(mask | UInt8(count))
        } else if count <= 0xFFFF {
            output.append(mask | 126)
            append(UInt64(count), bytes: 2, to: &output)
        } else {
            output.append(mask | 127)
            append(UInt64(count), bytes: 8, to: &output)
        }
        if let key { append(UInt64(key), bytes: 4, to: &output) }
    }

    private static func append(_ number: UInt64, bytes: Int, to output: inout [UInt8]) {
        for index in (0..<bytes).reversed() { output.append(UInt8(truncatingIfNeeded: number >> (index * 8))) }
    }
}
