extension JSONPointer {
    /// Returns pointers to the first numbers of a document, in its order; skips those that a double cannot hold.
    ///
    /// - Parameters:
    ///   - document: valid JSON.
    ///   - isLenient: whether strings that contain a number count, see `JSONNumber.lenient`.
    ///   - most: the most pointers to return.
    ///   - limit: the number of bytes of the document to search.
    package static func numbers(
        in document: UnsafeBufferPointer<UInt8>, isLenient: Bool = false, atMost most: Int, within limit: Int = .max
    ) -> [JSONPointer] {
        var walk = NumberWalk(document: document, end: min(document.count, limit), isLenient: isLenient)
        var pointers: [JSONPointer] = []
        while pointers.count < most, let pointer = walk.next() { pointers.append(pointer) }
        return pointers
    }

    /// Walks through a document, from one number to the next.
    private struct NumberWalk {
        private enum Step {
            /// The range between the quotes of a key.
            case key(Range<Int>)
            case index(Int)
        }

        let document: UnsafeBufferPointer<UInt8>
        let end: Int
        let isLenient: Bool
        private var place = 0
        private var path: [Step] = []
        /// Whether the next string is a key.
        private var isAtKey = false

        init(document: UnsafeBufferPointer<UInt8>, end: Int, isLenient: Bool) {
            self.document = document
            self.end = end
            self.isLenient = isLenient
        }

        mutating func next() -> JSONPointer? {
            while place < end {
                let start = place
                place += 1
                switch document[start] {
                case UInt8(ascii: "{"):
                    path.append(.key(0..<0))
                    isAtKey = true
                case UInt8(ascii: "["): path.append(.index(0))
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    path.removeLast()
                    isAtKey = false
                case UInt8(ascii: ","):
                    if case .index(let index) = path[path.count - 1] {
                        path[path.count - 1] = .index(index + 1)
                    } else {
                        isAtKey = true
                    }
                case UInt8(ascii: "\""):
                    let body = string()
                    if isAtKey {
                        path[path.count - 1] = .key(body)
                        isAtKey = false
                    } else if isLenient, JSONNumber.lenient(UnsafeBufferPointer(rebasing: document[body])) != nil {
                        return pointer()
                    }
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    while place < document.count, Self.isOfNumber(document[place]) { place += 1 }
                    if JSONNumber.double(UnsafeBufferPointer(rebasing: document[start..<place])) != nil {
                        return pointer()
                    }
                default: break
                }
            }
            return nil
        }

        /// Moves past a string from just after its first quote, and returns the range between the quotes.
        private mutating func string() -> Range<Int> {
            let start = place
            while document[place] != UInt8(ascii: "\"") { place += document[place] == UInt8(ascii: "\\") ? 2 : 1 }
            place += 1
            return start..<place - 1
        }

        private static func isOfNumber(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"),
                UInt8(ascii: "+"), UInt8(ascii: "-"):
                true
            default: false
            }
        }

        private func pointer() -> JSONPointer {
            JSONPointer(
                tokens: path.map { step in
                    switch step {
                    case .key(let range): JSONText.unescape(Bytes(UnsafeBufferPointer(rebasing: document[range])))
                    case .index(let index): Bytes("\(index)".utf8)
                    }
                })
        }
    }
}
