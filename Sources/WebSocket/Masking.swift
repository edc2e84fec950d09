/// The masking of a client's frames (RFC 6455, section 5.3). It is its own inverse.
package enum Masking {
    /// Applies a key to bytes of a payload, in place.
    ///
    /// - Parameters:
    ///   - key: the four bytes of the key, the first one the highest.
    ///   - offset: the number of the payload's bytes before these.
    package static func apply(_ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer) {
        // The key as in memory from this offset on, twice.
        let shift = UInt32(truncatingIfNeeded: offset & 3) * 8
        let turned = shift == 0 ? key : key << shift | key >> (32 - shift)
        let word = UInt64(turned) << 32 | UInt64(turned)
        var index = 0
        // In bounds: this condition keeps eight bytes from `index` on below `count`.
        while index + 8 <= bytes.count {
            let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word.bigEndian
            bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: turned >> (24 - UInt32(index & 3) * 8))
            index += 1
        }
    }
}
