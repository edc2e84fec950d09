internal import Glibc
package import Reactor

/// A data line as an agent writes it, gone over once: all of it is JSON that every reader takes, and its keys are those of
/// the format in their order. Any other line is `LineDecoder`'s.
///
/// What its names say is not looked at, only where they stand: of a series that was decoded once they say the same again.
package struct PlainLine: Sendable, Equatable {
    package let sequence: Int
    package let time: Timestamp
    /// Where `"type":"…","source":"…","series":"…"` stands in the line.
    let names: Range<Int>
    let value: Double?

    /// Nil for every other line.
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        guard let base = line.baseAddress, line.count <= LineEncoder.longestLine else { return nil }
        var walk = Walk(tokens: JSONTokens(base: base, count: line.count))
        guard walk.skip("{\"seq\":"), let sequence = walk.sequence(), walk.skip(",\"time\":\""),
            let time = walk.time(), walk.skip("\",")
        else { return nil }
        let start = walk.place
        guard walk.skip("\"type\":"), walk.string(), walk.skip(",\"source\":"), walk.string(),
            walk.skip(",\"series\":"), walk.string()
        else { return nil }
        names = start..<walk.place
        var value: Double?
        if walk.skip(",\"value\":") {
            guard let number = walk.number(in: line) else { return nil }
            value = number
        }
        if walk.skip(",\"text\":"), !walk.string() { return nil }
        if walk.skip(",\"data\":"), !walk.value(in: line) { return nil }
        _ = walk.skip(",\"truncated\":true")
        _ = walk.skip(",\"altered\":true")
        guard walk.skip("}"), walk.place == line.count, walk.flaws.isEmpty else { return nil }
        self.sequence = sequence
        self.time = time
        self.value = value
    }

    private struct Walk {
        let tokens: JSONTokens
        var place = 0
        var flaws: JSONFlaws = []

        /// Over a text, if it is the next.
        @inline(__always)
        mutating func skip(_ text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard place &+ count <= tokens.count, memcmp(tokens.base + place, text.utf8Start, count) == 0 else {
                return false
            }
            place &+= count
            return true
        }

        /// From 1 to what has 18 digits.
        @inline(__always)
        mutating func sequence() -> Int? {
            let start = place
            var number = 0
            while case let digit = tokens[place] &- UInt8(ascii: "0"), digit < 10, place &- start < 19 {
                number = number &* 10 &+ Int(digit)
                place &+= 1
            }
            guard 1...18 ~= place &- start, tokens[start] != UInt8(ascii: "0") else { return nil }
            return number
        }

        /// In the form in which an agent writes it.
        @inline(__always)
        mutating func time() -> Timestamp? {
            guard place &+ 27 <= tokens.count else { return nil }
            defer { place &+= 27 }
            return RFC3339.parse(UnsafeBufferPointer(start: tokens.base + place, count: 27))
        }

        @inline(__always)
        mutating func string() -> Bool {
            guard tokens[place] == UInt8(ascii: "\""), let end = try? tokens.string(from: place &+ 1, &flaws) else {
                return false
            }
            place = end
            return true
        }

        @inline(__always)
        mutating func number(in line: UnsafeBufferPointer<UInt8>) -> Double? {
            let start = place
            guard tokens[start] == UInt8(ascii: "-") || tokens[start] &- UInt8(ascii: "0") < 10,
                let end = try? tokens.number(from: start, &flaws)
            else { return nil }
            place = end
            return JSONNumber.double(UnsafeBufferPointer(rebasing: line[start..<end]))
        }

        @inline(__always)
        mutating func value(in line: UnsafeBufferPointer<UInt8>) -> Bool {
            var scanner = JSONScanner(line, at: place)
            guard (try? scanner.value()) != nil else { return false }
            place = scanner.position
            flaws.formUnion(scanner.flaws)
            return true
        }
    }
}
