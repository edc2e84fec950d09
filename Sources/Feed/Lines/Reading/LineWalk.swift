internal import Glibc
internal import Reactor

/// A cursor that moves through a line from left to right, past each part that matches what an agent writes there.
struct LineWalk {
    let tokens: JSONTokens
    /// The cursor's offset in bytes from the line's start.
    var offset: Int
    /// The JSON flaws in the parts passed so far.
    var flaws: JSONFlaws = []

    @inline(__always)
    init(_ tokens: JSONTokens, at offset: Int) { (self.tokens, self.offset) = (tokens, offset) }

    /// Starts at the beginning of a line; nil for an empty buffer without an address.
    @inline(__always)
    init?(_ line: UnsafeRawBufferPointer) {
        guard let base = line.baseAddress else { return nil }
        self.init(JSONTokens(base: base.assumingMemoryBound(to: UInt8.self), count: line.count), at: 0)
    }

    /// Moves past `text`, if that comes next.
    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard offset &+ count <= tokens.count, memcmp(tokens.base + offset, text.utf8Start, count) == 0 else {
            return false
        }
        offset &+= count
        return true
    }

    /// Moves past a whole number from 1, of at most 18 digits.
    @inline(__always)
    mutating func sequence() -> Int? {
        let start = offset
        var number = 0
        while case let digit = tokens[offset] &- UInt8(ascii: "0"), digit < 10, offset &- start < 19 {
            number = number &* 10 &+ Int(digit)
            offset &+= 1
        }
        guard 1...18 ~= offset &- start, tokens[start] != UInt8(ascii: "0") else { return nil }
        return number
    }

    /// Moves past a time as agents write it, without its quotes.
    @inline(__always)
    mutating func time() -> Timestamp? {
        guard offset &+ 27 <= tokens.count,
            let time = RFC3339.parse(UnsafeBufferPointer(start: tokens.base + offset, count: 27))
        else { return nil }
        offset &+= 27
        return time
    }

    /// Moves past a string.
    @inline(__always)
    mutating func string() -> Bool {
        guard tokens[offset] == UInt8(ascii: "\""), let end = try? tokens.string(from: offset &+ 1, &flaws) else {
            return false
        }
        offset = end
        return true
    }

    /// Moves past a string of plain ASCII that needs no decoding; returns its text.
    @inline(__always)
    mutating func plainString() -> UnsafeRawBufferPointer? {
        guard tokens[offset] == UInt8(ascii: "\"") else { return nil }
        let start = offset &+ 1
        let end = tokens.plainEnd(from: start)
        guard tokens[end] == UInt8(ascii: "\""), end &- start <= LineDecoder.stringLimit else { return nil }
        offset = end &+ 1
        return UnsafeRawBufferPointer(start: tokens.base + start, count: end &- start)
    }

    /// Moves past a number in any form.
    @inline(__always)
    mutating func skipNumber() -> Bool {
        guard tokens[offset] == UInt8(ascii: "-") || tokens[offset] &- UInt8(ascii: "0") < 10,
            let end = try? tokens.number(from: offset, &flaws)
        else { return false }
        offset = end
        return true
    }

    @inline(__always)
    mutating func number() -> Double? {
        let start = offset
        return skipNumber() ? JSONNumber.double(bytes(from: start)) : nil
    }

    /// The bytes from `start` to the cursor.
    @inline(__always)
    func bytes(from start: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: tokens.base + start, count: offset &- start)
    }

    /// Moves past a whole number from 0.
    @inline(__always)
    mutating func count() -> Bool {
        if tokens[offset] != UInt8(ascii: "0") { return sequence() != nil }
        offset &+= 1
        return true
    }

    /// Moves past any value.
    @inline(__always)
    mutating func value() -> Bool {
        var scanner = JSONScanner(UnsafeBufferPointer(start: tokens.base, count: tokens.count), at: offset)
        guard (try? scanner.value()) != nil else { return false }
        offset = scanner.position
        flaws.formUnion(scanner.flaws)
        return true
    }
}
