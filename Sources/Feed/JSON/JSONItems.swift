/// Goes through the elements of an array or the members of an object without holding more than its place.
package struct JSONItems {
    /// One element or member; the ranges are into the document's minified bytes.
    package struct Item: Sendable, Equatable {
        /// Its position, from 1.
        package var position: Int
        /// What is between the quotes of a member's name; nil for an element.
        package var name: Range<Int>?
        package var value: Range<Int>
        /// What not every reader of a line with that name would take.
        package var nameFlaws: JSONFlaws
    }

    /// An array's elements or an object's members.
    package let kind: JSONKind
    private var place: Int
    private var count = 0

    /// The items of the array or object that begins at `place` of a valid document; nil when something else does.
    package init?(of document: UnsafeBufferPointer<UInt8>, at place: Int) {
        kind = JSONKind(firstByte: document[place])
        guard kind == .array || kind == .object else { return nil }
        self.place = place + 1
    }

    /// Whether there is an item behind the one that `next` gave last.
    package func hasMore(in document: UnsafeBufferPointer<UInt8>) -> Bool {
        // In bounds: behind an item of a valid document comes another one, or the bracket.
        document[place] == UInt8(ascii: ",")
    }

    /// The next item, with what `selection` finds in it: places in the item; nil behind the last one.
    ///
    /// - Parameter document: the same every time.
    package mutating func next(
        in document: UnsafeBufferPointer<UInt8>, _ selection: JSONSelection? = nil, _ found: JSONSelection.Found? = nil
    ) -> Item? {
        var scanner = JSONScanner(document, at: place, inObject: kind == .object)
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
            place = scanner.position
            return Item(position: count, name: name, value: start..<place, nameFlaws: nameFlaws)
        } catch {
            // Not where the document is valid.
            return nil
        }
    }
}
