internal import Glibc

/// Splits a stream of bytes into lines, however it is divided into chunks.
///
/// A line within one chunk is a slice of the chunk; only a line that crosses chunks is copied. Besides the latest chunk
/// it holds at most `limit` bytes of an unfinished line. A longer line is skipped up to its newline and reported once.
package struct LineSplitter: Sendable {
    package enum Item: Sendable, Equatable {
        /// A whole line without its newline; may be empty.
        case line(Bytes)
        /// A line of `length` bytes, newline not counted, that was too long and has been skipped.
        case tooLong(length: Int)
    }

    /// The longest line in bytes, newline not counted.
    package let limit: Int

    /// The rest of the last chunk.
    private var chunk: Bytes = []
    /// The start of an unfinished line.
    private var partial: [UInt8] = []
    /// The number of bytes skipped of an over-long line; 0 when there is none.
    private var skipped = 0

    package init(limit: Int = 1 << 20) { self.limit = limit }

    /// The number of bytes that it holds, in an unfinished line and an unread chunk.
    package var held: Int { chunk.count + partial.count }

    /// Whether the unfinished line is too long already, so that its end will be reported as `tooLong`.
    package var isSkipping: Bool { skipped > 0 }

    /// Adds the next bytes of the stream. Call `next` until it returns nil before adding more, or the rest is copied.
    package mutating func push(_ bytes: Bytes) {
        if chunk.isEmpty { chunk = bytes } else { chunk += bytes }
    }

    /// Returns the next whole line; nil when more bytes are needed.
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

    /// Returns the last line, when the stream has ended without a newline. Then resets the splitter.
    package mutating func finish() -> Item? {
        while let item = next() { return item }
        return partial.isEmpty && skipped == 0 ? nil : end(with: [])
    }

    /// Returns the line that ends with these bytes.
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

    /// Keeps a part of a line, or only its length when the line is too long.
    private mutating func keep(_ bytes: Bytes) {
        if skipped == 0, partial.count + bytes.count <= limit {
            partial += bytes
        } else {
            skipped += partial.count + bytes.count
            partial = []
        }
    }

    /// The index of the chunk's first newline; `memchr` is several times as fast as a loop.
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
