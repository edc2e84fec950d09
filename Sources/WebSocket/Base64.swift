/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var output: [UInt8] = []
        var held = 0
        var word: UInt32 = 0
        func flush(_ count: Int) {
            for place in 0..<4 {
                let digit = Int(word >> UInt32(18 - 6 * place) & 0x3F)
                output.append(place <= count ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        for byte in bytes {
            word |= UInt32(byte) << UInt32(16 - 8 * held)
            held += 1
            guard held == 3 else { continue }
            flush(3)
            (held, word) = (0, 0)
        }
        if held > 0 { flush(held) }
        return String(decoding: output, as: UTF8.self)
    }
}
