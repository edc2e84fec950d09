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
    struct Place: Sendable, Equatable {
        var line = 1
        var column = 1
    }

    /// Finds the places of offsets that ascend.
    struct Cursor {
        private let bytes: [UInt8]
        private var offset = 0
        private var place = Place()

        init(in text: ConfigText) { bytes = text.bytes }

        mutating func place(of next: Int) -> Place {
            while offset < min(next, bytes.count) {
                if bytes[offset] == 0x0A {
                    place = Place(line: place.line + 1)
                } else if bytes[offset] & 0xC0 != 0x80 {
                    place.column += 1
                }
                offset += 1
            }
            return place
        }
    }

    func place(of offset: Int) -> Place {
        var cursor = Cursor(in: self)
        return cursor.place(of: offset)
    }

    /// The offset of the first byte that is not valid UTF-8; nil when all are.
    func firstInvalidByte() -> Int? {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }
}
