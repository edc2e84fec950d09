/// Iterates over the elements of an array or the members of an object, and stores only its position.
package struct JSONItems {
    /// One element or member; the ranges are into the document's minified bytes.
    package struct Item: Sendable, Equatable {
        /// The item's position, from 1.
        package var position: Int
        /// The range between the quotes of a member's name; nil for an element.
        package var name: Range<Int>?
        package var value: Range<Int>
        /// Flaws in the name, which some readers of a line would not accept.
        package var nameFlaws: JSONFlaws
    }

    /// Whether these are an array's elements or an object's members.
    package let kind: JSONKind
    private var offset: Int
    private var count = 0

    /// Starts at the array or object at `offset` in a valid document; nil if something else begins there.
    package init?(of document: UnsafeBufferPointer<UInt8>, at offset: Int) {
        kind = JSONKind(firstByte: document[offset])
        guard kind == .array || kind == .object else { return nil }
        self.offset = offset + 1
    }

    /// Whether another item follows the one that `next` returned last.
    package func hasMore(in document: UnsafeBufferPointer<UInt8>) -> Bool {
        // In bounds: an item of a valid document is followed by another one, or by the bracket.
        document[offset] == UInt8(ascii: ",")
    }

    /// Returns the next item, with the values that `selection` finds in it (ranges within the item); nil after the last
    /// one.
    ///
    /// - Parameter document: the same document every time.
    package mutating func next(
        in document: UnsafeBufferPointer<UInt8>, _ selection: JSONSelection? = nil, _ found: JSONSelection.Found? = nil
    ) -> Item? {
        var scanner = JSONScanner(document, at: offset, inObject: kind == .object)
        do throws(JSONFault) {
            guard try scanner.step(isFirst: count == 0) else { return nil }
            let start = scanner.position
            let name = kind == .object ? scanner.nameRange : nil
            let nameFlaws = scanner.flaws
            scanner.flaws = []
            if let selection, let found {
                scanner.setOrigin()
                try selection.value(of: &scanner, found)
            } else {
                try scanner.value()
            }
            count += 1
            offset = scanner.position
            return Item(position: count, name: name, value: start..<offset, nameFlaws: nameFlaws)
        } catch {
            // Impossible in a valid document.
            return nil
        }
    }
}
