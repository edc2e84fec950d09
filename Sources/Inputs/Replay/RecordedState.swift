package import Feed
package import Reactor

/// The state of a recorded feed up to some line: the newest line of each series and the windows of slow sources, as a new
/// reader of the feed would have got them then.
///
/// The state of a run includes what the runs before it have left. That is merged only once it has doubled, because there may be
/// thousands of short runs.
package final class RecordedState: @unchecked Sendable {  // used on the loop only
    private let store: EventStore
    private let clock = LineClock()
    /// Whether a line with a number was added.
    private var hasBegun = false
    private enum Piece {
        /// `kept` lines.
        case lines([UInt8])
        case gone([GoneSeries])

        var bytes: Int {
            switch self {
            case .lines(let lines): lines.count
            case .gone(let series): series.reduce(0) { $0 + $1.source.utf8.count + $1.key.utf8.count }
            }
        }
    }

    /// What the runs before have left, which the store does not have yet; the newest run's is last, its lines behind what was
    /// gone.
    private var inherited: [Piece] = []
    private var inheritedBytes = 0
    /// The bytes beyond which they are merged.
    private var mostInherited = leastMerged
    private static let leastMerged = 1 << 20
    /// Whether they are merged into the run that the feed is in.
    private var isMerging = false
    private let latest: Timestamp
    /// The line that the store takes now.
    private var next: RecordedLine?

    // Bound: lines held for the state of a recording | 2 MiB, and three times an agent's kept lines, series and windows
    //   | dropped as by an agent
    /// - Parameters:
    ///   - limits: those of the store that the state is for, which it also holds.
    ///   - latest: lines with a later time are passed over: the clock was ahead.
    package init(on loop: EventLoop, limits: FeedState.Limits, until latest: Timestamp = Timestamp(microseconds: .max))
    {
        self.latest = latest
        var limits = limits
        (limits.logCapacity, limits.data) = (1 << 20, nil)
        store = EventStore(
            on: loop, wall: clock, identity: AgentIdentity(run: "replay", version: "", started: clock.now),
            limits: limits, isRecording: true)
    }

    // Bound: alerts that are over in a recording | 100,000 | of further ones the line of an earlier run may come back
    private static let mostEnded = 100_000
    /// The agents, conditions and subjects of alerts that are over: earlier runs may have left a line that says otherwise.
    private var ended: Set<[String?]> = []

    private func name(_ alert: Alert, _ line: Line) -> [String?] { [line.agent, alert.condition, alert.about] }

    /// Adds whole lines, each with its newline.
    package func add(_ lines: [UInt8]) {
        lines.withUnsafeBytes { bytes in
            bytes.forEachLine { line in
                // A journal has only lines that were valid.
                if let line = RecordedLine(line.assumingMemoryBound(to: UInt8.self)) { add(line) }
            }
        }
    }

    /// Adds the next line of the feed.
    func add(_ line: RecordedLine) {
        if case .other(let relayed) = line {
            switch relayed.line.body {
            case .hello(let hello):
                if hello.run != run { inherit() }
                return relay(line)
            case .stats: return relay(line)
            case .bye, .refusal: return
            default: break
            }
        }
        guard line.time <= latest else { return }
        if case .other(let relayed) = line, case .alert(let alert) = relayed.line.body {
            let name = name(alert, relayed.line)
            if !alert.state.isOver {
                ended.remove(name)
            } else if ended.count < Self.mostEnded {
                ended.insert(name)
            }
        }
        clock.now = line.time(after: hasBegun ? clock.now : nil)
        hasBegun = true
        relay(line)
    }

    private var run: String { store.assumeIsolated { $0.run } }

    private func relay(_ line: RecordedLine) {
        next = line
        store.assumeIsolated {
            $0.relay {
                self.next.take()
            } refuse: { _ in
            }
        }
    }

    /// Adds what the run has left, which ends, to what those before it have.
    private func inherit() {
        while merge() {}
        let (gone, lines) = store.assumeIsolated { ($0.gone, $0.newestOfEach()?.dropFirst() ?? []) }
        let left = (gone.isEmpty ? [] : [Piece.gone(gone)]) + lines.reversed().map { .lines($0) }
        inherited += left
        inheritedBytes += left.reduce(0) { $0 + $1.bytes }
        if isMerging { mostInherited = Self.leastMerged + 2 * inheritedBytes }
        isMerging = false
    }

    /// Merges some of what the runs before have left, if it is much.
    ///
    /// - Parameter all: whether to merge it in any case, as the feed has ended.
    /// - Returns: whether there is more to merge.
    package func merge(all: Bool = false) -> Bool {
        isMerging = isMerging || all || inheritedBytes > mostInherited
        return isMerging && mergeNext()
    }

    /// Newer runs come first: their values and windows are not replaced.
    private func mergeNext() -> Bool {
        guard let piece = inherited.popLast() else { return false }
        inheritedBytes -= piece.bytes
        switch piece {
        case .lines(let lines):
            for line in Self.lines(in: lines, of: run, at: clock.now) {
                guard case .kept(let kept) = line.line.body, !store.assumeIsolated({ $0.isGone(kept.line) }) else {
                    continue
                }
                if case .alert(let alert) = kept.line.body, ended.contains(name(alert, kept.line)) { continue }
                relay(.other(line))
            }
        case .gone(let series): store.assumeIsolated { $0.recall(series) }
        }
        return true
    }

    /// The `kept` lines of a piece as those of a run: lines of another run have no number in it.
    package static func lines(in piece: [UInt8], of run: String, at time: Timestamp) -> [RelayedLine] {
        var lines: [RelayedLine] = []
        piece.withUnsafeBytes { piece in
            piece.forEachLine { if let line = ControlLine.kept(Bytes($0), of: run, at: time) { lines.append(line) } }
        }
        return lines
    }

    /// The statistics of the endpoints and the states of the sources, which the first piece has.
    static func stats(in greeting: [UInt8], at time: Timestamp) -> RelayedLine? {
        guard let end = greeting.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let bytes = greeting[(end + 1)...].dropLast()
        return (try? LineDecoder.decode(bytes)).map { line in
            var line = line
            line.time = time
            return RelayedLine(line, bytes: bytes)
        }
    }

    /// What a new reader gets, without the events: `hello` and `stats`, then pieces of whole `kept` lines.
    package var pieces: [[UInt8]] {
        while mergeNext() {}
        return store.assumeIsolated { $0.newestOfEach() } ?? []
    }

    /// Shows the time of the line that was added last.
    private final class LineClock: WallClock, @unchecked Sendable {  // used on the loop only
        var now = Timestamp(microseconds: 0)
        let rate = 0.0
        let playback: String? = nil
    }
}
