internal import Reactor

/// Which series there are, and what lines call them.
extension FeedState {
    struct Series: Sendable {
        var ring: WindowRing
        /// An index into `sources`.
        let source: Int
        let kind: SeriesKind
        /// Where `prefixes` has `"type":"…","source":"…","series":"…"`; empty when there was no room.
        var prefix: Range<Int>
        /// How far behind the start of `prefix` it has `"source":"…","series":"…"`, which is what a window line says.
        var namesOffset: Int
    }

    /// The series of a source and kind in `table`.
    @inline(__always)
    func place(_ source: SourceID, _ kind: SeriesKind) -> SourceID {
        SourceID(index: source.index &* 3 &+ kind.rawValue)
    }

    /// What lines call a series whose `prefix` is not empty; until something is appended to `prefixes`.
    @inline(__always)
    func names(of index: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: prefixes.buffer[series[index].prefix])
    }

    /// The series' index; made when it is new, nil when it cannot be.
    @inline(__always)
    mutating func seriesIndex(_ source: SourceID, kind: SeriesKind, key: UnsafeBufferPointer<UInt8>?) -> Int? {
        let place = place(source, kind)
        let found: Int?
        if let key {
            found = table.index(source: place, keyBytes: UnsafeRawBufferPointer(key))
        } else {
            found = table.index(source: place, key: nil)
        }
        guard let index = found else { return nil }
        if index == series.count { addSeries(source, kind) }
        return index
    }

    /// Adds the series that `table` has just numbered.
    @inline(never)
    private mutating func addSeries(_ source: SourceID, _ kind: SeriesKind) {
        let index = series.count
        let ring = WindowRing(width: limits.interval, history: limits.history)
        series.append(Series(ring: ring, source: source.index, kind: kind, prefix: 0..<0, namesOffset: 0))
        keepPrefix(of: index)
        counts.series = series.count
    }

    private mutating func keepPrefix(of index: Int) {
        let prefix = encodedPrefix(of: index)
        series[index].prefix = prefixes.append(prefix) ?? 0..<0
        series[index].namesOffset = Self.namesOffset(in: prefix)
    }

    /// Encodes the names of all series anew, of which a source's type may be another one; into new memory, as the arena
    /// lets go of nothing.
    mutating func renewPrefixes() {
        prefixes = PrefixArena(limit: limits.nameBytes)
        for index in series.indices { keepPrefix(of: index) }
    }

    /// `"type":"…","source":"…","series":"…"`
    private func encodedPrefix(of index: Int) -> [UInt8] {
        let source = sources[series[index].source]
        switch series[index].kind {
        case .data:
            guard let key = table.key(of: index) else { return source.prefix + [UInt8(ascii: "\"")] }
            let escaped = LineWriter.bytes(atMost: 3 + LineWriter.mostEscaped(key.count)) { writer in
                writer.byte(UInt8(ascii: "/"))
                key.withUnsafeBufferPointer { key in
                    if let start = key.baseAddress { writer.escape(start, key.count) }
                }
                writer.byte(UInt8(ascii: "\""))
            }
            return source.prefix + escaped
        case .latency, .memory:
            let prefix = series[index].kind.prefix
            return Self.prefix(type: String(prefix.dropLast()), source: source.name, series: prefix + source.name)
                + [UInt8(ascii: "\"")]
        }
    }

    private static func namesOffset(in prefix: [UInt8]) -> Int {
        let marker = Array("\"source\":".utf8)
        return prefix.indices.first { prefix[$0...].starts(with: marker) } ?? 0
    }

    /// Lends `"source":"…","series":"…"` of a series, from the arena if it is there; nothing may be added to that meanwhile.
    mutating func withWindowNames(
        of index: Int, _ body: (inout FeedState, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        let range = series[index].prefix
        let offset = series[index].namesOffset
        if range.isEmpty {
            let prefix = encodedPrefix(of: index)
            prefix.withUnsafeBufferPointer { body(&self, UnsafeBufferPointer(rebasing: $0[offset...])) }
        } else {
            // The arena is held on to, as the bytes are its own.
            let arena = prefixes
            withExtendedLifetime(arena) {
                body(&self, UnsafeBufferPointer(rebasing: arena.buffer[range.lowerBound + offset..<range.upperBound]))
            }
        }
    }
}
