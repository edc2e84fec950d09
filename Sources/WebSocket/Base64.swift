internal import CCrypto

/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)  // with the zero byte behind it
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text[..<Int(count)], as: UTF8.self)
    }

    /// Decodes a text; nil when it is not what `encode` makes of some bytes.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        guard Int(EVP_DecodeBlock(&bytes, text, Int32(text.count))) == bytes.count else { return nil }
        bytes.removeLast(text.suffix(2).count { $0 == UInt8(ascii: "=") })
        // libcrypto reads padding anywhere as zeros.
        return encode(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
}
