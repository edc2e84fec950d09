internal import CCrypto

/// A user's key pair in NATS's format: base32 of a prefix, 32 bytes and a checksum.
package enum NKey {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    /// The prefix of a user's public key; `U` in base32.
    private static let user: UInt8 = 20 << 3
    /// The prefix of a user's seed: any seed's, then the kind of key; `SU` in base32.
    private static let seedOfUser: [UInt8] = [18 << 3 | user >> 5, user << 3]

    /// The public key `U…` for a user's seed; nil when the text is no such seed.
    package static func publicKey(ofSeed text: some StringProtocol) -> String? {
        guard let bytes = decoded(text.utf8), bytes.count == 36, bytes.starts(with: seedOfUser),
            checksum(of: bytes.dropLast(2)) == UInt16(bytes[34]) | UInt16(bytes[35]) << 8
        else { return nil }
        var key = [UInt8](repeating: 0, count: 32)
        guard cw_ed25519_public_key(Array(bytes[2..<34]), &key) == 1 else { return nil }
        var all = [user] + key
        let sum = checksum(of: all[...])
        all += [UInt8(truncatingIfNeeded: sum), UInt8(truncatingIfNeeded: sum >> 8)]
        return encoded(all)
    }

    /// Decodes base32 (RFC 4648, 6) without padding; nil when the text is invalid.
    private static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for letter in text {
            guard let value = letters.firstIndex(of: letter) else { return nil }
            bits = bits << 5 | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        var (text, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(letters[Int(bits >> UInt32(count)) & 31])
            }
        }
        if count > 0 { text.append(letters[Int(bits << UInt32(5 - count)) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// CRC-16/XMODEM.
    private static func checksum(of bytes: ArraySlice<UInt8>) -> UInt16 {
        var sum: UInt16 = 0
        for byte in bytes {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 != 0 ? sum << 1 ^ 0x1021 : sum << 1 }
        }
        return sum
    }
}
