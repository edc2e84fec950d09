/// Append-only bytes, read through a pointer without reference counting for as long as the arena lives. Growth moves
/// them, so get the pointer again after `append`.
final class PrefixArena: @unchecked Sendable {  // belongs to one `FeedState`, which is used in one place at a time
    /// The most bytes that it holds.
    let limit: Int
    private var memory: UnsafeMutableBufferPointer<UInt8>
    private var used = 0

    init(limit: Int) {
        self.limit = limit
        memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: min(1_024, limit))
    }

    deinit { memory.deallocate() }

    /// All bytes appended so far.
    @inline(__always)
    var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: memory[..<used]) }

    /// Copies the bytes and returns their range; nil when they exceed the arena's limit.
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
