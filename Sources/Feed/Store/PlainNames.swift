/// Maps the names in plain lines to their meaning, so that lines with known names need no decoding.
struct PlainNames<Meaning: Sendable>: Sendable {
    // Series and endpoints of plain lines that need no decoding: 4,096, names of 1 KiB; others decoded line by line.
    private let most: Int
    private static var longest: Int { 1_024 }

    private var entries: [(names: [UInt8], meaning: Meaning)] = []
    private var indices: [UInt64: Int] = [:]
    private var newest = -1
    private let hash: KeyHash

    init(most: Int = 4_096) {
        self.most = most
        hash = KeyHash(seed: (.random(in: 0...(.max)), .random(in: 0...(.max))))
    }

    /// Whether there is room for names that are not known.
    func hasRoom(for names: UnsafeRawBufferPointer) -> Bool { entries.count < most && names.count <= Self.longest }

    @inline(__always)
    mutating func meaning(of names: UnsafeRawBufferPointer) -> Meaning? {
        if newest >= 0, isEntry(newest, named: names) { return entries[newest].meaning }
        guard names.count <= Self.longest, let index = indices[hash(names, source: 0)], isEntry(index, named: names)
        else { return nil }
        newest = index
        return entries[index].meaning
    }

    @inline(__always)
    private func isEntry(_ index: Int, named names: UnsafeRawBufferPointer) -> Bool {
        guard entries[index].names.count == names.count else { return false }
        return entries[index].names.withUnsafeBytes { KeyHash.areEqual($0, names) }
    }

    mutating func learn(_ names: UnsafeRawBufferPointer, _ meaning: Meaning) {
        guard names.count <= Self.longest else { return }
        let key = hash(names, source: 0)
        if let index = indices[key] {
            // On a collision, the earlier names stay.
            if isEntry(index, named: names) { entries[index].meaning = meaning }
            return
        }
        guard hasRoom(for: names) else { return }
        indices[key] = entries.count
        entries.append((Array(names), meaning))
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        newest = -1
    }
}
