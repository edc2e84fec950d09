/// Chooses lines by type and source, by the bytes at the place where every numbered line of format 1 has them:
/// `{"seq":1,"time":"…","type":"fact","source":"fact",…`. Nothing is decoded.
package struct LineFilter: Sendable, Equatable {
    /// Nil for any.
    private let types: NameSet?
    private let sources: NameSet?

    /// - Parameters: names to let through; nil for any.
    package init(types: [String]?, sources: [String]?) {
        self.types = types.map { NameSet($0) }
        self.sources = sources.map { NameSet($0) }
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
