internal import Reactor

/// Writes the pieces of a line into memory that its caller has reserved.
///
/// It does no bounds checks, so that the hot path consists only of stores: the caller reserves the most that the pieces
/// can need, by the `most…` figures here.
package struct LineWriter {
    package private(set) var next: UnsafeMutablePointer<UInt8>

    package init(_ start: UnsafeMutablePointer<UInt8>) { next = start }

    /// The most bytes that `count` bytes of text become: each one as `\u00XX`.
    package static func mostEscaped(_ count: Int) -> Int { count * 6 }
    /// The most bytes of a number, an integer or a `Double`.
    package static let mostNumber = 32

    /// Runs `body` with room for `most` bytes and returns the bytes that it wrote.
    package static func bytes(atMost most: Int, _ body: (inout LineWriter) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = LineWriter(start)
            body(&writer)
            count = writer.next - start
            precondition(count <= most, "more was written than was reserved for it")
        }
    }

    /// A number as lines have it.
    package static func text(of number: Double) -> String {
        String(decoding: bytes(atMost: mostNumber) { $0.number(number) }, as: UTF8.self)
    }

    /// A text as JSON, quotes included.
    static func quoted(_ text: String) -> [UInt8] {
        bytes(atMost: 2 + mostEscaped(text.utf8.count)) { $0.string(text) }
    }

    @inline(__always)
    package mutating func byte(_ byte: UInt8) {
        next.pointee = byte
        next += 1
    }

    /// Writes a literal of the program: ASCII that needs no escape.
    @inline(__always)
    package mutating func raw(_ text: StaticString) {
        UnsafeMutableRawPointer(next).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        next += text.utf8CodeUnitCount
    }

    /// Writes bytes that are JSON already.
    @inline(__always)
    package mutating func raw(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(next).copyMemory(from: start, byteCount: bytes.count)
        next += bytes.count
    }

    /// Writes bytes that are JSON already.
    @inline(__always)
    package mutating func raw(_ bytes: Bytes) {
        bytes.withUnsafeBufferPointer { raw($0) }
    }

    /// Writes a decimal integer.
    package mutating func integer(_ value: Int) {
        if value < 0 { byte(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits = 1
        var bound: UInt = 10
        while digits < 20, rest >= bound {
            digits += 1
            let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
            if overflow { break }
            bound = next
        }
        var place = next + digits
        next = place
        for _ in 0..<digits {
            let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
            place -= 1
            place.pointee = UInt8(truncatingIfNeeded: remainder) &+ 48
            rest = quotient
        }
    }

    /// Writes a finite number, in the fewest digits that read back as an equal number; whole numbers without a
    /// fraction, so that a negative zero becomes 0.
    package mutating func number(_ value: Double) {
        if let whole = Int(exactly: value), whole.magnitude < 1 << 53 {
            return integer(whole)
        }
        var text = value.description  // shortest round trip; valid JSON if finite
        text.withUTF8 { raw($0) }
    }

    /// The upper bound of durations in milliseconds, exclusive.
    static let mostMilliseconds = 1e12

    /// Whole microseconds of a duration in milliseconds; 0 if it is negative, not finite, or at least 10¹².
    private static func microseconds(_ milliseconds: Double) -> Int {
        let clamped = milliseconds > 0 && milliseconds < mostMilliseconds ? milliseconds : 0
        return Int((clamped * 1_000).rounded())
    }

    /// The number that a decoder reads where `milliseconds` wrote `value`.
    package static func readBack(milliseconds value: Double) -> Double { Double(microseconds(value)) / 1_000 }

    /// Writes milliseconds with up to three decimals, without trailing zeros; 0 if negative, not finite, or at least
    /// 10¹².
    package mutating func milliseconds(_ value: Double) {
        let microseconds = Self.microseconds(value)
        integer(microseconds / 1_000)
        var fraction = microseconds % 1_000
        guard fraction > 0 else { return }
        byte(UInt8(ascii: "."))
        var divisor = 100
        while fraction > 0 {
            byte(UInt8(truncatingIfNeeded: fraction / divisor) &+ 48)
            fraction %= divisor
            divisor /= 10
        }
    }

    package mutating func bool(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    /// Writes a JSON string with its quotes; see `mostEscaped`.
    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string($0) }
    }

    /// Writes UTF-8 as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD.
    package mutating func string(_ text: UnsafeBufferPointer<UInt8>) {
        byte(UInt8(ascii: "\""))
        if let start = text.baseAddress { escape(start, text.count) }
        byte(UInt8(ascii: "\""))
    }
}

/// Members of an object, after its brace or another member: a key that needs no escape, and the value; nothing for nil.
extension LineWriter {
    @inline(__always)
    mutating func key(_ key: StaticString) {
        if next[-1] != UInt8(ascii: "{") { raw(",") }
        raw("\"")
        raw(key)
        raw("\":")
    }

    private mutating func member<Value>(
        _ key: StaticString, _ value: Value?, _ write: (inout LineWriter, Value) -> Void
    ) {
        guard let value else { return }
        self.key(key)
        write(&self, value)
    }

    mutating func integer(_ key: StaticString, _ value: Int?) { member(key, value) { $0.integer($1) } }
    mutating func number(_ key: StaticString, _ value: Double?) { member(key, value) { $0.number($1) } }
    mutating func milliseconds(_ key: StaticString, _ value: Double) { member(key, value) { $0.milliseconds($1) } }
    mutating func bool(_ key: StaticString, _ value: Bool) { member(key, value) { $0.bool($1) } }
    mutating func string(_ key: StaticString, _ value: String?) { member(key, value) { $0.string($1) } }
    mutating func time(_ key: StaticString, _ value: Timestamp?) {
        var text = TimestampText()
        member(key, value) { text.write($1, to: &$0) }
    }

    /// Writes an object with the members that `write` adds.
    mutating func object(_ key: StaticString, _ write: (inout LineWriter) -> Void) {
        self.key(key)
        raw("{")
        write(&self)
        raw("}")
    }

    /// Writes an array of objects, their members by `write`, until one no longer `fits`; returns the number left out.
    @discardableResult
    mutating func list<Element>(
        _ key: StaticString, _ elements: [Element],
        while fits: (Element, LineWriter) -> Bool = { _, _ in true },
        _ write: (Element, inout LineWriter) -> Void
    ) -> Int {
        self.key(key)
        raw("[")
        var written = 0
        while written < elements.count, fits(elements[written], self) {
            raw(written == 0 ? "{" : ",{")
            write(elements[written], &self)
            raw("}")
            written += 1
        }
        raw("]")
        return elements.count - written
    }
}
