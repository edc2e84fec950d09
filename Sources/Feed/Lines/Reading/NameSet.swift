/// Names that lines are chosen by, to be looked up by the bytes that a line has for them: what that costs does not grow with
/// how many there are, whoever chose them.
struct NameSet: Sendable, Equatable {
    /// `"fact"`: as JSON, quotes included.
    private let names: [[UInt8]]
    /// Indices of `names`, -1 in a free slot: a power of two of them, at most half in use, so that a search always ends.
    private let slots: [Int32]
    private let hash: KeyHash

    init(_ texts: [String]) {
        var random = SystemRandomNumberGenerator()
        let hash = KeyHash(seed: (random.next(), random.next()))
        let names = texts.map(LineWriter.quoted)
        var count = 2
        while count < names.count * 2 { count *= 2 }
        var slots = [Int32](repeating: -1, count: count)
        for (index, name) in names.enumerated() {
            var slot = name.withUnsafeBytes { Self.first($0, hash, count) }
            while slots[slot] >= 0 { slot = (slot + 1) & (count - 1) }
            slots[slot] = Int32(index)
        }
        (self.names, self.slots, self.hash) = (names, slots, hash)
    }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool { search(for: name).isFound }

    /// Whether it has a name, and how many places were looked at, for tests of that.
    @inline(__always)
    func search(for name: UnsafeRawBufferPointer) -> (isFound: Bool, steps: Int) {
        var slot = Self.first(name, hash, slots.count)
        var steps = 1
        while slots[slot] >= 0 {
            let other = names[Int(slots[slot])]
            if other.count == name.count, other.withUnsafeBytes({ KeyHash.areEqual($0, name) }) { return (true, steps) }
            slot = (slot + 1) & (slots.count - 1)
            steps += 1
        }
        return (false, steps)
    }

    static func == (left: NameSet, right: NameSet) -> Bool { left.names == right.names }

    private static func first(_ name: UnsafeRawBufferPointer, _ hash: KeyHash, _ count: Int) -> Int {
        Int(truncatingIfNeeded: hash(name, source: 0)) & (count - 1)
    }
}
