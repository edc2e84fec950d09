/// Names that lines are chosen by, to be looked up by the bytes that a line has for them: what that costs does not grow with
/// how many there are, whoever chose them.
struct NameSet: Sendable, Equatable {
    /// `"fact""aqi"`: as JSON, quotes included, one behind the other: many readers may each have many.
    private let names: [UInt8]
    /// Where each of them begins, and the last one ends.
    private let starts: [Int32]
    /// Numbers of names, -1 in a free slot: a power of two of them, at most half in use, so that a search always ends.
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

    /// How many bytes its names take.
    var bytes: Int { names.count }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool { search(for: name).isFound }

    /// Whether it has a name, and how many places were looked at, for tests of that.
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
