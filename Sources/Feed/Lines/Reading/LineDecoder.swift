internal import Reactor

/// Decodes lines of format 1 (docs/wire-format.md) from any origin; nothing in them is trusted.
///
/// Unknown keys are skipped and unknown types become `.unknown`, because format 1 may gain both.
package enum LineDecoder {
    // Bound: a string of a decoded line | 4,096 bytes | cut
    /// The length in bytes of UTF-8 at which strings are cut, between characters.
    package static let stringLimit = 4096

    /// Decodes one line, with or without its newline.
    ///
    /// A line with a `series` whose type is not one of the format's own is a data event.
    ///
    /// - Returns: the line; its `data` is a slice of `line` and keeps all of that storage alive.
    /// - Throws: the first fault, with its offset in the line.
    package static func decode(_ line: Bytes) throws(LineFault) -> Line { try decode(line, isNested: false) }

    /// Decodes a line as a `kept` line has it: its number may be 0.
    static func decodeKept(_ line: Bytes) throws(LineFault) -> Line { try decode(line, isNested: true) }

    /// - Parameter isNested: whether it is the line in a `kept` line, which cannot be one itself.
    private static func decode(_ line: Bytes, isNested: Bool) throws(LineFault) -> Line {
        try line.withUnsafeBufferPointer { (bytes) throws(LineFault) in
            let (decoded, flaws) = try LineMembers.with(line: bytes) { members throws(LineFault) in
                let type = try members.string(.type)
                var line = Line(
                    // 0 is the number of kept lines of a fleet's agents, and of earlier runs.
                    seq: try members.intIfAny(.seq, from: isNested ? 0 : 1), time: try members.time(.time), type: type,
                    source: try members.stringIfAny(.source),
                    body: try body(type, members, in: line, isNested: isNested),
                    // In lines of an older version anyone may have written these keys; they mean nothing there.
                    agent: try? members.stringIfAny(.agent),
                    isForwarded: (try? members.intIfAny(.originSeq, from: 1)) != nil)
                if case .latency = line.body {
                    line.hasNoTime = try members.doubleIfAny(.ms).map { !LineMembers.isTime($0) } ?? false
                }
                return line
            }
            var line = decoded
            line.flaws = flaws
            return line
        }
    }

    private static func body(
        _ type: String, _ members: borrowing LineMembers, in line: Bytes, isNested: Bool
    ) throws(LineFault) -> Line.Body {
        switch type {
        case "hello": return .hello(try Line.Hello(members))
        case "stats": return .stats(try Line.Stats(members))
        case "gap": return .gap(try Line.Gap(members))
        case "bye": return .bye(try Line.Bye(members))
        case "latency": return .latency(try numbered(members, LatencySample.init))
        case "memory": return .memory(try numbered(members, MemorySample.init))
        case "window" where isNested && members.range(.rows) != nil:
            return .window(
                try numbered(members) { members throws(LineFault) in
                    guard let newest = try Line.Window.rows(members).last else {
                        throw members.wrong(.rows, "a window")
                    }
                    return newest
                })
        case "window": return .window(try numbered(members, Line.Window.init))
        case "error" where members.value(.seq) == nil && members.value(.source) == nil:
            return .refusal(try Failure(members))
        case "error": return .error(try numbered(members, Failure.init))
        case "progress": return .progress(try numbered(members, Progress.init))
        case "recovered": return .recovered(try numbered(members, Recovery.init))
        case "agent": return .agent(try numbered(members, Line.Agent.init))
        case "restart": return .restart(try numbered(members, Restart.init))
        case "alert":
            return try numbered(members) { members throws(LineFault) in
                try Alert(members).map { .alert($0) } ?? .unknown
            }
        case "clock": return .clock(try numbered(members, ClockChange.init))
        case "lost": return .lost(try numbered(members, Lost.init))
        case "peer": return .peer(try numbered(members, Line.Peer.init))
        case "kept" where !isNested && members.value(.seq) == nil && members.value(.series) == nil:
            return try kept(members, in: line)
        default:
            guard let series = members.range(.series), line[line.startIndex + series.lowerBound] == UInt8(ascii: "\"")
            else { return .unknown }
            return .data(try numbered(members) { members throws(LineFault) in try data(members, in: line) })
        }
    }

    private static func kept(_ members: borrowing LineMembers, in line: Bytes) throws(LineFault) -> Line.Body {
        let run = try members.string(.run)
        guard let range = members.range(.line) else {
            throw LineFault(offset: members.offset, reason: .missing(key: LineKey.line.text))
        }
        let bytes = line[line.startIndex + range.lowerBound..<line.startIndex + range.upperBound]
        let kept = try decode(bytes, isNested: true)
        switch kept.body {
        case .data, .latency, .memory, .progress, .alert: return .kept(Line.Kept(run: run, line: kept, bytes: bytes))
        case .window(let newest) where newest.isKept:
            let windows = try bytes.withUnsafeBufferPointer { bytes throws(LineFault) in
                try LineMembers.with(line: bytes) { members throws(LineFault) in try Line.Window.rows(members) }.value
            }
            return .kept(Line.Kept(run: run, line: kept, bytes: bytes, windows: windows))
        default: return .unknown
        }
    }

    /// Returns the result of `make`, for a line that must have a sequence number and a source.
    @inline(__always)
    private static func numbered<Body>(
        _ members: borrowing LineMembers, _ make: (borrowing LineMembers) throws(LineFault) -> Body
    ) throws(LineFault) -> Body {
        for key in [LineKey.seq, .source] where members.value(key) == nil {
            throw LineFault(offset: members.offset, reason: .missing(key: key.text))
        }
        return try make(members)
    }

    private static func data(_ members: borrowing LineMembers, in line: Bytes) throws(LineFault) -> Line.Data {
        var data = Line.Data(
            series: try members.string(.series), value: try members.doubleIfAny(.value),
            text: try members.stringIfAny(.text),
            data: members.range(.data).map { line[line.startIndex + $0.lowerBound..<line.startIndex + $0.upperBound] },
            truncated: try members.boolIfAny(.truncated) ?? false, altered: try members.boolIfAny(.altered) ?? false,
            valuePointer: SourceStatus.valuePointer(try? members.stringIfAny(.valuePointer)))
        // Without one of them, the value is a number like others.
        if data.value != nil, let word = try? members.stringIfAny(.word), 1...BandScale.longestName ~= word.utf8.count,
            let since = try? members.timeIfAny(.since)
        {
            (data.word, data.since) = (word, since)
        }
        return data
    }
}

extension Line.Gap {
    /// The contents of a `gap` line; nil for any other line.
    package init?(_ line: Bytes) {
        guard case .gap(let gap)? = (try? LineDecoder.decode(line))?.body else { return nil }
        self = gap
    }

    /// The sequence numbers of the missing lines.
    package var numbers: ClosedRange<Int> { from...to }
}
