internal import Feed

/// The text of a configuration; converts offsets to lines and columns.
package struct ConfigText: Sendable {
    /// The largest configuration, in bytes.
    package static let limit = 1 << 20

    /// The file's path, as errors show it.
    package let name: String
    let bytes: [UInt8]
    /// The offset of every line's first byte.
    private let lineStarts: [Int]
    /// The number of code points before each block of `block` bytes. Every key needs its column, and all keys may be in
    /// one line.
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

    /// The offset of the first byte that is not valid UTF-8; nil when all are.
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
