/// The number of columns of a code point on a terminal, by Unicode's data.
///
/// Two levels, built once from `runs`: an index by blocks of 256 code points, and for each distinct block two bits per
/// code point. About 10 KB.
package enum WidthTable {
    /// The width of a code point.
    package enum Class: UInt8, Sendable {
        /// No column of its own: it combines with the character before it.
        case none
        case one
        case two
        /// One column by Unicode, but terminals differ.
        case uncertain
    }

    /// The class of a code point that is not a control character.
    package static func `class`(of scalar: Unicode.Scalar) -> Class {
        let value = Int(scalar.value)
        if value < 0x300 { return .one }
        let block = Int(tables.index[value >> 8])
        let byte = tables.blocks[block << 6 | (value & 0xFF) >> 2]
        // Two bits have four values, and there are four classes.
        return Class(rawValue: byte >> UInt8((value & 3) << 1) & 3)!
    }

    private struct Tables: Sendable {
        var index: [UInt8] = []
        var blocks: [UInt8] = []
    }

    private static let tables = makeTables()

    private static func makeTables() -> Tables {
        var tables = Tables()
        var known: [[UInt8]: UInt8] = [:]
        var run = 0
        for block in 0..<0x1100 {
            let first = UInt32(block) << 8
            while run + 1 < runs.count, runs[run + 1] >> 2 <= first { run += 1 }
            var bytes = [UInt8](repeating: UInt8(runs[run] & 3) * 0x55, count: 64)
            while run + 1 < runs.count, runs[run + 1] >> 2 < first + 256 {
                run += 1
                for place in Int(runs[run] >> 2 - first)..<256 {
                    let shift = UInt8((place & 3) << 1)
                    bytes[place >> 2] = bytes[place >> 2] & ~(3 << shift) | UInt8(runs[run] & 3) << shift
                }
            }
            if let number = known[bytes] {
                tables.index.append(number)
            } else {
                // There are far fewer than 256 distinct blocks: a test counts them.
                let number = UInt8(known.count)
                known[bytes] = number
                tables.index.append(number)
                tables.blocks += bytes
            }
        }
        return tables
    }

    /// The number of distinct blocks.
    static var blockCount: Int { tables.blocks.count / 64 }
}
