internal import Glibc
package import Reactor

/// The head of a numbered line, read where an agent writes it:
/// `{"seq":1,"time":"2026-11-20T12:52:56.123456Z","type":"…","source":"…","series":"…","value":1`.
///
/// Each part is read on demand, and is nil unless it is exactly in this position: `Decoded` finds it anywhere in a
/// line. The line's bytes must stay in place while this is in use. It never reads outside of them; for bytes that are
/// not valid JSON its results are undefined.
package struct LineHead {
    private let tokens: JSONTokens
    /// The offset of the sequence number's end.
    private let comma: Int
    /// The line's sequence number.
    package let sequence: Int

    /// Nil for a line that does not begin with a sequence number.
    @inline(__always)
    package init?(_ line: UnsafeRawBufferPointer) {
        guard var walk = LineWalk(line), walk.skip("{\"seq\":") else { return nil }
        let start = walk.offset
        guard walk.skipNumber(), let sequence = JSONNumber.integer(walk.bytes(from: start)) else { return nil }
        (tokens, comma, self.sequence) = (walk.tokens, walk.offset, sequence)
    }

    /// The time as it is written, with its quotes.
    @inline(__always)
    var timeText: UnsafeRawBufferPointer? {
        var walk = LineWalk(tokens, at: comma)
        guard walk.skip(",\"time\":"), walk.offset + Self.timeLength <= tokens.count else { return nil }
        return UnsafeRawBufferPointer(start: tokens.base + walk.offset, count: Self.timeLength)
    }

    package var time: Timestamp? {
        guard let text = timeText, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else { return nil }
        return RFC3339.parse(
            UnsafeBufferPointer(rebasing: text.assumingMemoryBound(to: UInt8.self)[1..<Self.timeLength - 1]))
    }

    @inline(__always)
    package var type: Name? { timeText.flatMap { name(",\"type\":", behind: $0) } }

    @inline(__always)
    package var source: Name? { type.flatMap { name(",\"source\":", behind: $0.token) } }

    /// The parts of an event with a value; nil when one of its names needs decoding.
    package var event: Event? {
        guard let text = timeText, let time else { return nil }
        var walk = LineWalk(tokens, at: end(of: text))
        guard walk.skip(",\"type\":") else { return nil }
        let start = walk.offset
        guard let type = walk.plainString() else { return nil }
        let name = Name(token: UnsafeRawBufferPointer(walk.bytes(from: start)))
        // These have their value under another key.
        guard name != "latency", name != "window", walk.skip(",\"source\":"), let source = walk.plainString(),
            walk.skip(",\"series\":"), let series = walk.plainString(), walk.skip(",\"value\":"),
            let value = walk.number()
        else { return nil }
        return Event(time: time, type: type, source: source, series: series, value: value)
    }

    /// The length of `"2026-11-20T12:52:56.123456Z"`, in bytes.
    private static let timeLength = 29

    @inline(__always)
    private func name(_ key: StaticString, behind text: UnsafeRawBufferPointer) -> Name? {
        var walk = LineWalk(tokens, at: end(of: text))
        guard walk.skip(key) else { return nil }
        let start = walk.offset
        return walk.string() ? Name(token: UnsafeRawBufferPointer(walk.bytes(from: start))) : nil
    }

    /// The offset of the end of a part.
    @inline(__always)
    private func end(of text: UnsafeRawBufferPointer) -> Int {
        text.baseAddress.map { UnsafeRawPointer(tokens.base).distance(to: $0) + text.count } ?? 0
    }

    /// The parts of an event with a value. Its names are slices of the line, without their quotes.
    package struct Event {
        package let time: Timestamp
        package let type: UnsafeRawBufferPointer
        package let source: UnsafeRawBufferPointer
        package let series: UnsafeRawBufferPointer
        package let value: Double
    }

    /// A string in the line.
    package struct Name {
        /// As it is written, with its quotes.
        package let token: UnsafeRawBufferPointer

        @inline(__always)
        package static func == (name: Name, text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard name.token.count == count + 2, let start = name.token.baseAddress else { return false }
            return memcmp(start + 1, text.utf8Start, count) == 0
        }

        @inline(__always)
        package static func != (name: Name, text: StaticString) -> Bool { !(name == text) }
    }
}

extension LineHead {
    /// The decoded head of any line, in any order of its keys.
    package struct Decoded: Sendable, Equatable {
        package var time: Timestamp
        package var type: String
        package var source: String?
        package var series: String?
        /// The value of a data event, the last value of a window, the milliseconds of a latency line.
        package var value: Double?

        /// Validates the whole line.
        ///
        /// - Throws: the first fault in the line.
        package init(_ line: UnsafeBufferPointer<UInt8>) throws(LineFault) {
            self = try LineMembers.with(line: line) { members throws(LineFault) in try Decoded(members) }.value
        }

        private init(_ members: borrowing LineMembers) throws(LineFault) {
            time = try members.time(.time)
            type = try members.string(.type)
            source = try? members.stringIfAny(.source)
            // `agent` lines have a number under this key.
            series = try? members.stringIfAny(.series)
            value =
                switch type {
                case "latency": try? members.doubleIfAny(.ms)
                case "window": try? members.doubleIfAny(.last)
                default: try? members.doubleIfAny(.value)
                }
        }
    }
}
