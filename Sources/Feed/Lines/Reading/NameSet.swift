/// A set of names to filter lines by, looked up by the bytes of the name in a line. The cost of a look-up does not grow
/// with the number of names, even if an attacker chose them.
struct NameSet: Sendable, Equatable {
    /// All names as JSON with their quotes, concatenated (`"fact""aqi"`) to save memory: many readers may have many
    /// each.
    private let names: [UInt8]
    /// The offset of each name's start, and of the last one's end.
    private let starts: [Int32]
    /// Indices of names, -1 in a free slot. The count is a power of two and at most half are in use, so that a search
    /// always ends.
    private let slots: [Int32]
    private let hash: KeyHash

    init(_ texts: [String]) {
        var random = SystemRandomNumberGenerator()
        let hash = KeyHash(seed: (random.next(), random.next()))
        var names: [UInt8] = []
        var starts: [Int32] = [0]
        var count = 2
        while count < texts.count * 2 { count *= 2 }
        var slots = [Int32](repeating: -1, count: count)
        for (index, text) in texts.enumerated() {
            let name = LineWriter.quoted(text)
            var slot = name.withUnsafeBytes { Self.first($0, hash, count) }
            while slots[slot] >= 0 { slot = (slot + 1) & (count - 1) }
            slots[slot] = Int32(index)
            names += name
            starts.append(Int32(clamping: names.count))
        }
        (self.names, self.starts, self.slots, self.hash) = (names, starts, slots, hash)
    }

    /// The number of bytes that its names take.
    var bytes: Int { names.count }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool { search(for: name).isFound }

    /// Whether the set has a name, and the number of slots examined, for tests.
    @inline(__always)
    func search(for name: UnsafeRawBufferPointer) -> (isFound: Bool, steps: Int) {
        var slot = Self.first(name, hash, slots.count)
        var steps = 1
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            let place = Int(starts[index])..<Int(starts[index + 1])
            if place.count == name.count,
                names.withUnsafeBytes({ KeyHash.areEqual(UnsafeRawBufferPointer(rebasing: $0[place]), name) })
            {
                return (true, steps)
            }
            slot = (slot + 1) & (slots.count - 1)
            steps += 1
        }
        return (false, steps)
    }

    static func == (left: NameSet, right: NameSet) -> Bool { left.names == right.names && left.starts == right.starts }

    private static func first(_ name: UnsafeRawBufferPointer, _ hash: KeyHash, _ count: Int) -> Int {
        Int(truncatingIfNeeded: hash(name, source: 0)) & (count - 1)
    }
}
