internal import Glibc
package import Reactor

/// The head of a numbered line, read where an agent writes it:
/// `{"seq":1,"time":"2026-11-20T12:52:56.123456Z","type":"…","source":"…","series":"…","value":1`.
///
/// Each part is read when it is asked for. It is nil when something else stands in its place: `Decoded` finds it anywhere in a
/// line. The line must be valid JSON, and its bytes must stay where they are for as long as this is used.
package struct LineHead {
    private let tokens: JSONTokens
    /// Where the number ends.
    private let comma: Int
    /// The line's number.
    package let sequence: Int

    /// Nil for a line that does not begin with a number.
    @inline(__always)
    package init?(_ line: UnsafeRawBufferPointer) {
        guard var walk = LineWalk(line), walk.skip("{\"seq\":") else { return nil }
        let start = walk.place
        guard walk.skipNumber(), let sequence = JSONNumber.integer(walk.bytes(from: start)) else { return nil }
        (tokens, comma, self.sequence) = (walk.tokens, walk.place, sequence)
    }

    /// The time as it is written, with its quotes.
    @inline(__always)
    package var timeText: UnsafeRawBufferPointer? {
        var walk = LineWalk(tokens, at: comma)
        guard walk.skip(",\"time\":"), walk.place + Self.timeLength <= tokens.count else { return nil }
        return UnsafeRawBufferPointer(start: tokens.base + walk.place, count: Self.timeLength)
    }

    package var time: Timestamp? {
        guard let text = timeText, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else { return nil }
        return RFC3339.parse(
            UnsafeBufferPointer(rebasing: text.assumingMemoryBound(to: UInt8.self)[1..<Self.timeLength - 1]))
    }

    @inline(__always)
    package var type: Name? { name(",\"type\":", from: comma + ",\"time\":".utf8.count + Self.timeLength) }

    @inline(__always)
    package var source: Name? { type.flatMap { name(",\"source\":", behind: $0) } }

    @inline(__always)
    package var series: Name? { source.flatMap { name(",\"series\":", behind: $0) } }

    /// The value of a data event.
    package var value: Double? {
        // The value of these has another key.
        guard let type, type != "latency", type != "window", let source = name(",\"source\":", behind: type),
            let series = name(",\"series\":", behind: source)
        else { return nil }
        var walk = LineWalk(tokens, at: end(of: series))
        return walk.skip(",\"value\":") ? walk.number() : nil
    }

    /// The length of `"2026-11-20T12:52:56.123456Z"`, in bytes.
    static let timeLength = 29

    @inline(__always)
    private func name(_ key: StaticString, behind name: Name) -> Name? { self.name(key, from: end(of: name)) }

    @inline(__always)
    private func name(_ key: StaticString, from place: Int) -> Name? {
        var walk = LineWalk(tokens, at: place)
        guard walk.skip(key) else { return nil }
        let start = walk.place
        return walk.string() ? Name(token: UnsafeRawBufferPointer(walk.bytes(from: start))) : nil
    }

    @inline(__always)
    private func end(of name: Name) -> Int {
        name.token.baseAddress.map { UnsafeRawPointer(tokens.base).distance(to: $0) + name.token.count } ?? 0
    }

    /// A string in the line.
    package struct Name {
        /// As it is written, with its quotes.
        package let token: UnsafeRawBufferPointer

        /// Its text; nil when that has to be decoded.
        package var text: UnsafeRawBufferPointer? {
            let text = UnsafeRawBufferPointer(rebasing: token[1..<token.count - 1])
            return text.count <= LineDecoder.stringLimit && !text.contains(UInt8(ascii: "\\")) ? text : nil
        }

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
    /// The head of any line, decoded, whatever the order of its keys.
    package struct Decoded: Sendable, Equatable {
        package var time: Timestamp
        package var type: String
        package var source: String?
        package var series: String?
        /// Of a data event its value, of a window its last one, of an answer its milliseconds.
        package var value: Double?

        /// Validates the whole line.
        ///
        /// - Throws: what is wrong with the line.
        package init(_ line: UnsafeBufferPointer<UInt8>) throws(LineFault) {
            var scanner = JSONScanner(line, levelLimit: LineEncoder.mostLevels)
            do throws(JSONFault) {
                try scanner.begin()
            } catch {
                throw LineFault(error)
            }
            let start = scanner.position
            let decoded = try LineMembers.with(line, &scanner, isLine: true) { members throws(LineFault) in
                try Decoded(members)
            }
            guard let decoded else { throw LineFault(offset: start, reason: .notAnObject) }
            self = decoded
        }

        private init(_ members: borrowing LineMembers) throws(LineFault) {
            time = try members.time(.time)
            type = try members.string(.type)
            source = try? members.stringIfAny(.source)
            // A number in `agent` lines.
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
