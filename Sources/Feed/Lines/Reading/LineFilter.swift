package import Reactor

/// Selects lines by type, source and time, which it reads where every numbered line of format 1 has them:
/// `{"seq":1,"time":"…","type":"fact","source":"fact",…`. It compares the bytes of names.
package struct LineFilter: Sendable, Equatable {
    /// Nil lets any type pass; likewise `sources`.
    private let types: NameSet?
    private let sources: NameSet?
    private let from: Timestamp?
    private let until: Timestamp?

    /// - Parameters:
    ///   - types, sources: the names that pass; nil for any.
    ///   - from: the first time that passes; nil for any.
    ///   - until: the first time that no longer passes; nil for none.
    package init(types: [String]?, sources: [String]?, from: Timestamp? = nil, until: Timestamp? = nil) {
        self.types = types.map { NameSet($0) }
        self.sources = sources.map { NameSet($0) }
        self.from = from
        self.until = until
    }

    /// The number of bytes that its names take.
    package var bytes: Int { (types?.bytes ?? 0) + (sources?.bytes ?? 0) }

    /// Whether a line, with or without its newline, passes.
    package func admits(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let head = LineHead(line), let type = head.type else { return false }
        if from != nil || until != nil {
            guard let time = head.time else { return false }
            if let from, time < from { return false }
            if let until, time >= until { return false }
        }
        if let types, !types.contains(type.token) { return false }
        guard let sources else { return true }
        return head.source.map { sources.contains($0.token) } ?? false
    }

    /// The number of bytes at the end of `lines` in lines that are all too late to pass.
    ///
    /// - Parameter before: the number of bytes in such lines directly before these.
    package func overBytes(in lines: UnsafeRawBufferPointer, behind before: Int = 0) -> Int {
        guard let until else { return 0 }
        var count = before
        lines.forEachLine { line in
            let isOver = LineHead(line)?.time.map { $0 >= until } ?? false
            count = isOver ? count + line.count + 1 : 0
        }
        return count
    }
}
