internal import Glibc
package import Reactor

/// Bytes of a stream on their way to being lines: filled at its end, taken from its front.
///
/// A line that is longer than `limit` is let go of as it comes and reported once. Between lines it holds no more than
/// one chunk; while a long line comes, that line and one chunk.
package struct LineBuffer: ~Copyable {
    /// What comes out of it.
    package enum Item {
        /// A whole line without its newline; lent until the next call of anything.
        case line(UnsafeBufferPointer<UInt8>)
        /// A line of so many bytes that was too long.
        case tooLong(Int)
    }

    /// How much is read at once, in bytes.
    package static let chunk = 128 << 10

    /// The longest line in bytes, newline not counted.
    package var limit: Int
    /// Which line `next` gave last, from 1.
    package private(set) var number = 0
    private var memory: UnsafeMutableRawBufferPointer
    /// What of the memory is in use.
    private var start = 0
    private var end = 0
    /// Until where there is no newline.
    private var searched = 0
    /// How much of an over-long line has gone by; 0 when there is none.
    private var skipped = 0

    /// - Parameter limit: the longest line in bytes, newline not counted.
    package init(limit: Int) {
        self.limit = limit
        memory = .allocate(byteCount: Self.chunk, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// How many bytes of memory it takes.
    package var capacity: Int { memory.count }

    /// Whether there may be lines to take before more is read.
    package var hasBytes: Bool { searched < end }

    /// Reads once from the stream; every whole line must have been taken before.
    ///
    /// - Returns: what the stream's `read` says.
    package mutating func fill(from stream: any ByteStream) throws(SystemError) -> Int? {
        makeRoom()
        // In bounds, and not empty: `makeRoom` has left half a chunk at least.
        let room = UnsafeMutableRawBufferPointer(rebasing: memory[end...])
        guard let count = try stream.read(into: room) else { return nil }
        end += count
        return count
    }

    /// The next line; nil when more bytes are needed.
    package mutating func next() -> Item? {
        guard searched < end, let base = memory.baseAddress,
            let found = memchr(base + searched, 0x0A, end - searched)
        else {
            searched = end
            if skipped > 0 || end - start > limit { skip() }
            return nil
        }
        let newline = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        defer {
            start = newline + 1
            searched = start
        }
        return item(upTo: newline)
    }

    /// The last line, when the stream has ended without a newline after it.
    package mutating func finish() -> Item? {
        guard start < end || skipped > 0 else { return nil }
        defer {
            start = end
            searched = end
        }
        return item(upTo: end)
    }

    private mutating func item(upTo end: Int) -> Item {
        number += 1
        let length = skipped + end - start
        skipped = 0
        guard length <= limit else { return .tooLong(length) }
        return .line(UnsafeRawBufferPointer(rebasing: memory[start..<end]).assumingMemoryBound(to: UInt8.self))
    }

    /// Lets go of what there is of a line that is too long.
    private mutating func skip() {
        skipped += end - start
        start = end
    }

    /// Moves what is left to the front, and takes more memory or gives it back where the line under way needs that.
    private mutating func makeRoom() {
        let held = end - start
        let wanted = held < Self.chunk / 2 ? Self.chunk : (held + Self.chunk) / Self.chunk * Self.chunk * 2
        let isTooMuch = memory.count > wanted && held < Self.chunk / 2
        if memory.count - held < Self.chunk / 2 || isTooMuch {
            let other = UnsafeMutableRawBufferPointer.allocate(byteCount: wanted, alignment: 16)
            other.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[start..<end]))
            memory.deallocate()
            memory = other
        } else if start > 0, let base = memory.baseAddress {
            memmove(base, base + start, held)
        } else {
            return
        }
        searched -= start
        end = held
        start = 0
    }
}
