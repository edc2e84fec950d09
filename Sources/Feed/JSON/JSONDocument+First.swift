/// What a document offers where nobody has said where to look.
extension JSONDocument {
    /// The first number in the document's order that a double can hold; nil when there is none.
    package var firstNumber: Double? { firstNumber(isLenient: false) }

    /// The same; `isLenient` counts strings that are values and hold a number, see `JSONNumber.lenient`.
    package func firstNumber(isLenient: Bool) -> Double? {
        storage.withUnsafeBufferPointer { storage in
            var cursor = JSONCursor(UnsafeBufferPointer(rebasing: storage[range]))
            while let byte = cursor.byte {
                switch byte {
                case UInt8(ascii: "\""):
                    let body = cursor.string()
                    // Minified, so that a key's colon follows at once.
                    guard isLenient, cursor.byte != UInt8(ascii: ":") else { continue }
                    if let number = JSONNumber.lenient(UnsafeBufferPointer(rebasing: cursor.bytes[body])) {
                        return number
                    }
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    let start = cursor.position
                    cursor.scalar()
                    let token = UnsafeBufferPointer(rebasing: cursor.bytes[start..<cursor.position])
                    if let number = JSONNumber.double(token) { return number }
                default: cursor.position += 1
                }
            }
            return nil
        }
    }

    /// The text of the first string in the document's order that is a value and not a key; nil when there is none.
    package var firstString: Bytes? {
        let body: Range<Int>? = storage.withUnsafeBufferPointer { storage in
            var cursor = JSONCursor(UnsafeBufferPointer(rebasing: storage[range]))
            while let byte = cursor.byte {
                guard byte == UInt8(ascii: "\"") else {
                    cursor.position += 1
                    continue
                }
                let body = cursor.string()
                // Minified, so that a key's colon follows at once.
                if cursor.byte != UInt8(ascii: ":") { return body }
            }
            return nil
        }
        return body.map {
            JSONText.unescape(storage[range.lowerBound + $0.lowerBound..<range.lowerBound + $0.upperBound])
        }
    }
}
