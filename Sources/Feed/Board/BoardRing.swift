/// A bounded queue: elements enter at its end, and once it is full the oldest makes room for each.
///
/// Its memory doubles as it fills, up to the bound, so that an empty one costs nothing.
package struct BoardRing<Element> {
    /// How many elements there are at the most.
    package let capacity: Int
    package private(set) var count = 0

    /// Circular; nil where there is no element.
    private var slots: [Element?] = []
    private var head = 0

    /// A ring for `capacity` elements, at least 1.
    package init(capacity: Int) {
        precondition(capacity > 0, "a ring without room holds nothing")
        self.capacity = capacity
    }

    /// Adds an element, and returns the oldest one if that had to go for it.
    @discardableResult
    package mutating func append(_ element: Element) -> Element? {
        let oldest = count == capacity ? removeFirst() : nil
        if count == slots.count { grow() }
        slots[place(count)] = element
        count += 1
        return oldest
    }

    /// Takes the oldest element out; nil when there is none.
    @discardableResult
    package mutating func removeFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head]
        slots[head] = nil
        head = place(1)
        count -= 1
        return element
    }

    private func place(_ offset: Int) -> Int {
        let place = head + offset
        return place < slots.count ? place : place - slots.count
    }

    private mutating func grow() {
        var larger: [Element?] = []
        let size = Swift.min(Swift.max(4, slots.count * 2), capacity)
        larger.reserveCapacity(size)
        for element in self { larger.append(element) }
        larger.append(contentsOf: repeatElement(nil, count: size - larger.count))
        slots = larger
        head = 0
    }
}

extension BoardRing: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// The element at `position`, 0 being the oldest.
    package subscript(position: Int) -> Element {
        precondition(position >= 0 && position < count, "outside the ring")
        // Places from the head on for `count` places hold an element.
        return slots[place(position)]!
    }
}

extension BoardRing: Sendable where Element: Sendable {}

extension BoardRing: Equatable where Element: Equatable {
    package static func == (left: BoardRing, right: BoardRing) -> Bool { left.elementsEqual(right) }
}
