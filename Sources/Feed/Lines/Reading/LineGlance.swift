internal import Glibc
package import Reactor

/// What `LineIndex` says of a data line, found where `LineEncoder` puts it, without a look at the rest of the line.
///
/// For lines that are valid JSON. Nil for all others than `{"seq":1,"time":"…","type":"…","source":"…","series":"…","value":1`
/// with names of plain ASCII: `LineIndex` reads those.
package struct LineGlance {
    package let time: Timestamp
    /// Parts of the line, as are the other names.
    package let type: UnsafeRawBufferPointer
    package let source: UnsafeRawBufferPointer
    package let series: UnsafeRawBufferPointer
    package let value: Double

    @inline(__always)
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        guard let base = line.baseAddress else { return nil }
        let tokens = JSONTokens(base: base, count: line.count)
        var place = 0
        guard Self.skip("{\"seq\":", in: tokens, &place) else { return nil }
        while tokens[place] &- UInt8(ascii: "0") < 10 { place += 1 }
        // `2026-11-20T12:52:56.123456Z`
        let timeLength = 27
        guard Self.skip(",\"time\":\"", in: tokens, &place), place + timeLength < line.count,
            tokens[place + timeLength] == UInt8(ascii: "\""),
            let time = RFC3339.parse(UnsafeBufferPointer(rebasing: line[place..<place + timeLength]))
        else { return nil }
        place += timeLength
        guard let type = Self.name("\",\"type\":\"", in: tokens, &place), !Self.hasValueElsewhere(type),
            let source = Self.name("\",\"source\":\"", in: tokens, &place),
            let series = Self.name("\",\"series\":\"", in: tokens, &place),
            Self.skip("\",\"value\":", in: tokens, &place)
        else { return nil }
        let start = place
        while place < line.count, line[place] != UInt8(ascii: ","), line[place] != UInt8(ascii: "}") { place += 1 }
        guard let value = JSONNumber.double(UnsafeBufferPointer(rebasing: line[start..<place])) else { return nil }
        (self.time, self.type, self.source, self.series, self.value) = (time, type, source, series, value)
    }

    /// A name behind `key`; the place is at its closing quote then.
    @inline(__always)
    private static func name(
        _ key: StaticString, in tokens: JSONTokens, _ place: inout Int
    ) -> UnsafeRawBufferPointer? {
        guard skip(key, in: tokens, &place) else { return nil }
        let end = tokens.plainEnd(from: place)
        guard tokens[end] == UInt8(ascii: "\""), end - place <= LineDecoder.stringLimit else { return nil }
        defer { place = end }
        return UnsafeRawBufferPointer(start: tokens.base + place, count: end - place)
    }

    @inline(__always)
    private static func skip(_ text: StaticString, in tokens: JSONTokens, _ place: inout Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard place + count <= tokens.count, memcmp(tokens.base + place, text.utf8Start, count) == 0 else {
            return false
        }
        place += count
        return true
    }

    /// Whether the value of a line of this type has another key.
    @inline(__always)
    private static func hasValueElsewhere(_ type: UnsafeRawBufferPointer) -> Bool {
        (type.count == 7 && type.elementsEqual("latency".utf8))
            || (type.count == 6 && type.elementsEqual("window".utf8))
    }
}
