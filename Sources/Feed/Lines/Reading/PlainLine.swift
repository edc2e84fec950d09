internal import Glibc
package import Reactor

/// A line of a data event, an answer or a window as an agent writes it, gone over once: all of it is JSON that every reader
/// takes, and its keys are those of the format in their order. Any other line is `LineDecoder`'s.
///
/// What its names say is not looked at, only where they stand: of lines of which one was decoded they say the same again.
package struct PlainLine: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case data
        case latency
        /// One that the decoder takes: nothing of it is known but its number and its time.
        case window
    }

    package let kind: Kind
    package let sequence: Int
    package let time: Timestamp
    /// Where `"type":"…","source":"…","series":"…"` stands in the line; of an answer `"type":"latency","source":"…",
    /// "endpoint":"…","status":200`; of a window its type.
    let names: Range<Int>
    /// Of an answer its milliseconds; nil of a window.
    let value: Double?

    /// Nil for every other line.
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        guard let base = line.baseAddress, line.count <= LineEncoder.longestLine else { return nil }
        var walk = Walk(tokens: JSONTokens(base: base, count: line.count))
        guard walk.skip("{\"seq\":"), let sequence = walk.sequence(), walk.skip(",\"time\":\""),
            let time = walk.time(), walk.skip("\",")
        else { return nil }
        let start = walk.place
        guard walk.skip("\"type\":") else { return nil }
        var value: Double?
        if walk.skip("\"latency\",") {
            kind = .latency
            guard walk.skip("\"source\":"), walk.string(), walk.skip(",\"endpoint\":"), walk.string(),
                walk.skip(",\"status\":"), walk.count()
            else { return nil }
            names = start..<walk.place
            guard walk.skip(",\"ms\":"), let number = walk.number(in: line), walk.restOfLatency() else { return nil }
            value = LineMembers.milliseconds(number)
        } else if walk.skip("\"window\",") {
            kind = .window
            names = start..<walk.place
            guard walk.restOfWindow(in: line) else { return nil }
        } else {
            kind = .data
            guard walk.string(), walk.skip(",\"source\":"), walk.string(), walk.skip(",\"series\":"), walk.string()
            else { return nil }
            names = start..<walk.place
            if walk.skip(",\"value\":") {
                guard let number = walk.number(in: line) else { return nil }
                value = number
            }
            if walk.skip(",\"text\":"), !walk.string() { return nil }
            if walk.skip(",\"data\":"), !walk.value(in: line) { return nil }
            _ = walk.skip(",\"truncated\":true")
            _ = walk.skip(",\"altered\":true")
        }
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

        /// Over a number, whatever it is.
        @inline(__always)
        mutating func number() -> Bool {
            guard tokens[place] == UInt8(ascii: "-") || tokens[place] &- UInt8(ascii: "0") < 10,
                let end = try? tokens.number(from: place, &flaws)
            else { return false }
            place = end
            return true
        }

        @inline(__always)
        mutating func number(in line: UnsafeBufferPointer<UInt8>) -> Double? {
            let start = place
            return number() ? JSONNumber.double(UnsafeBufferPointer(rebasing: line[start..<place])) : nil
        }

        /// Over a whole number from 0 on.
        @inline(__always)
        mutating func count() -> Bool {
            if tokens[place] != UInt8(ascii: "0") { return sequence() != nil }
            place &+= 1
            return true
        }

        /// Behind an answer's `ms`.
        @inline(__always)
        mutating func restOfLatency() -> Bool {
            skip(",\"dns_ms\":") && number() && skip(",\"connect_ms\":") && number() && skip(",\"tls_ms\":") && number()
                && skip(",\"wait_ms\":") && number() && skip(",\"receive_ms\":") && number() && skip(",\"bytes\":")
                && count() && skip(",\"reused\":") && (skip("true") || skip("false")) && skip(",\"late_ms\":")
                && number()
        }

        /// Behind a window's type.
        @inline(__always)
        mutating func restOfWindow(in line: UnsafeBufferPointer<UInt8>) -> Bool {
            guard skip("\"source\":"), string(), skip(",\"series\":"), string(), skip(",\"start\":\""), time() != nil,
                skip("\",\"seconds\":"), let seconds = number(in: line), 1...31_556_952 ~= seconds,
                skip(",\"last\":"), number(), skip(",\"last_seq\":"), sequence() != nil, skip(",\"count\":"),
                sequence() != nil, skip(",\"min\":"), number(), skip(",\"max\":"), number(), skip(",\"mean\":"),
                number()
            else { return false }
            if skip(",\"band\":"), !string() { return false }
            if skip(",\"trend\":"), !string() { return false }
            if skip(",\"revision\":"), !count() { return false }
            return true
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
