/// Assigns indices from 0 to the series of a store, by source and key. Indices of removed series are reused first, so
/// that they stay dense.
///
/// It looks up a source's own series (no key) directly by the source's index; one with a key in a hash table with open
/// addressing. Keys come from upstream and may be chosen to collide, so the hash has a random seed. It never holds more
/// than `limit` series; any further one gets no index, and counts in `refused`.
package struct SeriesTable: Sendable {
    // Bound: key of a series | 1,024 bytes | the event flows without windows, its series' name is cut; counted in
    //   `refused_series`
    /// The longest key accepted, in bytes.
    package static let longestKey = 1_024

    /// The most series.
    package let limit: Int
    /// The number of times that a series could not be added.
    package private(set) var refused = 0

    private struct Entry {
        /// Negative for a removed series.
        var source: Int
        /// The key's offset in `keys`; negative for a source's own series, which has none.
        var offset: Int
        var length: Int
        var hash: UInt64
    }

    private struct Slot {
        /// The upper half of the hash, so that most other keys need no comparison.
        var tag: UInt32
        /// An index in `entries`; -1 in a free slot.
        var index: Int32
    }

    private var entries: [Entry] = []
    /// The unused indices of `entries`.
    private var free: [Int] = []
    private var keys: [UInt8] = []
    /// By source: its own series, or -1.
    private var own: [Int32] = []
    /// The count is a power of two and at most half are in use, so that a search always ends at a free one.
    private var slots = [Slot](repeating: Slot(tag: 0, index: -1), count: 16)
    private var keyed = 0
    private let hash: KeyHash

    /// Creates a table of at most `limit` series (0 to 2^30).
    package init(limit: Int = 10_000) {
        var random = SystemRandomNumberGenerator()
        self.init(limit: limit, seed: (random.next(), random.next()))
    }

    /// Creates a table whose hash has a known seed, for tests.
    package init(limit: Int, seed: (UInt64, UInt64)) {
        precondition((0...(1 << 30)).contains(limit), "a slot's index has 31 bits")
        self.limit = limit
        hash = KeyHash(seed: seed)
    }

    /// The number of series.
    package var count: Int { entries.count - free.count }

    /// The key of series `index`, which must exist; nil for a source's own series.
    package func key(of index: Int) -> Bytes? {
        let entry = entries[index]
        return entry.offset < 0 ? nil : keys[entry.offset..<entry.offset + entry.length]
    }

    /// Returns the series' index, added if it is new; nil when it cannot be added, which is counted.
    ///
    /// Sources are dense: memory grows with the greatest source index that has a series.
    package mutating func index(source: SourceID, key: Bytes?) -> Int? {
        guard let key else {
            if source.index < own.count, own[source.index] >= 0 { return Int(own[source.index]) }
            return addOwn(source.index)
        }
        return key.withUnsafeBytes { index(source: source, keyBytes: $0) }
    }

    /// The same for a key in borrowed memory; it is copied if it is new.
    package mutating func index(source: SourceID, keyBytes key: UnsafeRawBufferPointer) -> Int? {
        guard key.count <= Self.longestKey else { return refuse() }
        let hash = hash(key, source: source.index)
        let slot = slot(of: key, source: source.index, hash: hash)
        if slots[slot].index >= 0 { return Int(slots[slot].index) }
        return add(key, source: source.index, hash: hash, slot: slot)
    }

    /// Returns the index of the series with a key in borrowed memory, nil for a source's own series; nil when there is
    /// none. Changes and counts nothing.
    func find(source: SourceID, keyBytes key: UnsafeRawBufferPointer?) -> Int? {
        guard let key else {
            guard source.index < own.count, own[source.index] >= 0 else { return nil }
            return Int(own[source.index])
        }
        guard key.count <= Self.longestKey else { return nil }
        let slot = slot(of: key, source: source.index, hash: hash(key, source: source.index))
        return slots[slot].index >= 0 ? Int(slots[slot].index) : nil
    }

    /// The slot that holds the series, or the free one where it belongs.
    @inline(__always)
    private func slot(of key: UnsafeRawBufferPointer, source: Int, hash: UInt64) -> Int {
        let mask = slots.count - 1
        let tag = UInt32(truncatingIfNeeded: hash >> 32)
        var place = Int(truncatingIfNeeded: hash) & mask
        while slots[place].index >= 0 {
            if slots[place].tag == tag, isEntry(Int(slots[place].index), key, source) { break }
            place = (place + 1) & mask
        }
        return place
    }

    @inline(__always)
    private func isEntry(_ index: Int, _ key: UnsafeRawBufferPointer, _ source: Int) -> Bool {
        let entry = entries[index]
        guard entry.source == source, entry.length == key.count else { return false }
        return keys.withUnsafeBytes { keys in
            // In bounds: `add` appended exactly `length` bytes at `offset`, and `remove` moves them together.
            KeyHash.areEqual(UnsafeRawBufferPointer(rebasing: keys[entry.offset..<entry.offset + entry.length]), key)
        }
    }

    @inline(never)
    private mutating func addOwn(_ source: Int) -> Int? {
        guard count < limit else { return refuse() }
        if source >= own.count { own.append(contentsOf: repeatElement(-1, count: source - own.count + 1)) }
        let index = add(Entry(source: source, offset: -1, length: 0, hash: 0))
        own[source] = Int32(index)
        return index
    }

    @inline(never)
    private mutating func add(_ key: UnsafeRawBufferPointer, source: Int, hash: UInt64, slot: Int) -> Int? {
        guard count < limit else { return refuse() }
        let index = add(Entry(source: source, offset: keys.count, length: key.count, hash: hash))
        slots[slot] = Slot(tag: UInt32(truncatingIfNeeded: hash >> 32), index: Int32(index))
        keys.append(contentsOf: key)
        keyed += 1
        if keyed * 2 > slots.count { fill(slots.count * 2) }
        return index
    }

    private mutating func add(_ entry: Entry) -> Int {
        guard let index = free.popLast() else {
            entries.append(entry)
            return entries.count - 1
        }
        entries[index] = entry
        return index
    }

    /// Removes the series of some sources; takes time linear in the number of all series.
    package mutating func remove(where isGone: (SourceID) -> Bool) {
        let before = free.count
        for (index, entry) in entries.enumerated() where entry.source >= 0 && isGone(SourceID(index: entry.source)) {
            if entry.offset < 0 { own[entry.source] = -1 } else { keyed -= 1 }
            entries[index] = Entry(source: -1, offset: -1, length: 0, hash: 0)
            free.append(index)
        }
        guard free.count > before else { return }
        var kept: [UInt8] = []
        for (index, entry) in entries.enumerated() where entry.offset >= 0 {
            entries[index].offset = kept.count
            kept += keys[entry.offset..<entry.offset + entry.length]
        }
        keys = kept
        fill(slots.count)
    }

    /// Counts a series that could not be added.
    mutating func refuse() -> Int? {
        refused &+= 1
        return nil
    }

    /// Puts all keys into `count` new slots.
    private mutating func fill(_ count: Int) {
        slots = [Slot](repeating: Slot(tag: 0, index: -1), count: count)
        let mask = count - 1
        for (index, entry) in entries.enumerated() where entry.offset >= 0 {
            var place = Int(truncatingIfNeeded: entry.hash) & mask
            while slots[place].index >= 0 { place = (place + 1) & mask }
            slots[place] = Slot(tag: UInt32(truncatingIfNeeded: entry.hash >> 32), index: Int32(index))
        }
    }
}
