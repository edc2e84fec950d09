internal import Glibc
package import Reactor

/// Splits the bytes of a stream into lines.
///
/// A line longer than `limit` is discarded as it comes and reported once. Between lines the buffer holds one chunk at
/// most; during a long line, that line and one chunk.
package struct LineBuffer: ~Copyable {
    /// A result of `next`.
    package enum Item {
        /// A whole line without its newline; valid until the next call of any method.
        case line(UnsafeBufferPointer<UInt8>)
        /// An over-long line of this many bytes.
        case tooLong(Int)
    }

    /// The most bytes of one read.
    package static let chunk = 128 << 10

    /// The longest line in bytes, without newline.
    package var limit: Int
    /// The number of the line that `next` returned last, from 1.
    package private(set) var number = 0
    private var memory: UnsafeMutableRawBufferPointer
    /// The used range of the memory.
    private var start = 0
    private var end = 0
    /// The end of the range without a newline.
    private var searched = 0
    /// The discarded bytes of an over-long line; 0 when there is none.
    private var skipped = 0

    /// - Parameter limit: the longest line in bytes, without newline.
    package init(limit: Int) {
        self.limit = limit
        memory = .allocate(byteCount: Self.chunk, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// The allocated bytes.
    package var capacity: Int { memory.count }

    /// Whether `next` may return lines before more is read.
    package var hasBytes: Bool { searched < end }

    /// Reads once from the stream, after `next` has returned nil.
    ///
    /// - Returns: the result of the stream's `read`.
    package mutating func fill(from stream: any ByteStream) throws(SystemError) -> Int? {
        makeRoom()
        // In bounds, and not empty: `makeRoom` has left half a chunk at least.
        let room = UnsafeMutableRawBufferPointer(rebasing: memory[end...])
        guard let count = try stream.read(into: room) else { return nil }
        end += count
        return count
    }

    /// Returns the next line; nil when more bytes are needed.
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

    /// Returns the last line, when the stream has ended without a newline after it.
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

    /// Discards the bytes of a line that is too long.
    private mutating func skip() {
        skipped += end - start
        start = end
    }

    /// Moves the unfinished line to the front, and grows or shrinks the memory as that line requires.
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

/// Bytes read from standard input and not yet parsed. There is one standard input, however often a reload changes how
/// it is read.
package final class StdinLines {
    /// Its limit is set by the input that reads.
    var buffer = LineBuffer(limit: 1 << 20)

    package init() {}
}
