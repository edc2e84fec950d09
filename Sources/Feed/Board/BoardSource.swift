package import Reactor

/// The state of one source on a board.
package struct BoardSource: Sendable, Equatable {
    package let name: String
    package internal(set) var state = SourceStatus.State.starting
    /// The time when it entered `state`.
    package internal(set) var since: Timestamp
    /// Whether the newest stats line lists it; true before the first one.
    package internal(set) var isListed = true
    /// The `type` of its data lines; nil while unknown.
    package internal(set) var type: String?
    /// The unit of its values, at most 32 bytes of UTF-8; nil for none.
    package internal(set) var unit: String?
    /// The meaning of its values; nil while unknown.
    package internal(set) var bands: BandScale?
    /// See `SourceStatus.valuePointer`.
    package internal(set) var valuePointer: String?
    /// When to expect new data; as for a stream while unknown.
    package internal(set) var rhythm = Rhythm.stream
    /// The newest error, while failing; its texts have at most 1,000 code points. Nil while unknown.
    package internal(set) var failure: SourceFailure?
    /// The last line included in its state, as the newest stats line gives it; older lines do not change it.
    var asOf = 0
    /// The progress of a paged source.
    package internal(set) var progress: Progress?
    /// The number of its data lines in this run.
    package internal(set) var events = 0
    /// The number of its error lines in this run.
    package internal(set) var errors = 0
    /// The time of its newest data line.
    package internal(set) var newest: Timestamp?
    /// The agent's time of its last good answer, by which it counts as late: data, the answer that nothing changed, or
    /// progress, which reports a whole answer, even an empty list.
    package internal(set) var answered: Timestamp?
    /// Whether data has come since its last latency line.
    var hasNewData = false
    /// The time when it last answered that nothing changed.
    package internal(set) var confirmed: Timestamp?
    /// For the source that stands for an agent of a fleet: that agent's newest self-metrics.
    package internal(set) var agent: Line.Agent?
    /// The newest outage that is over.
    package internal(set) var outage: BoardOutage?

    /// Replaces its description by that of a stats line; clears it for nil, when the line does not list the source.
    mutating func list(as status: SourceStatus?) {
        isListed = status != nil
        asOf = 0
        type = status?.type?.cut(to: Board.longestText)
        unit = status?.unit
        bands = status?.bands
        valuePointer = status?.valuePointer
        rhythm = status?.rhythm ?? .stream
    }

    /// Enters a state at a time; if that is the same state, only clears a former error.
    mutating func enter(_ state: SourceStatus.State, at time: Timestamp) {
        if self.state != state {
            self.state = state
            since = time
        }
        if state != .failing { failure = nil }
    }
}

extension BoardSource {
    /// How long a polled source that is ok has not answered, and what is expected; nil unless it is late: see
    /// `Rhythm.patience`.
    package func lateness(at now: Timestamp, window: Duration) -> (silence: Duration, expected: Duration)? {
        guard state == .ok, let patience = rhythm.patience(window: window), let answered else { return nil }
        let silence = now - answered
        return silence > patience ? (silence, patience * 2 / 5) : nil
    }
}

extension BoardSource? {
    /// Whether data that came from the source at `time` is stale at `now`: older than `Rhythm.patience`, or than that of windows
    /// for a source that is never late. Data of a source that ran once stays good for as long as the source is ok; data that a
    /// source confirms as unchanged counts as new.
    package func isStale(_ time: Timestamp, at now: Timestamp, window: Duration) -> Bool {
        if self?.rhythm == .once, self?.state == .ok { return false }
        let patience = self?.rhythm.patience(window: window) ?? window * 5 / 2
        return now - Swift.max(time, self?.confirmed ?? time) > patience
    }
}

/// The state of one endpoint on a board.
package struct BoardEndpoint: Sendable, Equatable {
    /// Method, origin and path.
    package let name: String
    package let source: String
    /// All durations of this run: from the last stats line, and from the lines after it.
    package internal(set) var histogram = LatencyHistogram()
    /// The newest latency line's phases, and its time.
    package internal(set) var newest: LatencySample?
    package internal(set) var newestTime: Timestamp?
}

/// The length of an outage, and its end.
package struct BoardOutage: Sendable, Equatable {
    package var end: Timestamp
    package var recovery: Recovery
}

/// Lines that a reader has missed.
package struct BoardGap: Sendable, Equatable {
    /// The first sequence number missed.
    package var from: Int
    /// The last sequence number missed.
    package var to: Int
    /// The reason in the gap line; `hole` when sequence numbers were missing without one.
    package var reason: String
    /// The time of the gap line, or of the line after the hole.
    package var time: Timestamp
}

/// The memory of the agent's process at a time.
package struct BoardMemory: Sendable, Equatable {
    package var time: Timestamp
    package var source: String
    package var sample: MemorySample
}
