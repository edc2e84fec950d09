internal import Feed
internal import Glibc

/// Lines as Server-Sent Events (HTML Living Standard, section 9.2): each the data of an event without a name, as types of lines
/// are anybody's, and `error` is the browser's own.
enum EventFraming {
    /// Events of some lines, wherever these lie in a span.
    struct Piece {
        var bytes: [UInt8] = []
        /// How many bytes the lines have that were looked at.
        var length = 0
        /// The number of the line behind them.
        var next: Int
    }

    /// What the first event begins with: how long a browser waits before it comes back. Alone it would be an event without
    /// data, which a browser passes over and other readers do not.
    static let opening = Array("retry: 2000\n".utf8)

    /// Of a piece, about: a line more, however long it is.
    static let mostBytes = 16 << 10

    /// Events of the next lines of a span, each with the id `RUN-SEQ`.
    ///
    /// - Parameters:
    ///   - offset: where the first one begins.
    ///   - sequence: its number.
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

    /// What the ids of a run's lines begin with.
    static func idField(_ run: String) -> [UInt8] { Array("id: \(run)-".utf8) }

    /// Adds the event of a line with its newline.
    ///
    /// - Parameter id: as `idField` has it.
    static func append(
        _ line: UnsafeRawBufferPointer, _ id: [UInt8], _ sequence: Int, to bytes: inout [UInt8]
    ) {
        bytes += id
        bytes += LineWriter.bytes(atMost: LineWriter.mostNumber) { $0.integer(sequence) }
        bytes.append(UInt8(ascii: "\n"))
        append(line, to: &bytes)
    }

    /// Events of lines that have no number, and so no id.
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

    /// What is left of the event that is under way behind `written` bytes; nothing, when that is where one ends.
    static func rest(of bytes: UnsafeRawBufferPointer, from written: Int) -> [UInt8] {
        var end = max(written, 2)
        while end < bytes.count, bytes[end - 2] != 0x0A || bytes[end - 1] != 0x0A { end += 1 }
        return Array(bytes[min(written, end)..<end])
    }

    /// How long the first line is, its newline included.
    private static func length(of bytes: UnsafeRawBufferPointer) -> Int {
        guard let start = bytes.baseAddress, let newline = memchr(start, 0x0A, bytes.count) else { return bytes.count }
        return UnsafeRawPointer(newline) - start + 1
    }

    /// An event's data: a line, which ends it, and an empty one.
    private static func append(_ line: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes += dataField
        let start = bytes.count
        bytes += line
        // White space of another agent's line, where an event's field would end.
        if let first = line.baseAddress, memchr(first, 0x0D, line.count) != nil {
            for place in start..<bytes.count where bytes[place] == 0x0D { bytes[place] = 0x20 }
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static let dataField = Array("data: ".utf8)
}
