internal import Glibc
package import Reactor

/// Chooses lines by type, source and time, by the bytes at the place where every numbered line of format 1 has them:
/// `{"seq":1,"time":"…","type":"fact","source":"fact",…`. Nothing is decoded.
package struct LineFilter: Sendable, Equatable {
    /// Nil for any.
    private let types: NameSet?
    private let sources: NameSet?
    /// As lines have times, whose texts are in the order of the times.
    private let from: [UInt8]?
    private let until: [UInt8]?

    /// - Parameters:
    ///   - types, sources: names to let through; nil for any.
    ///   - from: the first time to let through; nil for any.
    ///   - until: the first time not to let through any more.
    package init(types: [String]?, sources: [String]?, from: Timestamp? = nil, until: Timestamp? = nil) {
        self.types = types.map { NameSet($0) }
        self.sources = sources.map { NameSet($0) }
        self.from = from.map { Self.text($0) }
        self.until = until.map { Self.text($0) }
    }

    private static func text(_ time: Timestamp) -> [UInt8] {
        var text = TimestampText()
        return LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }
    }

    /// How many bytes its names take.
    package var bytes: Int { (types?.bytes ?? 0) + (sources?.bytes ?? 0) }

    /// Whether a line, without its newline or with it, is let through.
    package func admits(_ line: UnsafeRawBufferPointer) -> Bool {
        // `{"seq":N` ends at the first comma; `,"time":"…27 bytes…",` follows.
        guard let comma = line.firstIndex(of: UInt8(ascii: ",")) else { return false }
        let typeKey = "\"type\":"
        var place = comma + 38
        guard line.count > place, line[place...].starts(with: typeKey.utf8) else { return false }
        if let from, Self.compare(line, comma + 8, from) < 0 { return false }
        if let until, Self.compare(line, comma + 8, until) >= 0 { return false }
        if types == nil, sources == nil { return true }
        place += typeKey.utf8.count
        guard let type = Self.string(in: line, at: place) else { return false }
        if let types, !types.contains(UnsafeRawBufferPointer(rebasing: type)) { return false }
        guard let sources else { return true }
        let sourceKey = ",\"source\":"
        place = type.endIndex
        guard line[place...].starts(with: sourceKey.utf8) else { return false }
        guard let source = Self.string(in: line, at: place + sourceKey.utf8.count) else { return false }
        return sources.contains(UnsafeRawBufferPointer(rebasing: source))
    }

    /// Whether a numbered line is of the time that none is let through of any more.
    package func isOver(at line: UnsafeRawBufferPointer) -> Bool {
        guard let until, line.starts(with: "{\"seq\":".utf8), let comma = line.firstIndex(of: UInt8(ascii: ",")),
            line.count > comma + 38
        else { return false }
        return Self.compare(line, comma + 8, until) >= 0
    }

    /// How the time at `start` is to a text as long, as memcmp(3) says it. In bounds: the type lies behind it.
    private static func compare(_ line: UnsafeRawBufferPointer, _ start: Int, _ text: [UInt8]) -> Int32 {
        text.withUnsafeBytes { text in
            // Both have bytes, and so base addresses.
            memcmp(line.baseAddress.unsafelyUnwrapped + start, text.baseAddress.unsafelyUnwrapped, text.count)
        }
    }

    /// The JSON string that begins at `start`, with its quotes.
    private static func string(in line: UnsafeRawBufferPointer, at start: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard start < line.count, line[start] == UInt8(ascii: "\"") else { return nil }
        var place = start + 1
        while place < line.count {
            switch line[place] {
            case UInt8(ascii: "\\"): place += 2
            case UInt8(ascii: "\""): return line[start...place]
            default: place += 1
            }
        }
        return nil
    }
}
