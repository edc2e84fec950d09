/// Goes through the elements of an array or the members of an object without holding more than its place.
package struct JSONItems {
    /// One element or member; the ranges are into the document's minified bytes.
    package struct Item: Sendable, Equatable {
        /// Its position, from 1.
        package var position: Int
        /// What is between the quotes of a member's name; nil for an element.
        package var name: Range<Int>?
        package var value: Range<Int>
    }

    /// An array's elements or an object's members.
    package let kind: JSONKind
    private var place: Int
    private var count = 0

    /// The items of the array or object where `pointer` leads in `document`.
    ///
    /// - Throws: `.pointer` when nothing is there, or something else.
    package init(of document: JSONDocument, at pointer: JSONPointer) throws(Failure) {
        var value = Lookup(place: 0)
        document.withUnsafeBytes { value.follow(pointer, in: $0) }
        guard let place = value.place else {
            throw Failure(
                .pointer, pointer.missing(resolved: value.resolved, kind: value.kind, elements: value.elements))
        }
        guard value.kind == .array || value.kind == .object else {
            let name = pointer.place(pointer.steps.count)
            throw Failure(.pointer, "\(name) is \(value.kind) and neither an array nor an object")
        }
        kind = value.kind
        self.place = place + 1
    }

    /// The next item; nil behind the last one. `document` is the same every time.
    package mutating func next(in document: UnsafeBufferPointer<UInt8>) -> Item? {
        var cursor = JSONCursor(document, at: place)
        if count > 0, !cursor.take(UInt8(ascii: ",")) { return nil }
        var name: Range<Int>?
        if kind == .object {
            guard cursor.byte == UInt8(ascii: "\"") else { return nil }
            name = cursor.string()
            _ = cursor.take(UInt8(ascii: ":"))
        } else if cursor.byte == UInt8(ascii: "]") || cursor.byte == nil {
            return nil
        }
        let value = cursor.value()
        place = cursor.position
        count += 1
        return Item(position: count, name: name, value: value)
    }

    /// How far a pointer leads, and what is there.
    private struct Lookup {
        /// Where the value starts; nil when the pointer leads nowhere.
        var place: Int?
        var resolved = 0
        var kind = JSONKind.null
        var elements = 0

        mutating func follow(_ pointer: JSONPointer, in document: UnsafeBufferPointer<UInt8>) {
            var cursor = JSONCursor(document)
            kind = JSONKind(firstByte: cursor.byte)
            for step in pointer.steps {
                let isFound =
                    switch kind {
                    case .object: member(pointer.bytes[step.offset..<step.offset + step.length], &cursor)
                    case .array: element(step.index, &cursor)
                    default: false
                    }
                guard isFound else {
                    place = nil
                    return
                }
                resolved += 1
                kind = JSONKind(firstByte: cursor.byte)
            }
            place = cursor.position
        }

        private func member(_ name: ArraySlice<UInt8>, _ cursor: inout JSONCursor) -> Bool {
            cursor.position += 1
            while cursor.byte == UInt8(ascii: "\"") {
                let key = Bytes(UnsafeBufferPointer(rebasing: cursor.bytes[cursor.string()]))
                _ = cursor.take(UInt8(ascii: ":"))
                if JSONText.unescape(key) == name { return true }
                _ = cursor.value()
                guard cursor.take(UInt8(ascii: ",")) else { break }
            }
            return false
        }

        private mutating func element(_ index: Int?, _ cursor: inout JSONCursor) -> Bool {
            cursor.position += 1
            elements = 0
            while let byte = cursor.byte, byte != UInt8(ascii: "]") {
                if elements == index { return true }
                _ = cursor.value()
                elements += 1
                guard cursor.take(UInt8(ascii: ",")) else { break }
            }
            return false
        }
    }
}
