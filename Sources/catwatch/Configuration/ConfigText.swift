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

    package init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        var starts = [0]
        for (offset, byte) in bytes.enumerated() where byte == 0x0A { starts.append(offset + 1) }
        lineStarts = starts
    }

    /// Line and column of an offset, from 1; columns are code points, as editors count them.
    package func place(of offset: Int) -> (line: Int, column: Int) {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        let start = lineStarts[low]
        let column = bytes[start..<max(start, min(offset, bytes.count))].count { $0 & 0xC0 != 0x80 }
        return (low + 1, column + 1)
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
