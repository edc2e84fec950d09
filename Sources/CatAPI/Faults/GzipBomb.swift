/// A gzip member (RFC 1952) that inflates to zeros, about a thousand times its own size, made without a compressor.
///
/// It is one deflate block (RFC 1951, section 3.2.7) with codes of its own: one bit for "copy 258 bytes" and one bit
/// for "from the byte before". As both are 0, the bomb consists of zero bytes, each worth 1,032.
struct GzipBomb {
    let bytes: [UInt8]
    /// The number of bytes after inflating: the requested size, rounded up to 1 + a multiple of 1,032.
    let inflatedSize: Int

    /// - Parameter size: the least number of bytes after inflating, from 1.
    init(inflatingTo size: Int) {
        let runs = (size - 1 + Self.runLength - 1) / Self.runLength
        inflatedSize = 1 + runs * Self.runLength
        var bits = BitWriter()
        bits.append(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])  // deflate, no name, no time, unknown system
        Self.writeBlockHeader(to: &bits)
        bits.append(code: "10")  // a literal zero
        bits.append(zeroBits: runs * 8)
        bits.append(code: "11")  // the end of the block
        bits.align()
        bits.append(littleEndian: CRC32.ofZeros(inflatedSize))
        bits.append(littleEndian: UInt32(truncatingIfNeeded: inflatedSize))
        bytes = bits.bytes
    }

    /// The bytes that one zero byte of the body inflates to: four copies of 258 bytes.
    private static let runLength = 4 * 258

    /// The codes of the block. Literals: 0 has "10", the end (256) has "11", length 258 (285) has "0"; the only distance
    /// has "0". The lengths of these codes are themselves sent in a code: "0" repeats zero 11 to 138 times (18), "10" is
    /// the length 1 and "11" the length 2.
    private static func writeBlockHeader(to bits: inout BitWriter) {
        bits.append(1, width: 1)  // the last block
        bits.append(2, width: 2)  // with codes of its own
        bits.append(286 - 257, width: 5)
        bits.append(1 - 1, width: 5)
        bits.append(18 - 4, width: 4)
        for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
            bits.append(symbol == 18 ? 1 : symbol == 1 || symbol == 2 ? 2 : 0, width: 3)
        }
        bits.append(code: "11")  // 0
        for absent in [138, 117, 0, 28] {  // 1 to 255, then 256, then 257 to 284
            if absent == 0 {
                bits.append(code: "11")
            } else {
                bits.append(code: "0")
                bits.append(absent - 11, width: 7)
            }
        }
        bits.append(code: "10")  // 285
        bits.append(code: "10")  // the distance
    }
}

/// Packs bits into bytes, lowest bit first, as deflate requires.
private struct BitWriter {
    private(set) var bytes: [UInt8] = []
    /// The used bits of the last byte; 8 when it is full.
    private var taken = 8

    mutating func append(_ value: Int, width: Int) {
        for bit in 0..<width { append(bit: UInt8(value >> bit & 1)) }
    }

    /// Appends a Huffman code, written from its first bit to its last.
    mutating func append(code: StaticString) {
        code.withUTF8Buffer { for digit in $0 { append(bit: digit & 1) } }
    }

    mutating func append(zeroBits count: Int) {
        // Whole bytes of zeros keep the alignment: the unused bits of the last byte are zero already.
        bytes.append(contentsOf: repeatElement(0, count: count / 8))
        for _ in 0..<count % 8 { append(bit: 0) }
    }

    mutating func append(bytes more: [UInt8]) { bytes.append(contentsOf: more) }

    mutating func append(littleEndian number: UInt32) {
        for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func align() { taken = 8 }

    private mutating func append(bit: UInt8) {
        if taken == 8 {
            bytes.append(0)
            taken = 0
        }
        bytes[bytes.count - 1] |= bit << UInt8(taken)
        taken += 1
    }
}

/// The checksum of gzip, for runs of zeros.
private enum CRC32 {
    /// A zero byte multiplies the register by x⁸ modulo the polynomial, so many of them are a power of it: a hundred
    /// megabytes take 27 squarings instead of a hundred million steps.
    static func ofZeros(_ count: Int) -> UInt32 {
        ~multiply(0xFFFF_FFFF, power(of: 0x0080_0000, count))
    }

    private static func power(of base: UInt32, _ exponent: Int) -> UInt32 {
        var result: UInt32 = 0x8000_0000  // 1: bits are reversed, the highest is x⁰
        var square = base
        var left = exponent
        while left > 0 {
            if left & 1 == 1 { result = multiply(result, square) }
            square = multiply(square, square)
            left >>= 1
        }
        return result
    }

    /// The product modulo the polynomial 0x04C11DB7, with reversed bits.
    private static func multiply(_ left: UInt32, _ right: UInt32) -> UInt32 {
        var product: UInt32 = 0
        var term = right
        for bit in (0..<UInt32.bitWidth).reversed() {
            if left >> bit & 1 == 1 { product ^= term }
            term = term >> 1 ^ (term & 1 == 1 ? 0xEDB8_8320 : 0)
        }
        return product
    }
}
