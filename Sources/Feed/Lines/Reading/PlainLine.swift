package import Reactor

/// A data, latency or window line exactly as an agent writes it, parsed in one pass: all of it is JSON that every
/// reader accepts, with the format's keys in their order. `LineDecoder` decodes any other line.
///
/// It does not decode names, only locates them: lines with the same bytes there have the same names as one decoded
/// before. Nor does it read the word that a value stands for: such lines are seldom.
package struct PlainLine: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case data
        case latency
        /// Left to the decoder: only its sequence number and time are known.
        case window
    }

    package let kind: Kind
    package let sequence: Int
    package let time: Timestamp
    /// The range of `"type":"…","source":"…","series":"…"` in the line; in a latency line that of
    /// `"type":"latency","source":"…","endpoint":"…","status":200`; in a window line that of its type.
    let names: Range<Int>
    /// In a latency line its milliseconds; in a window line nil.
    let value: Double?

    /// Nil for every other line.
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        guard line.count <= LineEncoder.longestLine, var walk = LineWalk(UnsafeRawBufferPointer(line)),
            walk.skip("{\"seq\":"), let sequence = walk.sequence(), walk.skip(",\"time\":\""),
            let time = walk.time(), walk.skip("\",")
        else { return nil }
        let start = walk.offset
        guard walk.skip("\"type\":") else { return nil }
        var value: Double?
        if walk.skip("\"latency\",") {
            kind = .latency
            guard walk.skip("\"source\":"), walk.string(), walk.skip(",\"endpoint\":"), walk.string(),
                walk.skip(",\"status\":"), walk.count()
            else { return nil }
            names = start..<walk.offset
            guard walk.skip(",\"ms\":"), let number = walk.number(), walk.restOfLatency() else { return nil }
            value = LineMembers.milliseconds(number)
        } else if walk.skip("\"window\",") {
            kind = .window
            names = start..<walk.offset
            guard walk.restOfWindow() else { return nil }
        } else {
            kind = .data
            guard walk.string(), walk.skip(",\"source\":"), walk.string(), walk.skip(",\"series\":"), walk.string()
            else { return nil }
            names = start..<walk.offset
            if walk.skip(",\"value\":") {
                guard let number = walk.number() else { return nil }
                value = number
            }
            if walk.skip(",\"text\":"), !walk.string() { return nil }
            if walk.skip(",\"data\":"), !walk.value() { return nil }
            _ = walk.skip(",\"truncated\":true")
            _ = walk.skip(",\"altered\":true")
        }
        guard walk.skip("}"), walk.offset == line.count, walk.flaws.isEmpty else { return nil }
        self.sequence = sequence
        self.time = time
        self.value = value
    }
}

extension LineWalk {
    /// Moves past the members after a latency line's `ms`.
    @inline(__always)
    fileprivate mutating func restOfLatency() -> Bool {
        skip(",\"dns_ms\":") && skipNumber() && skip(",\"connect_ms\":") && skipNumber()
            && skip(",\"tls_ms\":") && skipNumber() && skip(",\"wait_ms\":") && skipNumber()
            && skip(",\"receive_ms\":") && skipNumber() && skip(",\"bytes\":") && count()
            && skip(",\"reused\":") && (skip("true") || skip("false")) && skip(",\"late_ms\":") && skipNumber()
    }

    /// Moves past the members after a window line's type.
    @inline(__always)
    fileprivate mutating func restOfWindow() -> Bool {
        guard skip("\"source\":"), string(), skip(",\"series\":"), string(), skip(",\"start\":\""), time() != nil,
            skip("\",\"seconds\":"), let seconds = number(), 1...31_556_952 ~= seconds,
            skip(",\"last\":"), skipNumber(), skip(",\"last_seq\":"), sequence() != nil, skip(",\"count\":"),
            sequence() != nil, skip(",\"min\":"), skipNumber(), skip(",\"max\":"), skipNumber(), skip(",\"mean\":"),
            skipNumber()
        else { return false }
        if skip(",\"band\":"), !string() { return false }
        if skip(",\"trend\":"), !string() { return false }
        return true
    }
}
