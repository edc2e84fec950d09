internal import Feed

/// The text of a configuration, and where in it an offset is.
package struct ConfigText: Sendable {
    /// The most a configuration may hold, in bytes.
    package static let limit = 1 << 20

    /// What errors call it: the file's path.
    package let name: String
    let bytes: [UInt8]
    /// The offset of every line's first byte.
    private let lineStarts: [Int]
    /// How many code points begin before every block of `block` bytes: a place is asked for at every key, and all of
    /// them may stand in one line.
    private let blocks: [Int]
    private static let block = 256

    package init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        var starts = [0]
        var blocks: [Int] = []
        var count = 0
        for offset in 0..<bytes.count {
            if offset % Self.block == 0 { blocks.append(count) }
            if bytes[offset] == 0x0A { starts.append(offset + 1) }
            if bytes[offset] & 0xC0 != 0x80 { count += 1 }
        }
        lineStarts = starts
        self.blocks = blocks
    }

    /// Line and column of an offset, from 1; columns are code points, as editors count them.
    package func place(of offset: Int) -> (line: Int, column: Int) {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, codePoints(before: offset) - codePoints(before: lineStarts[low]) + 1)
    }

    private func codePoints(before offset: Int) -> Int {
        let offset = min(offset, bytes.count)
        guard let last = blocks.indices.last else { return 0 }
        let block = min(offset / Self.block, last)
        return blocks[block] + bytes[block * Self.block..<offset].count { $0 & 0xC0 != 0x80 }
    }

    /// The first byte that is no UTF-8; nil when all of it is.
    func firstInvalidByte() -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error, .emptyInput: return offset
            }
        }
    }
}
