internal import Feed
internal import LineRules
internal import Reactor

/// A line of another agent's feed: what is passed on of it keeps to what holds for every line.
enum LineDecoderTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        guard let line = try? LineDecoder.decode(input) else { return }
        FuzzLines.check(input, line.flaws)
        guard !line.flaws.isEmpty, let mended = LineMending.mended(RelayedLine(line, bytes: input)) else { return }
        FuzzLines.check(mended, [])
        let again = try? LineDecoder.decode(mended)
        precondition(again?.flaws == [], "a mended line has flaws")
        precondition(
            again?.seq == line.seq && again?.type == line.type && again?.source == line.source
                && again?.time == line.time, "a mended line is another one")
    }
}

/// What holds for every line, whatever came in.
enum FuzzLines {
    /// The lines that these events come to, each looked at.
    static func lines(of batch: EventBatch) -> [Bytes] {
        var state = FeedState()
        let now = Timestamp(seconds: 1_800_000_000)
        _ = state.register(SourceDescription(name: "fuzz"), at: now)
        state.publish(batch, at: Moment(wall: now, now: LoopInstant(nanoseconds: 0)))
        var lines: [Bytes] = []
        var next = 1
        while case .lines(let span) = state.log.read(from: next) {
            next = span.sequences.upperBound + 1
            lines += span.withUnsafeBytes { $0.split(separator: 0x0A).map { Bytes(Array($0)) } }
        }
        precondition(lines.count >= batch.count, "an event has no line")
        for line in lines { check(line, []) }
        return lines
    }

    /// A line, and what is said to be wrong with it.
    static func check(_ line: Bytes, _ flaws: JSONFlaws) {
        precondition((try? JSONMinifier.validate(line)) != nil, "a line is no JSON")
        let faults = LineRules.faults(of: line)
        precondition(faults.contains(.tooDeep) == flaws.contains(.deep), "the levels are counted wrongly")
        precondition(
            faults.contains(.overflow) == flaws.contains(.overflow), "a number is no double, or is said to be none")
        precondition(
            faults.contains(.loneSurrogate) == flaws.contains(.surrogate), "a surrogate is alone, or is said to be")
    }
}
