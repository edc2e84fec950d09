import Feed

/// Memory with a known pattern around it, which shows when a writer leaves its bounds.
enum GuardedMemory {
    private static let margin = 64
    private static let pattern: UInt8 = 0xA5

    /// What `write` wrote into `most` bytes; nil when it touched, or claims to have written, more than those.
    static func bytes(atMost most: Int, _ write: (inout LineWriter) -> Void) -> [UInt8]? {
        // Twice the room, so that a writer that goes far beyond its bounds harms no other memory.
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 2 * (margin + most))
        defer { memory.deallocate() }
        memory.initialize(repeating: pattern)
        guard let start = memory.baseAddress.map({ $0 + margin }) else { return nil }
        var writer = LineWriter(start)
        write(&writer)
        let count = writer.next - start
        guard count >= 0, count <= most else { return nil }
        for index in 0..<margin {
            if memory[index] != pattern || memory[margin + most + index] != pattern { return nil }
        }
        return Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// The same as text.
    static func text(atMost most: Int, _ write: (inout LineWriter) -> Void) -> String? {
        bytes(atMost: most, write).map { String(decoding: $0, as: UTF8.self) }
    }
}
