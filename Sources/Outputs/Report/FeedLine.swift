internal import Feed
internal import Glibc

/// Looks at the feed's lines just as far as it takes to pass over most of them.
enum FeedLine {
    /// Calls `body` with every line, without its newline.
    static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        guard var start = bytes.baseAddress else { return }
        let end = start + bytes.count
        while start < end, let newline = memchr(start, 0x0A, end - start) {
            let line = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(newline) - start)
            body(line)
            start += line.count + 1
        }
    }

    /// The number in `{"seq":N,`; nil for a line without one.
    static func number(of line: UnsafeRawBufferPointer) -> Int? {
        guard line.starts(with: "{\"seq\":".utf8), let comma = line.firstIndex(of: UInt8(ascii: ",")) else {
            return nil
        }
        return JSONNumber.integer(UnsafeRawBufferPointer(rebasing: line[7..<comma]).assumingMemoryBound(to: UInt8.self))
    }

    /// Whether a numbered line's type is `type`, which is written with its quotes: it stands behind the number and the time,
    /// and all times are as long.
    static func type(of line: UnsafeRawBufferPointer, is type: StaticString) -> Bool {
        guard let comma = line.firstIndex(of: UInt8(ascii: ",")) else { return false }
        let bytes = UnsafeBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount)
        return line.dropFirst(comma + 45).starts(with: bytes)
    }

    /// How many bytes of lines one behind the other are too late for a filter, up to the last one.
    ///
    /// - Parameter before: how many there were in front of these.
    static func overBytes(in lines: UnsafeRawBufferPointer, for filter: LineFilter, behind before: Int = 0) -> Int {
        var count = before
        forEach(in: lines) { count = filter.isOver(at: $0) ? count + $0.count + 1 : 0 }
        return count
    }
}
