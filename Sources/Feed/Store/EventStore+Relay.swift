internal import Reactor

/// A line of another agent, decoded and as it came, without its newline.
package struct RelayedLine: Sendable {
    package var line: Line
    package var bytes: Bytes

    package init(_ line: Line, bytes: Bytes) {
        self.line = line
        self.bytes = bytes
    }
}

/// What is known of the agent whose lines are passed on.
struct Relayed: Sendable {
    /// The fold of its lines, for the `stats` of those who attach here in turn.
    var board = Board()
    /// Whether its first `hello` has come.
    var hasBegun = false

    var interval: Duration? { board.hello?.interval }
    var history: Duration? { board.hello?.history }

    var endpoints: [EndpointStatistics] {
        board.endpoints.map { EndpointStatistics(endpoint: $0.name, source: $0.source, histogram: $0.histogram) }
    }

    var sources: [SourceStatus] {
        board.sources.filter(\.isListed).map {
            SourceStatus(
                source: $0.name, state: $0.state, since: $0.since, type: $0.type, unit: $0.unit, bands: $0.bands,
                takesN: $0.takesN)
        }
    }

    /// What tells readers how to read the sources' lines.
    var descriptions: [SourceDescription] {
        board.sources.filter(\.isListed).map {
            SourceDescription(name: $0.name, type: $0.type, unit: $0.unit, bands: $0.bands, takesN: $0.takesN)
        }
    }
}

extension EventStore {
    /// Passes another agent's lines on: byte for byte, with their run and their numbers.
    ///
    /// Lines that are here already are left out; numbers that are missing become a gap; another run is begun with a new
    /// `hello`, after a gap for what a reader has not seen of the old one.
    package func relay(_ lines: [RelayedLine]) {
        guard ending == nil else { return }
        holdLines()
        let now = loop.clock.now
        for relayed in lines {
            if let limit = state.limits.data, state.counts.data >= limit { break }
            relay(relayed, now)
        }
        state.log.expire(at: now)
        wakeReaders()
        if let limit = state.limits.data, state.counts.data >= limit { limitReached.signal() }
    }

    private func relay(_ relayed: RelayedLine, _ now: LoopInstant) {
        let line = relayed.line
        if case .stats = line.body { return relayStats(line) }
        switch line.body {
        case .hello(let hello): begin(hello)
        case .bye, .resync: break
        case .gap(let gap):
            if gap.to >= state.log.nextSequence, gap.to < .max { state.log.skip(to: gap.to + 1) }
        default:
            guard let sequence = line.seq, sequence >= state.log.nextSequence, sequence < .max else { return }
            if case .data = line.body { state.counts.data += 1 } else { state.newestReport = sequence }
            if sequence > state.log.nextSequence { state.log.skip(to: sequence) }
            let bytes = relayed.bytes
            state.log.append(atMost: bytes.count + 1, at: now) { _, start in
                var writer = start
                writer.raw(bytes)
                writer.byte(UInt8(ascii: "\n"))
                return writer
            }
        }
        self.relayed?.board.apply(line)
    }

    /// Takes what is said of sources and endpoints; readers are told when that is how lines are to be read.
    private func relayStats(_ line: Line) {
        let before = relayed?.descriptions
        relayed?.board.apply(line)
        if relayed?.descriptions != before { greetAll() }
    }

    /// Begins with a run, or goes on with the one there is.
    private func begin(_ hello: Line.Hello) {
        let isFirst = relayed?.hasBegun != true
        guard isFirst || hello.run != identity.run else { return }
        relayed?.hasBegun = true
        for reader in readers.values {
            // One that was not told of the run before has seen nothing of it, and cannot be told what it missed there.
            if !isFirst, !reader.owesGreeting {
                let last = state.log.nextSequence - 1
                if reader.cursor <= last { reader.owedGap = reader.cursor...last }
                reader.owesGreeting = true
            }
            reader.cursor = Self.cursor(reader.wish, in: hello)
            reader.wish = nil
        }
        state.log.restart(at: hello.firstSeq)
        announced = 0
        identity.run = hello.run
        identity.version = hello.app.version ?? ""
        identity.started = hello.app.started ?? wallTime
        identity.host = hello.host
        wakeNow()
    }

    /// Where a reader begins that asked for something before the first `hello` had come.
    private static func cursor(_ wish: (start: ReaderStart, run: String?)?, in hello: Line.Hello) -> Int {
        guard let wish, wish.run == nil || wish.run == hello.run else { return hello.firstSeq }
        switch wish.start {
        case .oldest: return hello.firstSeq
        case .newest: return hello.nextSeq
        // Its lines come by and by, from the oldest on.
        case .after(let sequence): return max(hello.firstSeq, min(max(0, sequence), hello.nextSeq - 1) + 1)
        }
    }
}
