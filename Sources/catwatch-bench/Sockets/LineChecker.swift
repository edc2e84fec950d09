internal import Feed
internal import Glibc

/// Follows one reader's bytes: checks that each line comes complete, once and in order. Cheap, because a thousand of
/// them share a thread.
final class LineChecker {
    /// The counts of all readers of a scenario together.
    struct Tally {
        var lines = 0
        var lost = 0
        var repeated = 0
        var torn = 0
        var gaps = 0
    }

    /// The format of a reader's bytes.
    enum Form {
        case lines
        /// An HTTP response whose body is Server-Sent Events.
        case events
    }

    private let form: Form
    private var carry: [UInt8] = []
    /// For a response: whether its head is complete; for the current event: the number in its id, and if it has a name.
    private var isInBody = false
    private var id: Int?
    private var isNamed = false
    /// The sequence number of the next line; nil before the first.
    private(set) var next: Int?
    /// The last sequence number by `bye`; nil before it.
    private(set) var last: Int?

    /// - Parameter next: the first sequence number, if known.
    init(next: Int? = nil, of form: Form = .lines) {
        self.next = next
        self.form = form
    }

    /// Whether every line up to the last one has come.
    var isComplete: Bool { last.map { $0 + 1 == next } ?? false }

    func check(_ bytes: UnsafeRawBufferPointer, _ reference: LineReference, _ tally: inout Tally, now: Int64? = nil) {
        var rest = bytes
        if !carry.isEmpty {
            guard let end = Self.lineEnd(rest) else { return carry.append(contentsOf: rest) }
            carry.append(contentsOf: rest[..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            carry.withUnsafeBytes { line($0, reference, &tally, now) }
            carry.removeAll(keepingCapacity: true)
        }
        while let end = Self.lineEnd(rest) {
            line(UnsafeRawBufferPointer(rebasing: rest[..<end]), reference, &tally, now)
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
        carry.append(contentsOf: rest)
    }

    private func line(
        _ line: UnsafeRawBufferPointer, _ reference: LineReference, _ tally: inout Tally, _ now: Int64?
    ) {
        switch form {
        case .lines: feed(line, reference, &tally, now)
        case .events: field(line, reference, &tally, now)
        }
    }

    /// Reads a line of the head, or a field of an event; an event's only data is a line of the feed.
    private func field(
        _ field: UnsafeRawBufferPointer, _ reference: LineReference, _ tally: inout Tally, _ now: Int64?
    ) {
        guard isInBody else {
            isInBody = field.count == 2
            return
        }
        switch field[0] {
        case 0x0A: (id, isNamed) = (nil, false)
        case UInt8(ascii: "i"): id = Self.number(atEndOf: field)
        case UInt8(ascii: "d") where field.count > 6:
            guard !isNamed else { return }  // a heartbeat
            let line = UnsafeRawBufferPointer(rebasing: field[6...])
            if Self.sequence(line) != id { tally.torn += 1 }
            feed(line, reference, &tally, now)
        case UInt8(ascii: "e"): isNamed = true
        case UInt8(ascii: "r"): break  // the retry time
        default: tally.torn += 1
        }
    }

    private func feed(
        _ line: UnsafeRawBufferPointer, _ reference: LineReference, _ tally: inout Tally, _ now: Int64?
    ) {
        guard let sequence = Self.sequence(line) else { return control(line, &tally) }
        if let next, sequence < next {
            tally.repeated += 1
            if !reference.check(line, sequence, now: nil) { tally.torn += 1 }
            return
        }
        if let next { tally.lost += sequence - next }
        next = sequence + 1
        tally.lines += 1
        if !reference.check(line, sequence, now: now) { tally.torn += 1 }
    }

    private func control(_ line: UnsafeRawBufferPointer, _ tally: inout Tally) {
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("{\"type\":\"gap\"") {
            tally.gaps += 1
        } else if text.hasPrefix("{\"type\":\"bye\"") {
            last = Self.lastSequence(line)
        } else if !text.hasPrefix("{\"type\":") || !text.hasSuffix("}\n") {
            tally.torn += 1
        }
    }

    /// The `last_seq` of a `bye` line.
    private static func lastSequence(_ line: UnsafeRawBufferPointer) -> Int? {
        line.index(behind: "\"last_seq\":").map { number(line, from: $0) }
    }

    /// The sequence number at the beginning of a line; nil for a line without one.
    private static func sequence(_ line: UnsafeRawBufferPointer) -> Int? {
        guard line.count > 10, line[0] == UInt8(ascii: "{"), line[2] == UInt8(ascii: "s"), line[4] == UInt8(ascii: "q"),
            line[6] == UInt8(ascii: ":")
        else { return nil }
        return number(line, from: 7)
    }

    private static func number(_ line: UnsafeRawBufferPointer, from start: Int) -> Int {
        var number = 0
        var index = start
        while index < line.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[index]) {
            number = number &* 10 &+ Int(line[index] - UInt8(ascii: "0"))
            index += 1
        }
        return number
    }

    /// The number before the newline.
    private static func number(atEndOf line: UnsafeRawBufferPointer) -> Int {
        var start = line.count - 1
        while start > 0, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[start - 1]) { start -= 1 }
        return number(line, from: start)
    }

    /// The index behind the first newline.
    private static func lineEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let newline = memchr(base, 0x0A, bytes.count) else { return nil }
        return UnsafeRawPointer(newline) - base + 1
    }
}

extension UnsafeRawBufferPointer {
    /// The index behind the first occurrence of a text.
    func index(behind text: StaticString) -> Int? {
        let length = text.utf8CodeUnitCount
        guard let base = baseAddress, length <= count else { return nil }
        // In bounds: `length` bytes follow each of these offsets.
        for offset in 0...count - length where memcmp(base + offset, text.utf8Start, length) == 0 {
            return offset + length
        }
        return nil
    }
}
