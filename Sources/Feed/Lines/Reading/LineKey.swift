/// The keys of format 1, in lines and in the objects within them.
///
/// Cases have the key's name in camel case: `p50Ms` is `p50_ms`.
enum LineKey: UInt8, CaseIterable {
    case seq, time, type, source, series, value, text, data, truncated, altered
    case endpoint, status, ms, dnsMs, connectMs, tlsMs, waitMs, receiveMs, bytes, reused, lateMs
    case rssBytes, peakBytes, privateBytes
    case start, seconds, last, lastSeq, count, min, max, mean, band, trend
    case code, message, attempt, retryInMs
    case done, total, page, items, gone
    case downS, attempts
    case format, run, filtered, intervalS, historyS, firstSeq, nextSeq, host, app
    case name, device, os, kernel, arch, version, started
    case asOf, endpoints, sources, errors, lastMs, meanMs, minMs, p50Ms, p90Ms, p95Ms, p99Ms, maxMs, state, since
    case events, readers, gaps, late, refusedSeries, loopLagMs, cpuMs, outputs, output, behind
    case from, to, reason
    case unit, bands, higherIsBetter, letter, color, upTo, refusedEndpoints, everyS, runsOnce, valuePointer
    case moreEndpoints, moreSources
    case lastRun, ended, durableSeq, journalFirstSeq
    case agent, originRun, originSeq, fleet, stalled, future, heard, skewMs, lost
    case line, keptSeq, keptDropped, retryAt, answeredAt, rows, word, oldest
    case about, condition, id, at, severity, test, op, threshold, thresholdTo, note, evidence, worst, worstValue, stepS,
        sleptS

    /// The number of keys; raw values are less.
    static let keyCount = allCases.count

    /// The key as it stands in a line.
    var text: String {
        String(describing: self).reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
        }
    }

    /// The key with these bytes, unescaped; nil when this version does not know it.
    @inline(__always)
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let name = PackedName(bytes) else {
            // Two rare keys are too long for the table.
            guard let long = Self.longKeys.first(where: { bytes.elementsEqual($0.name) }) else { return nil }
            self = long.key
            return
        }
        var slot = name.slot
        while let entry = Self.table[slot] {
            if entry.name == name {
                self = entry.key
                return
            }
            slot = (slot + 1) % Self.table.count
        }
        return nil
    }

    /// The key with this raw name, which may contain escapes.
    @inline(__always)
    init?(name raw: UnsafeBufferPointer<UInt8>) {
        if let key = LineKey(raw) {
            self = key
            return
        }
        guard raw.count <= 144, raw.contains(UInt8(ascii: "\\")),
            let key = Array(JSONText.string(raw).utf8).withUnsafeBufferPointer({ LineKey($0) })
        else { return nil }
        self = key
    }

    private static let longKeys = [LineKey.refusedEndpoints, .journalFirstSeq].map {
        (name: Array($0.text.utf8), key: $0)
    }

    /// A hash table of all keys but the long ones, a third full, so that a search always ends at a free slot.
    private static let table: [(name: PackedName, key: LineKey)?] = {
        var table = [(name: PackedName, key: LineKey)?](repeating: nil, count: PackedName.slots)
        for key in allCases {
            // All keys but the long ones have at most 16 bytes; the tests look up each one.
            guard let name = Array(key.text.utf8).withUnsafeBufferPointer({ PackedName($0) }) else { continue }
            var slot = name.slot
            while table[slot] != nil { slot = (slot + 1) % table.count }
            table[slot] = (name, key)
        }
        return table
    }()
}

/// Up to 16 bytes as two integers, for a quick comparison.
private struct PackedName: Equatable {
    static let slots = 256
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// Nil for more than 16 bytes. A trailing zero byte makes no difference, and no key has one.
    @inline(__always)
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= 16 else { return nil }
        for index in 0..<Swift.min(bytes.count, 8) { low |= UInt64(bytes[index]) << UInt64(index * 8) }
        if bytes.count > 8 {
            for index in 8..<bytes.count { high |= UInt64(bytes[index]) << UInt64((index - 8) * 8) }
        }
    }

    /// The first slot to look in: the product's top bits depend on the whole name.
    @inline(__always)
    var slot: Int { Int(truncatingIfNeeded: ((low ^ (high &* 31)) &* 0x9E37_79B9_7F4A_7C15) >> 56) }
}
