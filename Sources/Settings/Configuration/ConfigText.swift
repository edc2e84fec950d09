internal import Feed

/// The text of a configuration.
package struct ConfigText: Sendable {
    /// The largest configuration, in bytes.
    package static let limit = 1 << 20

    /// The file's path, as errors show it.
    package let name: String
    let bytes: [UInt8]

    package init(name: String, bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }

    /// A line and a column, from 1; columns are code points, as editors count them.
    struct Position: Sendable, Equatable {
        var line = 1
        var column = 1
    }

    /// Finds the positions of offsets that ascend.
    struct Cursor {
        private let bytes: [UInt8]
        private var offset = 0
        private var position = Position()

        init(in text: ConfigText) { bytes = text.bytes }

        mutating func position(of next: Int) -> Position {
            while offset < min(next, bytes.count) {
                if bytes[offset] == 0x0A {
                    position = Position(line: position.line + 1)
                } else if bytes[offset] & 0xC0 != 0x80 {
                    position.column += 1
                }
                offset += 1
            }
            return position
        }
    }

    func position(of offset: Int) -> Position {
        var cursor = Cursor(in: self)
        return cursor.position(of: offset)
    }
}
