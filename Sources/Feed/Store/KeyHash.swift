/// A fast keyed hash of short byte strings: it mixes in each eight bytes by a 64 × 64 → 128 bit multiplication with a
/// secret, and folds both halves of the product into one. Without the secret, nobody can compute colliding keys.
struct KeyHash: Sendable {
    private let start: UInt64
    private let factor: UInt64

    init(seed: (UInt64, UInt64)) {
        start = seed.0
        // Odd, and large enough that no product stays in the lower half.
        factor = seed.1 | 1 << 63 | 1
    }

    @inline(__always)
    func callAsFunction(_ bytes: UnsafeRawBufferPointer, source: Int) -> UInt64 {
        let count = bytes.count
        // A key has at most 1,024 bytes, so source and length do not overlap. The secret spreads them; otherwise keys
        // of different sources or lengths could be chosen to cancel the difference.
        let header = UInt64(truncatingIfNeeded: source) << 16 | UInt64(truncatingIfNeeded: count)
        var state = start &+ header &* factor
        var offset = 0
        // Every load is in bounds: eight bytes at `offset` with at least eight left, or `tail`'s own.
        while count - offset > 8 {
            state = Self.fold(state ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), factor)
            offset += 8
        }
        return Self.fold(state ^ Self.tail(bytes, from: offset), factor)
    }

    /// Whether both have the same bytes; both must have the same length.
    @inline(__always)
    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let count = left.count
        var offset = 0
        while count - offset > 8 {
            let same =
                left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if !same { return false }
            offset += 8
        }
        return tail(left, from: offset) == tail(right, from: offset)
    }

    /// The last 0 to 8 bytes from `offset` as one integer, different for different bytes of the same length.
    @inline(__always)
    private static func tail(_ bytes: UnsafeRawBufferPointer, from offset: Int) -> UInt64 {
        let rest = bytes.count - offset
        if rest >= 4 {
            // Two loads that may overlap: the first four bytes, and the last four.
            let low = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let high = bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
            return UInt64(high) << 32 | UInt64(low)
        }
        var word: UInt64 = 0
        for index in offset..<bytes.count { word = word << 8 | UInt64(bytes[index]) }
        return word
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
