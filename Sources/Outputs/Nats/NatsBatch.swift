internal import Feed

/// Collects lines for one message, or for one message each.
struct NatsBatch {
    /// The content of one message.
    struct Piece: Sendable, Equatable {
        /// Whole lines, each with its newline.
        var bytes: [UInt8]
        /// The sequence numbers of its lines, and of those that a `gap` in it names.
        var numbers: ClosedRange<Int>?
    }

    // Bound: lines on their way to a stream | a message of 256 KiB, or one long line; as much again in nats.c | kept
    //   even if the log drops them; others wait in the log
    /// The most bytes of a message with several lines.
    static let usual = 256 << 10
    /// The extra capacity for a line of our own, such as a `gap` or a `bye`.
    private static let spare = 2 << 10

    private(set) var piece = Piece(bytes: [], numbers: nil)
    /// The most bytes of the message; a longer line gets a message of its own.
    private(set) var capacity = 0
    /// The most bytes of a line.
    private var longest = 0

    /// Begins a new message.
    ///
    /// - Parameter room: the most bytes of a message.
    mutating func begin(room: Int) {
        longest = room - Self.spare
        capacity = min(Self.usual, room) - Self.spare
        piece.bytes.removeAll(keepingCapacity: true)
        piece.numbers = nil
    }

    var isEmpty: Bool { piece.bytes.isEmpty }
    var isFull: Bool { piece.bytes.count >= capacity }

    /// The most bytes of kept lines to add: half of the message, as the rest is for lines of the log.
    var roomForKept: Int { max(0, capacity / 2 - piece.bytes.count) }

    /// Adds kept lines, or one line that may be longer than there is room for; false when the next message is to have it.
    mutating func add(kept lines: [UInt8]) -> Bool {
        guard lines.count <= roomForKept || isEmpty else { return false }
        // One that fits no message is left out.
        if lines.count <= longest { piece.bytes += lines }
        return true
    }

    /// Adds a line of our own about the connection.
    mutating func add(_ line: [UInt8], naming numbers: ClosedRange<Int>? = nil) {
        piece.bytes += line
        if let numbers { extend(by: numbers) }
    }

    /// Adds lines with consecutive sequence numbers, as far as there is room.
    ///
    /// - Returns: how much of them is done, or the first line if it is left out because it fits no message.
    mutating func add(
        _ lines: UnsafeRawBufferPointer, from first: Int
    ) -> (bytes: Int, lines: Int, isLeftOut: Bool) {
        let room = capacity - piece.bytes.count
        var end = lines.count
        if end > room { end = room > 0 ? lines[..<room].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0 : 0 }
        if end == 0, isEmpty {
            end = (lines.firstIndex(of: 0x0A) ?? lines.count - 1) + 1
            if end > longest { return (end, 1, true) }
        }
        guard end > 0 else { return (0, 0, false) }
        let taken = UnsafeRawBufferPointer(rebasing: lines[..<end])
        let count = Self.count(of: taken)
        piece.bytes.append(contentsOf: taken)
        extend(by: first...(first + count - 1))
        return (end, count, false)
    }

    private mutating func extend(by numbers: ClosedRange<Int>) {
        let first = min(piece.numbers?.lowerBound ?? .max, numbers.lowerBound)
        piece.numbers = first...max(piece.numbers?.upperBound ?? .min, numbers.upperBound)
    }

    private static func count(of lines: UnsafeRawBufferPointer) -> Int {
        var count = 0
        for byte in lines where byte == 0x0A { count += 1 }
        return count
    }
}

extension NatsBatch.Piece {
    /// Whether the message is only a gap, which nothing can replace.
    var isGap: Bool { Line.Gap(bytes[...]) != nil }

    /// Splits the message in two; nil when it has only one line.
    var halves: (Self, Self)? {
        let lines = bytes.split(separator: 0x0A)
        guard lines.count > 1 else { return nil }
        let cut = lines[lines.count / 2].startIndex
        var (first, second) = (Self(bytes: Array(bytes[..<cut])), Self(bytes: Array(bytes[cut...])))
        first.numbers = Self.numbers(of: lines[..<(lines.count / 2)])
        second.numbers = Self.numbers(of: lines[(lines.count / 2)...])
        return (first, second)
    }

    private static func numbers(of lines: ArraySlice<ArraySlice<UInt8>>) -> ClosedRange<Int>? {
        let all = lines.compactMap { numbers(of: $0) }
        guard let first = all.first, let last = all.last else { return nil }
        return first.lowerBound...last.upperBound
    }

    /// The line's own sequence number, or those that a `gap` names.
    private static func numbers(of line: ArraySlice<UInt8>) -> ClosedRange<Int>? {
        line.withUnsafeBytes { LineHead($0)?.sequence }.map { $0...$0 } ?? Line.Gap(line)?.numbers
    }

    /// Returns a message for each line, with its origin as additional keys: agent, run and sequence number.
    func lines(agent: String, run: String) -> [Self] {
        bytes.split(separator: 0x0A).map { line in
            let number = line.withUnsafeBytes { LineHead($0)?.sequence }
            var text = Array(line.dropLast())
            text += Array(",\"agent\":\"\(agent)\",\"origin_run\":\"\(run)\"".utf8)
            if let number { text += Array(",\"origin_seq\":\(number)".utf8) }
            text += Array("}\n".utf8)
            return Self(bytes: text, numbers: Self.numbers(of: line))
        }
    }
}
