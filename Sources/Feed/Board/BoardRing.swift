/// A bounded queue: it appends at its end, and once it is full, drops the oldest element for each new one.
///
/// Its memory doubles as it fills, up to the bound, and never shrinks. Several rings may share a room: then one grows only
/// while there is room, and else drops its own oldest element.
package struct BoardRing<Element> {
    /// The most elements.
    package let capacity: Int
    package private(set) var count = 0

    /// Circular; nil for a free slot.
    private var slots: [Element?] = []
    private var head = 0

    /// Creates a ring for `capacity` elements, at least 1.
    package init(capacity: Int) {
        precondition(capacity > 0, "a ring without room holds nothing")
        self.capacity = capacity
    }

    /// Adds an element, and returns the oldest one if it was dropped to make room.
    @discardableResult
    package mutating func append(_ element: Element) -> Element? {
        var room = Int.max
        return append(element, sharing: &room)
    }

    /// The same for rings that share a room.
    ///
    /// - Parameter room: how many elements all of them may still grow by; the first four of a ring are always there.
    @discardableResult
    package mutating func append(_ element: Element, sharing room: inout Int) -> Element? {
        var oldest: Element?
        if count == slots.count {
            let size = Swift.min(Swift.max(4, slots.count * 2), capacity)
            if size > slots.count, slots.isEmpty || size - slots.count <= room {
                room -= size - slots.count
                resize(to: size)
            } else {
                oldest = removeFirst()
            }
        }
        slots[slotIndex(at: count)] = element
        count += 1
        return oldest
    }

    /// Removes and returns the oldest element; nil when there is none.
    @discardableResult
    package mutating func removeFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head]
        slots[head] = nil
        head = slotIndex(at: 1)
        count -= 1
        return element
    }

    /// Removes the oldest elements as long as they meet a condition.
    mutating func removeFirst(while isOver: (Element) -> Bool) {
        while let first, isOver(first) { removeFirst() }
    }

    private func slotIndex(at offset: Int) -> Int {
        let index = head + offset
        return index < slots.count ? index : index - slots.count
    }

    private mutating func resize(to size: Int) {
        var resized: [Element?] = []
        resized.reserveCapacity(size)
        for element in self { resized.append(element) }
        resized.append(contentsOf: repeatElement(nil, count: size - resized.count))
        slots = resized
        head = 0
    }
}

extension BoardRing: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// The element at `position`; 0 is the oldest.
    package subscript(position: Int) -> Element {
        precondition(position >= 0 && position < count, "outside the ring")
        // The `count` slots from the head all hold an element.
        return slots[slotIndex(at: position)]!
    }
}

extension BoardRing: Sendable where Element: Sendable {}

extension BoardRing: Equatable where Element: Equatable {
    package static func == (left: BoardRing, right: BoardRing) -> Bool { left.elementsEqual(right) }
}
