/// Bytes that are appended once and read for as long as the arena lives, through a pointer and without counting
/// references; it grows by moving, so look the pointer up anew after `append`.
final class PrefixArena: @unchecked Sendable {  // belongs to one `FeedState`, which is used in one place at a time
    /// The most bytes it takes.
    let limit: Int
    private var memory: UnsafeMutableBufferPointer<UInt8>
    private var used = 0

    init(limit: Int) {
        self.limit = limit
        memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: min(1_024, limit))
    }

    deinit { memory.deallocate() }

    /// What was appended so far.
    @inline(__always)
    var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: memory[..<used]) }

    /// Copies the bytes in and says where they lie; nil when they are more than the arena may take.
    func append(_ bytes: some Collection<UInt8>) -> Range<Int>? {
        guard bytes.count <= limit - used else { return nil }
        if used + bytes.count > memory.count {
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: min((used + bytes.count) * 2, limit))
            _ = larger.update(fromContentsOf: memory[..<used])
            memory.deallocate()
            memory = larger
        }
        _ = memory[used...].update(fromContentsOf: bytes)
        used += bytes.count
        return used - bytes.count..<used
    }
}
