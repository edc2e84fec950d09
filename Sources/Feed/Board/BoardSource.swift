package import Reactor

/// One source as a board knows it.
package struct BoardSource: Sendable, Equatable {
    package let name: String
    package internal(set) var state = SourceStatus.State.starting
    /// When it came into `state`.
    package internal(set) var since: Timestamp
    /// Whether the newest stats line names it; true before the first.
    package internal(set) var isListed = true
    /// The `type` of its data lines; nil while nobody has said.
    package internal(set) var type: String?
    /// What its values are measured in, at most 32 bytes of UTF-8; nil for none.
    package internal(set) var unit: String?
    /// What its values mean; nil when nobody has said.
    package internal(set) var bands: BandScale?
    /// See `SourceStatus.valuePointer`.
    package internal(set) var valuePointer: String?
    /// Whether it takes the question of how far to go; false when nobody has said.
    package internal(set) var takesN = false
    /// When something new is to be expected; a stream's when nobody has said.
    package internal(set) var rhythm = Rhythm.stream
    /// Of the newest error, while failing.
    package internal(set) var code: String?
    /// Of the newest error, while failing; at most 1,000 code points.
    package internal(set) var message: String?
    /// How many times in a row it failed, as the newest error says; while failing.
    package internal(set) var attempt: Int?
    /// When the next try comes, as the newest error says; while failing.
    package internal(set) var retryAt: Timestamp?
    /// How far a paged source has come.
    package internal(set) var progress: Progress?
    /// How many data lines came from it in this run.
    package internal(set) var events = 0
    /// How many error lines came from it in this run.
    package internal(set) var errors = 0
    /// The time of its newest data line.
    package internal(set) var newest: Timestamp?
    /// The agent's time at which it last said something good: an event, that nothing has changed, or how far it has come.
    package internal(set) var heard: Timestamp?
    /// When it last said that nothing has changed.
    package internal(set) var confirmed: Timestamp?
    /// When its newest whole answer came of which a progress line tells, an empty list too.
    package internal(set) var answered: Timestamp?
    /// When something came from it last, by which it is late: an event, or a whole answer.
    package var latest: Timestamp? { newest.map { max($0, answered ?? $0) } ?? answered }
    /// Of the source that an agent of a fleet is: what that said of itself last.
    package internal(set) var agent: Line.Agent?
    /// The newest time that it failed, once it is over.
    package internal(set) var outage: BoardOutage?

    /// Takes over how a stats line says it is to be read; nil when the line does not name it.
    mutating func list(as status: SourceStatus?) {
        isListed = status != nil
        type = status?.type?.cut(to: Board.longestText)
        unit = status?.unit
        bands = status?.bands
        valuePointer = status?.valuePointer
        takesN = status?.takesN ?? false
        rhythm = status?.rhythm ?? .stream
    }

    /// Comes into a state at a time; being in it already changes nothing but what the last error said.
    mutating func enter(_ state: SourceStatus.State, at time: Timestamp) {
        if self.state != state {
            self.state = state
            since = time
        }
        if state != .failing {
            code = nil
            message = nil
            attempt = nil
            retryAt = nil
        }
    }
}

extension BoardSource? {
    /// Whether something that came from the source at `time` is older than it should be at `now`: by more than two and a half
    /// times what is expected, the longer of `window` and the source's own period. What came from a source that ran once
    /// stays good for as long as the source is well; what a source says to be unchanged is as good as new.
    package func isStale(_ time: Timestamp, at now: Timestamp, window: Duration) -> Bool {
        var expected = window
        switch self?.rhythm {
        case .stream, nil: break
        case .every(let period): expected = Swift.max(window, period)
        case .once: if self?.state == .ok { return false }
        }
        return (now - Swift.max(time, self?.confirmed ?? time)) * 2 > expected * 5
    }
}

/// One endpoint as a board knows it.
package struct BoardEndpoint: Sendable, Equatable {
    /// Method, origin and path.
    package let name: String
    package let source: String
    /// All of this run: from the last stats line, and of the lines after it.
    package internal(set) var histogram = LatencyHistogram()
    /// The newest latency line's phases, and when it was.
    package internal(set) var newest: LatencySample?
    package internal(set) var newestTime: Timestamp?
}

/// How long a source had failed when it answered again.
package struct BoardOutage: Sendable, Equatable {
    package var end: Timestamp
    package var recovery: Recovery
}

/// What a reader has missed.
package struct BoardGap: Sendable, Equatable {
    /// The first sequence number missed.
    package var from: Int
    /// The last sequence number missed.
    package var to: Int
    /// As the gap line says; `hole` when numbers were missing without one.
    package var reason: String
    /// When the gap line was written, or the line behind the hole.
    package var time: Timestamp
}

/// What the agent's process held at a time.
package struct BoardMemory: Sendable, Equatable {
    package var time: Timestamp
    package var source: String
    package var sample: MemorySample
}
