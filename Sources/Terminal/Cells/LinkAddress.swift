/// Makes addresses from outside safe to write to a terminal (OSC 8).
package enum LinkAddress {
    /// The address with all bytes but printable ASCII percent-encoded; nil unless it is an http or https address of at
    /// most 2,000 bytes without white space and controls.
    package static func safe(_ address: String) -> String? {
        let bytes = Array(address.utf8)
        guard bytes.count <= 2_000 else { return nil }
        let lower = address.prefix(8).lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else { return nil }
        var safe: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in bytes {
            if byte <= 0x20 || byte == 0x7F { return nil }
            if byte < 0x80 {
                safe.append(byte)
            } else {
                safe += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: safe, as: UTF8.self)
    }
}
