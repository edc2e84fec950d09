internal import Glibc

/// Cuts a stream of bytes into lines, whatever chunks it comes in.
///
/// A line that lies inside one chunk is a slice of it; only one that crosses chunks is copied. Holds at most `limit` bytes of an
/// unfinished line, besides the chunk it was given last. A longer line is skipped up to its newline and reported once.
package struct LineSplitter: Sendable {
    package enum Item: Sendable, Equatable {
        /// A whole line without its newline; may be empty.
        case line(Bytes)
        /// A line of `length` bytes, newline not counted, that was too long and has been skipped.
        case tooLong(length: Int)
    }

    /// The longest line in bytes, newline not counted.
    package let limit: Int

    /// What is left of the last chunk.
    private var chunk: Bytes = []
    /// The start of a line whose end has not come.
    private var partial: [UInt8] = []
    /// How much of an over-long line has gone by; 0 when there is none.
    private var skipped = 0

    package init(limit: Int = 1 << 20) { self.limit = limit }

    /// How many bytes of unfinished lines and unread chunks it holds.
    package var held: Int { chunk.count + partial.count }

    /// Whether the line that has not ended yet is too long already, so that it will be reported as such when it ends.
    package var isSkipping: Bool { skipped > 0 }

    /// Takes the next bytes of the stream; call `next` until it gives nil before pushing more, or the rest is copied.
    package mutating func push(_ bytes: Bytes) {
        if chunk.isEmpty { chunk = bytes } else { chunk += bytes }
    }

    /// The next whole line; nil when more bytes are needed.
    package mutating func next() -> Item? {
        guard !chunk.isEmpty else { return nil }
        guard let newline = newline() else {
            keep(chunk)
            chunk = []
            return nil
        }
        let line = chunk[..<newline]
        chunk = chunk[(newline + 1)...]
        return end(with: line)
    }

    /// The last line, when the stream has ended without a newline after it. Leaves the splitter as new.
    package mutating func finish() -> Item? {
        while let item = next() { return item }
        return partial.isEmpty && skipped == 0 ? nil : end(with: [])
    }

    /// The line that ends with these bytes.
    private mutating func end(with bytes: Bytes) -> Item {
        if skipped == 0, partial.isEmpty {
            return bytes.count <= limit ? .line(bytes) : .tooLong(length: bytes.count)
        }
        keep(bytes)
        defer {
            partial = []
            skipped = 0
        }
        return skipped > 0 ? .tooLong(length: skipped) : .line(partial[...])
    }

    /// Remembers a part of a line, or only its length when the line is too long.
    private mutating func keep(_ bytes: Bytes) {
        if skipped == 0, partial.count + bytes.count <= limit {
            partial += bytes
        } else {
            skipped += partial.count + bytes.count
            partial = []
        }
    }

    /// Where the chunk's first newline is; `memchr` is several times as fast as a loop.
    private func newline() -> Int? {
        chunk.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base, 0x0A, bytes.count) else { return nil }
            return chunk.startIndex + (UnsafeRawPointer(found) - base)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Calls `body` with every whole line, without its newline.
    @inline(__always)
    package func forEachLine<Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard var start = baseAddress else { return }
        let end = start + count
        while start < end, let newline = memchr(start, 0x0A, end - start) {
            let line = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(newline) - start)
            try body(line)
            start += line.count + 1
        }
    }
}
