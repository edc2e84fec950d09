/// The recent writes: tells which line is a given number of bytes back, even if the log has dropped it.
struct WriteTrail: Sendable {
    /// The distance in bytes that must be covered; older writes are forgotten.
    let reach: Int
    private var writes: [(sequence: Int, bytes: Int)] = []
    /// The first of `writes` that counts, and the bytes of those that count.
    private var oldest = 0
    private var bytes = 0

    init(reach: Int) { self.reach = reach }

    /// The number of writes, for tests of the bound.
    var count: Int { writes.count }

    /// Records a write of lines, the first of which is `sequence`.
    mutating func record(sequence: Int, bytes count: Int) {
        writes.append((sequence, count))
        bytes += count
        // The rest must cover that distance from the start of this write, of which nothing may have been sent yet.
        while oldest < writes.count - 1, bytes - writes[oldest].bytes >= reach + count {
            bytes -= writes[oldest].bytes
            oldest += 1
        }
        if oldest > 64, oldest > writes.count / 2 {
            writes.removeFirst(oldest)
            oldest = 0
        }
    }

    /// The first sequence number of the write that is `back` bytes before the end; nil when the trail is shorter.
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
