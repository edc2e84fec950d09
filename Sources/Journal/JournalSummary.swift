package import Feed

/// What the lines of a journal come to, source by source: how many events, how many answers and failures, and how long the
/// answers took. Its memory does not grow with the lines.
package struct JournalSummary: Sendable {
    package struct Source: Sendable {
        package let name: String
        /// Lines of what it said.
        package fileprivate(set) var events = 0
        /// Of its answers; failures are counted in it as well.
        package fileprivate(set) var answers = LatencyHistogram()

        fileprivate init(name: String) { self.name = name }
    }

    /// In the order in which they first said something.
    package private(set) var sources: [Source] = []
    /// Of all those that came when there were too many.
    package private(set) var others: Source?
    /// Of everything, also of what is no source's.
    package private(set) var lines = 0

    /// So many have a row of their own, of at most 10 KiB.
    package static let mostSources = 1_000

    private var names: [[UInt8]] = []
    /// Numbers of sources by their names' hashes, -1 in a free slot: four times as many as sources.
    private var slots: [Int32] = Array(repeating: -1, count: 4_096)
    /// The one of the line before: mostly that of this one, too.
    private var newest = -1

    package init() {}

    /// Counts a line, unless it is about nobody.
    package mutating func add(_ row: JournalRows.Row) {
        lines += 1
        let source = row.source
        guard !source.isEmpty else { return }
        let type = row.type
        // A window tells of events that were counted.
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

    /// The number of a source, which is new perhaps; -1 when there are too many.
    private mutating func find(_ name: UnsafeRawBufferPointer) -> Int {
        // FNV-1a. Whoever wrote a journal may have chosen names that collide: they are few enough to look at all.
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
