/// Bytes that are appended once and read for as long as the arena lives, through a pointer and without counting
/// references; it grows by moving, so look the pointer up anew after `append`.
final class PrefixArena: @unchecked Sendable {  // belongs to one `FeedState`, which is used in one place at a time
    private var memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1_024)
    private var used = 0

    deinit { memory.deallocate() }

    /// What was appended so far.
    @inline(__always)
    var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: memory[..<used]) }

    /// Copies the bytes in and says where they lie.
    func append(_ bytes: [UInt8]) -> Range<Int> {
        if used + bytes.count > memory.count {
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: (used + bytes.count) * 2)
            _ = larger.update(fromContentsOf: memory[..<used])
            memory.deallocate()
            memory = larger
        }
        _ = memory[used...].update(fromContentsOf: bytes)
        used += bytes.count
        return used - bytes.count..<used
    }
}
