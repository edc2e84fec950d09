/// What was written last, a write at a time: which line lies so many bytes back, whether the log still has it or not.
struct WriteTrail: Sendable {
    /// How far back it is asked for, in bytes; what lies behind that is forgotten.
    let reach: Int
    private var writes: [(sequence: Int, bytes: Int)] = []
    /// The first of `writes` that counts, and what those that count come to.
    private var oldest = 0
    private var bytes = 0

    init(reach: Int) { self.reach = reach }

    /// How many writes it holds, for tests of its bound.
    var count: Int { writes.count }

    /// Notes a write of lines from the number `sequence` on.
    mutating func note(sequence: Int, bytes count: Int) {
        writes.append((sequence, count))
        bytes += count
        // What is left must reach back that far from the start of this write, of which nothing may have been taken yet.
        while oldest < writes.count - 1, bytes - writes[oldest].bytes >= reach + count {
            bytes -= writes[oldest].bytes
            oldest += 1
        }
        if oldest > 64, oldest > writes.count / 2 {
            writes.removeFirst(oldest)
            oldest = 0
        }
    }

    /// The first number of the write that lies `back` bytes before the end of the last one; nil when all do not reach so
    /// far.
    func sequence(bytesBack back: Int) -> Int? {
        var left = back
        for write in writes[oldest...].reversed() {
            left -= write.bytes
            if left <= 0 { return write.sequence }
        }
        return nil
    }

    mutating func removeAll() {
        writes.removeAll()
        oldest = 0
        bytes = 0
    }
}
