internal import Feed
internal import Glibc

/// Lines as Server-Sent Events (HTML Living Standard, section 9.2): each is the data of an event without a name,
/// because types of lines come from outside, and `error` is the browser's own.
enum EventFraming {
    /// The events of some lines of a span.
    struct Piece {
        var bytes: [UInt8] = []
        /// The bytes of the lines that were read.
        var length = 0
        /// The sequence number of the next line.
        var next: Int
    }

    /// The start of the first event: how long a browser waits before it reconnects. By itself it would be an event
    /// without data, which browsers ignore but other readers do not.
    static let opening = Array("retry: 2000\n".utf8)

    // Events made for an event stream: 16 KiB and one line; rest once these are written.
    static let mostBytes = 16 << 10

    /// Returns the events of the next lines of a span, each with the id `RUN-SEQ`.
    ///
    /// - Parameters:
    ///   - offset: the start of the first line.
    ///   - sequence: its sequence number.
    static func events(
        of span: LineSpan, from offset: Int, _ sequence: Int, run: String, _ filter: LineFilter?
    ) -> Piece {
        let id = idField(run)
        var piece = Piece(next: sequence)
        span.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            piece.bytes.reserveCapacity(min(rest.count, mostBytes) * 5 / 4 + 64)
            while !rest.isEmpty, piece.bytes.count < mostBytes {
                let line = UnsafeRawBufferPointer(rebasing: rest[..<length(of: rest)])
                if filter?.admits(line) != false { append(line, id, piece.next, to: &piece.bytes) }
                piece.length += line.count
                piece.next += 1
                rest = UnsafeRawBufferPointer(rebasing: rest[line.count...])
            }
        }
        return piece
    }

    /// The start of the ids of a run's lines.
    static func idField(_ run: String) -> [UInt8] { Array("id: \(run)-".utf8) }

    /// Appends the event of a line that includes its newline.
    ///
    /// - Parameter id: the result of `idField`.
    static func append(
        _ line: UnsafeRawBufferPointer, _ id: [UInt8], _ sequence: Int, to bytes: inout [UInt8]
    ) {
        bytes += id
        bytes += LineWriter.bytes(atMost: LineWriter.mostNumber) { $0.integer(sequence) }
        bytes.append(UInt8(ascii: "\n"))
        append(line, to: &bytes)
    }

    /// The events of lines without a sequence number, and so without an id.
    static func events(of lines: [UInt8]) -> [UInt8] {
        var events: [UInt8] = []
        lines.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = length(of: rest)
                append(UnsafeRawBufferPointer(rebasing: rest[..<count]), to: &events)
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        return events
    }

    /// The rest of the event that is partly within `written` bytes; empty when an event ends there.
    static func rest(of bytes: UnsafeRawBufferPointer, from written: Int) -> [UInt8] {
        var end = max(written, 2)
        while end < bytes.count, bytes[end - 2] != 0x0A || bytes[end - 1] != 0x0A { end += 1 }
        return Array(bytes[min(written, end)..<end])
    }

    /// The length of the first line, including its newline.
    private static func length(of bytes: UnsafeRawBufferPointer) -> Int {
        guard let start = bytes.baseAddress, let newline = memchr(start, 0x0A, bytes.count) else { return bytes.count }
        return UnsafeRawPointer(newline) - start + 1
    }

    /// Appends an event's data: a line and the empty line that ends the event.
    private static func append(_ line: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes += dataField
        let start = bytes.count
        bytes += line
        // White space in another agent's line, which would end the event's field.
        if let first = line.baseAddress, memchr(first, 0x0D, line.count) != nil {
            for index in start..<bytes.count where bytes[index] == 0x0D { bytes[index] = 0x20 }
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static let dataField = Array("data: ".utf8)
}
