import Reactor

/// The series of a store with their windows, by source, kind and key. Indices of removed series are reused first, so that
/// they stay dense.
///
/// It looks up a source's own series (no key) directly by the source's index; one with a key in a hash table with open
/// addressing. Keys come from upstream and may be chosen to collide, so the hash has a random seed. It never holds more
/// than `limit` series with values, nor more than `limit` without; any further one gets no index, and one with values
/// counts in `refused`.
package struct SeriesTable: Sendable {
    struct Series: Sendable {
        /// An index into the sources; negative for a removed series.
        let source: Int
        let kind: SeriesKind
        /// The agent of a fleet that it belongs to, by index; −1 for our own.
        let owner: Int32
        /// Whether lines have its key as it is, without escapes.
        let isPlain: Bool
        /// The number of its newest line in this run, 0 for none; the negative number of the line that said that it is gone,
        /// until it has a line again.
        fileprivate(set) var newest = 0
        /// The next older series of its source that has a key; −1 for none.
        fileprivate(set) var older: Int32 = -1
        /// Whether a value of it stood for a word, or one of the series with the same key and values: then `SeriesWords`
        /// has to know of its events.
        fileprivate(set) var hasWords = false
        /// The key's offset in `keys`; negative for a source's own series, which has none.
        fileprivate var offset: Int
        fileprivate let length: Int
        fileprivate let hash: UInt64
        var ring: WindowRing
    }

    // Bound: key of a series | 1,024 bytes | cut; no windows, counted in `refused_series`
    /// The longest key accepted, in bytes.
    package static let longestKey = 1_024

    /// The most series.
    package let limit: Int
    /// The number of times that a series could not be added.
    package private(set) var refused = 0
    /// The number of times that series were removed, and so their indices are reused.
    private(set) var removals = 0

    private struct Slot {
        /// The upper half of the hash, so that most other keys need no comparison.
        var tag: UInt32
        /// An index in `entries`; -1 in a free slot.
        var index: Int32
    }

    private var entries: [Series] = []
    /// The unused indices of `entries`.
    private var free: [Int] = []
    private var keys: [UInt8] = []
    /// By source and kind: its own series, or -1.
    private var own: [Int32] = []
    /// By source: its newest series with a key, or -1.
    private var newestKeyed: [Int32] = []
    /// The count is a power of two and at most half are in use, so that a search always ends at a free one.
    private var slots = [Slot](repeating: Slot(tag: 0, index: -1), count: 16)
    private var keyed = 0
    private let hash: KeyHash
    private var words = SeriesWords()
    /// The number of series without values by owner.
    private var textShares: [Int32: Int] = [:]

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

    /// The number of series with values.
    package var count: Int { entries.count - free.count - texts - alerts }

    /// The number of series without values.
    private var texts = 0

    /// The number of an agent's series without values.
    func texts(of owner: Int32) -> Int { textShares[owner] ?? 0 }

    /// The agent that has the most series without values; of as many, `preferred`.
    func mostTexts(preferring preferred: Int32) -> Int32? {
        textShares.max { ($0.value, $0.key == preferred ? 1 : 0) < ($1.value, $1.key == preferred ? 1 : 0) }?.key
    }

    /// Whether there is no room for another series with values.
    package var isFull: Bool { count >= limit }

    /// Whether there is no room for another series of this kind.
    func isFull(of kind: SeriesKind) -> Bool {
        switch kind {
        case .text: texts >= limit
        case .alert: alerts >= Self.mostAlerts
        case .data, .latency, .memory, .count: isFull
        }
    }

    // Bound: alerts whose newest lines are kept | 100,000; of an agent of a fleet 1,000 with its texts | no kept line; its
    //   oldest dropped
    private static let mostAlerts = 100_000
    /// The number of alerts, also of those that are resolved.
    private var alerts = 0
    private(set) var firing = FiringAlerts()

    /// Whether there are alerts that do not fire.
    var hasResolvedAlerts: Bool { !firing.isAll(alerts) }

    /// Records that a line says that an alert fires, or is pending.
    ///
    /// - Parameters:
    ///   - sequence: the line's number; 0 for one without a number here.
    ///   - agent: the agent of a fleet whose condition it is; nil for the feed's own.
    mutating func setAlert(_ index: Int, _ condition: String, isFiring: Bool, agent: String?, sequence: Int) {
        entries[index].newest = max(0, entries[index].newest, sequence)
        firing.set(index, of: condition, isFiring: isFiring, agent: agent)
    }

    /// Records that line `sequence` says that an alert is resolved.
    mutating func resolve(_ index: Int, sequence: Int) {
        entries[index].newest = -sequence
        firing.finish(index)
    }

    /// The indices of all series, and of those that were removed.
    var indices: Range<Int> { entries.indices }

    /// Whether lines have a series' key as it is, and whether `SeriesWords` has to know of its events.
    @inline(__always)
    func flags(of index: Int) -> (isPlain: Bool, hasWords: Bool) {
        (entries[index].isPlain, entries[index].hasWords)
    }

    subscript(index: Int) -> Series {
        @inline(__always) _read { yield entries[index] }
        @inline(__always) _modify { yield &entries[index] }
    }

    /// Records a value in the windows of a series: see `WindowRing.record`.
    ///
    /// - Parameter sequence: the number of its line, or of one before it if it has none here.
    /// Every value comes here: through the subscript, it would cost an allocation.
    @inline(__always)
    mutating func record(
        _ value: Double, in index: Int, at time: Timestamp, sequence: Int, now: Timestamp
    ) -> WindowRing.Outcome {
        entries[index].newest = max(entries[index].newest, sequence)
        return entries[index].ring.record(value, time: time, sequence: sequence, now: now)
    }

    /// The key of series `index`, which must exist; nil for a source's own series.
    package func key(of index: Int) -> Bytes? {
        let offset = entries[index].offset
        return offset < 0 ? nil : keys[offset..<offset + entries[index].length]
    }

    /// The series of the same source and key that is of the other of two kinds: with values, or without.
    ///
    /// - Parameter index: a series of data; of a latency, the memory or a count it is nil.
    func twin(of index: Int) -> Int? {
        let entry = entries[index]
        guard let kind: SeriesKind = entry.kind == .text ? .data : entry.kind == .data ? .text : nil else { return nil }
        guard entry.offset >= 0 else { return find(SourceID(index: entry.source), kind, key: nil) }
        return keys.withUnsafeBytes { keys in
            // In bounds: see `isEntry`.
            let key = UnsafeRawBufferPointer(rebasing: keys[entry.offset..<entry.offset + entry.length])
            return find(SourceID(index: entry.source), kind, key: key)
        }
    }

    /// Returns the index of a series, whose key is nil if it is a source's own; nil when there is none.
    @inline(__always)
    func find(_ source: SourceID, _ kind: SeriesKind, key: UnsafeRawBufferPointer?) -> Int? {
        guard let key else {
            let position = ownIndex(of: source, kind)
            return position < own.count && own[position] >= 0 ? Int(own[position]) : nil
        }
        guard key.count <= Self.longestKey else { return nil }
        let slot = slot(of: key, source: source.index, Space(kind), hash: hash(key, source, kind))
        return slots[slot].index >= 0 ? Int(slots[slot].index) : nil
    }

    /// Adds a series that is not there yet, and copies its key; only data have keys. Returns its index; nil when there is
    /// no room, which is counted.
    ///
    /// Sources are dense: memory grows with the greatest source index that has a series.
    mutating func add(
        _ source: SourceID, _ kind: SeriesKind, key: UnsafeRawBufferPointer?, owner: Int32 = -1,
        ring: WindowRing
    ) -> Int? {
        guard !isFull(of: kind), (key?.count ?? 0) <= Self.longestKey else {
            if kind.hasValues { refused &+= 1 }
            return nil
        }
        if kind == .text { texts += 1 }
        if kind == .alert { alerts += 1 }
        if !kind.hasValues { textShares[owner, default: 0] += 1 }
        let hash = key.map { self.hash($0, source, kind) } ?? 0
        let values = kind == .text && !words.isEmpty ? find(source, .data, key: key) : nil
        let index = free.popLast() ?? entries.count
        let new = Series(
            source: source.index, kind: kind, owner: owner,
            isPlain: key?.allSatisfy { 0x20..<0x80 ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
                ?? true,
            hasWords: values.map { words.knows($0) } ?? false, offset: key == nil ? -1 : keys.count,
            length: key?.count ?? 0, hash: hash, ring: ring)
        if index < entries.count { entries[index] = new } else { entries.append(new) }
        guard let key else {
            let position = ownIndex(of: source, kind)
            if position >= own.count { own.append(contentsOf: repeatElement(-1, count: position - own.count + 1)) }
            own[position] = Int32(index)
            return index
        }
        keys.append(contentsOf: key)
        keyed += 1
        link(index)
        // All slots when they become too few, which puts the new key there too.
        if keyed * 2 > slots.count { fill(slots.count * 2) } else { put(index) }
        return index
    }

    /// The index in `own` of a source's own series of a kind.
    @inline(__always)
    private func ownIndex(of source: SourceID, _ kind: SeriesKind) -> Int {
        source.index &* SeriesKind.kinds &+ kind.rawValue
    }

    /// Makes a series with a key its source's newest.
    private mutating func link(_ index: Int) {
        let source = entries[index].source
        if source >= newestKeyed.count {
            newestKeyed.append(contentsOf: repeatElement(-1, count: source - newestKeyed.count + 1))
        }
        entries[index].older = newestKeyed[source]
        newestKeyed[source] = Int32(index)
    }

    // MARK: Words

    /// The word of a series' newest event; nil when that has none.
    func word(of index: Int) -> [UInt8]? { entries[index].hasWords ? words.word(of: index) : nil }

    /// Records that an event of a series has a word, or none.
    ///
    /// - Parameter said: see `SeriesWords.follow`.
    mutating func follow(
        _ word: [UInt8]?, in index: Int, at time: Timestamp, since said: Timestamp?
    ) -> Timestamp {
        guard let values = entries[index].kind == .text ? twin(of: index) : index else { return time }
        if !words.knows(values) {
            // Without a word, the words that the flag stands for went with their series.
            entries[index].hasWords = word != nil
            guard word != nil else { return time }
            if let text = twin(of: values) { entries[text].hasWords = true }
        }
        return words.follow(word, of: values, at: time, since: said)
    }

    /// Records the word of the newest event of an earlier run, or that it has none: this run may have had events already.
    ///
    /// - Parameter newest: returns the time of a series' newest line.
    mutating func restore(
        _ word: [UInt8]?, in index: Int, at time: Timestamp, since said: Timestamp?, newest: (Int) -> Timestamp?
    ) {
        guard let values = entries[index].kind == .text ? twin(of: index) : index else { return }
        // The newest event may have had no value.
        if word != nil, let text = twin(of: values), let last = newest(text), last > time { return }
        if !words.knows(values) {
            _ = follow(word, in: index, at: time, since: said)
        } else if let word, let said {
            words.extend(values, by: word, since: said)
        } else {
            words.interrupt(values, at: time)
        }
    }

    // MARK: Gone series

    /// Records that line `sequence`, without a value, is the newest of a series, or says that it is gone if negative.
    @inline(__always)
    mutating func mark(_ index: Int, _ sequence: Int) { entries[index].newest = sequence }

    /// The series of a source with a key, with values or without.
    func both(of source: SourceID, key: some StringProtocol) -> [Int] {
        Array(key.utf8).withUnsafeBytes { key in [SeriesKind.data, .text].compactMap { find(source, $0, key: key) } }
    }

    /// Those that are gone, one for each key.
    var gone: [Int] {
        entries.indices.filter { index in
            entries[index].source >= 0 && entries[index].newest < 0 && entries[index].offset >= 0
                && entries[index].kind != .alert
                && twin(of: index).map { entries[$0].newest < 0 && $0 > index } ?? true
        }
    }

    /// Whether the newest thing known of a series, with values or without, is that it is gone.
    func isGone(_ index: Int) -> Bool {
        if entries[index].newest < 0 { return true }
        return entries[index].newest == 0 && twin(of: index).map { entries[$0].newest < 0 } ?? false
    }

    /// Marks a series as there, with values or without, as another agent or an earlier run says.
    ///
    /// - Parameter sequence: the number of its line; 0 for one without a number here.
    mutating func recall(_ index: Int, sequence: Int) {
        entries[index].newest = max(entries[index].newest, sequence)
        if let twin = twin(of: index), entries[twin].newest < 0 { entries[twin].newest = 0 }
    }

    /// Whether there was a line of a series in this run, with values or without.
    func isHeard(_ index: Int) -> Bool {
        entries[index].newest > 0 || twin(of: index).map { entries[$0].newest > 0 } ?? false
    }

    /// Marks the series of a source as gone that have a key and no line from `first` on, with values or without, and are
    /// not marked yet.
    ///
    /// - Returns: the series, one for each key, the oldest first.
    mutating func markGone(of source: SourceID, before first: Int, by sequence: Int) -> [Int] {
        guard source.index < newestKeyed.count else { return [] }
        var gone: [Int] = []
        var index = Int(newestKeyed[source.index])
        while index >= 0 {
            let newest = entries[index].newest
            if newest >= 0, newest < first, entries[index].kind != .alert {
                let twin = twin(of: index)
                if twin.map({ entries[$0].newest < first }) ?? true {
                    entries[index].newest = -sequence
                    if let twin { entries[twin].newest = -sequence }
                    gone.append(index)
                }
            }
            index = Int(entries[index].older)
        }
        return gone.reversed()
    }

    /// What tells equal keys of a source apart.
    private enum Space: Int {
        case values, texts, alerts

        @inline(__always)
        init(_ kind: SeriesKind) { self = kind == .text ? .texts : kind == .alert ? .alerts : .values }
    }

    @inline(__always)
    private func hash(_ key: UnsafeRawBufferPointer, _ source: SourceID, _ kind: SeriesKind) -> UInt64 {
        hash(key, source: source.index &* 3 &+ Space(kind).rawValue)
    }

    /// The slot that holds the series, or the free one where it belongs.
    @inline(__always)
    private func slot(of key: UnsafeRawBufferPointer, source: Int, _ space: Space, hash: UInt64) -> Int {
        let mask = slots.count - 1
        let tag = UInt32(truncatingIfNeeded: hash >> 32)
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].index >= 0 {
            if slots[slot].tag == tag, isEntry(Int(slots[slot].index), key, source, space) { break }
            slot = (slot + 1) & mask
        }
        return slot
    }

    @inline(__always)
    private func isEntry(_ index: Int, _ key: UnsafeRawBufferPointer, _ source: Int, _ space: Space) -> Bool {
        guard entries[index].source == source, entries[index].length == key.count,
            Space(entries[index].kind) == space
        else { return false }
        let offset = entries[index].offset
        return keys.withUnsafeBytes { keys in
            // In bounds: `add` appended exactly `length` bytes at `offset`, and `remove` moves them together.
            KeyHash.areEqual(UnsafeRawBufferPointer(start: keys.baseAddress.map { $0 + offset }, count: key.count), key)
        }
    }

    /// Removes some series; takes time linear in the number of all series.
    mutating func remove(_ gone: [Int]) {
        guard !gone.isEmpty else { return }
        removals += 1
        for index in gone {
            words.remove(index)
            if entries[index].kind == .text { texts -= 1 }
            if entries[index].kind == .alert {
                alerts -= 1
                firing.finish(index)
            }
            if !entries[index].kind.hasValues { textShares[entries[index].owner, default: 0] -= 1 }
            if entries[index].offset < 0 {
                own[ownIndex(of: SourceID(index: entries[index].source), entries[index].kind)] = -1
            } else {
                keyed -= 1
            }
            entries[index] = Series(
                source: -1, kind: .data, owner: -1, isPlain: true, offset: -1, length: 0, hash: 0,
                ring: WindowRing(width: .seconds(1)))
            free.append(index)
        }
        var kept: [UInt8] = []
        for index in entries.indices where entries[index].offset >= 0 {
            let offset = entries[index].offset
            entries[index].offset = kept.count
            kept += keys[offset..<offset + entries[index].length]
        }
        keys = kept
        fill(slots.count)
        newestKeyed.removeAll(keepingCapacity: true)
        for index in entries.indices where entries[index].offset >= 0 { link(index) }
    }

    /// Puts all keys into `count` new slots.
    private mutating func fill(_ count: Int) {
        slots = [Slot](repeating: Slot(tag: 0, index: -1), count: count)
        for index in entries.indices where entries[index].offset >= 0 { put(index) }
    }

    /// Puts a key into the first free slot for it.
    private mutating func put(_ index: Int) {
        let (hash, mask) = (entries[index].hash, slots.count - 1)
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].index >= 0 { slot = (slot + 1) & mask }
        slots[slot] = Slot(tag: UInt32(truncatingIfNeeded: hash >> 32), index: Int32(index))
    }
}
