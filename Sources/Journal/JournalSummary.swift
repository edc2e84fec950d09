package import Feed

/// A journal's totals for each source: the number of events, answers and failures, and how long the answers took. Its
/// memory does not grow with the number of lines.
package struct JournalSummary: Sendable {
    package struct Source: Sendable {
        package let name: String
        /// The number of its data events.
        package fileprivate(set) var events = 0
        /// The histogram of its answers, which also counts failures.
        package fileprivate(set) var answers = LatencyHistogram()

        fileprivate init(name: String) { self.name = name }
    }

    /// In the order of their first lines.
    package private(set) var sources: [Source] = []
    /// The sum of all sources beyond `mostSources`.
    package private(set) var others: Source?
    /// The number of all lines, also of those without a source.
    package private(set) var lines = 0

    // Bound: sources in the table of `catwatch log` | 1,000, at most 10 KiB each | rest share a row
    /// The most sources with their own totals.
    package static let mostSources = 1_000

    private var names: [[UInt8]] = []
    /// A hash table from source names to indices in `sources`, -1 in free slots; four times as large as `mostSources`.
    private var slots: [Int32] = Array(repeating: -1, count: 4_096)
    /// The index of the previous line's source, which is usually the next line's, too.
    private var newest = -1

    package init() {}

    /// Counts a line; without a source, only in `lines`.
    package mutating func add(_ row: JournalRows.Row) {
        lines += 1
        let source = row.source
        guard !source.isEmpty else { return }
        let type = row.type
        // A window summarises events that are counted already.
        if Self.isEqual(type, "latency") {
            if let value = row.value { edit(source) { $0.answers.record(value) } }
        } else if Self.isEqual(type, "error") {
            edit(source) { $0.answers.recordErrors() }
        } else if !Self.isEqual(type, "window"), !row.series.isEmpty {
            edit(source) { $0.events += 1 }
        }
    }

    @inline(__always)
    private static func isEqual(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        guard bytes.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] != word.utf8Start[index] { return false }
        return true
    }

    @inline(__always)
    private mutating func edit(_ name: UnsafeRawBufferPointer, _ change: (inout Source) -> Void) {
        if newest < 0 || !names[newest].elementsEqual(name) { newest = find(name) }
        if newest >= 0 {
            change(&sources[newest])
        } else {
            if others == nil { others = Source(name: "") }
            if others != nil { change(&others!) }  // it was made
        }
    }

    /// The index of a source, which is added if it is new; -1 when there are too many.
    private mutating func find(_ name: UnsafeRawBufferPointer) -> Int {
        // FNV-1a. A journal's writer may have chosen names that collide, but they are few enough to compare them all.
        var hash: UInt32 = 2_166_136_261
        for byte in name { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        var slot = Int(hash) % slots.count
        while slots[slot] >= 0 {
            if names[Int(slots[slot])].elementsEqual(name) { return Int(slots[slot]) }
            slot = (slot + 1) % slots.count
        }
        guard sources.count < Self.mostSources else { return -1 }
        slots[slot] = Int32(sources.count)
        names.append(Array(name))
        sources.append(Source(name: String(decoding: name, as: UTF8.self)))
        return sources.count - 1
    }
}
