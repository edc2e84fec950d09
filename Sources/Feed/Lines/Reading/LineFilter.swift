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
        guard let head = LineHead(line), let type = head.type else { return false }
        if from != nil || until != nil {
            guard let time = head.timeText else { return false }
            if let from, Self.isEarlier(time, than: from) { return false }
            if let until, !Self.isEarlier(time, than: until) { return false }
        }
        if let types, !types.contains(type.token) { return false }
        guard let sources else { return true }
        return head.source.map { sources.contains($0.token) } ?? false
    }

    /// How many bytes of lines one behind the other are too late, up to the last one.
    ///
    /// - Parameter before: how many there were in front of these.
    package func overBytes(in lines: UnsafeRawBufferPointer, behind before: Int = 0) -> Int {
        guard let until else { return 0 }
        var count = before
        lines.forEachLine { line in
            let isOver = LineHead(line)?.timeText.map { !Self.isEarlier($0, than: until) } ?? false
            count = isOver ? count + line.count + 1 : 0
        }
        return count
    }

    private static func isEarlier(_ time: UnsafeRawBufferPointer, than other: [UInt8]) -> Bool {
        // Both are as long.
        other.withUnsafeBytes { other in
            guard let time = time.baseAddress, let other = other.baseAddress else { return false }
            return memcmp(time, other, LineHead.timeLength) < 0
        }
    }
}
