internal import Feed
internal import Reactor

/// Decides which line of a recording is relayed next, and what to wait for before the one after it.
///
/// Unchecked: touched on the loop only.
final class Playback: @unchecked Sendable {
    /// Why no line can be relayed now.
    enum Pause: Sendable, Equatable {
        /// To let other tasks on the loop run.
        case turn
        case bytes
        case end
        /// The next line is due after this time, or when the clock is changed; nil for only when it is changed.
        case clock(Duration?)
        /// Another run begins: the log drops all lines of the previous one.
        case run
    }

    let recording: Recording
    private let clock: ReplayClock
    /// The next line while it is not due, and the time when it is.
    private var waiting: (line: RecordedLine, time: Timestamp)?
    /// The time reached in the recording. A data line may have an old event's time, which does not set it back.
    private var position: Timestamp?
    private var run: String?
    /// Whether lossless outputs have all lines of the previous run.
    private var isBetweenRuns = true
    private(set) var pause = Pause.turn

    /// Whether any line was relayed.
    var hasBegun: Bool { run != nil }

    init(_ recording: Recording, _ clock: ReplayClock) {
        self.recording = recording
        self.clock = clock
    }

    /// Begins a slice of work.
    func restart() {
        if pause == .run { isBetweenRuns = true }
        recording.restart()
        pause = .turn
    }

    /// Stops the clock at the next line, whenever that is relayed; `pause` says what to wait for when there is none
    /// yet.
    ///
    /// - Returns: whether there is a next line.
    func hold() -> Bool {
        guard let (_, time) = look() else { return false }
        clock.limit(to: time)
        return true
    }

    /// Returns the next line and its time, without consuming it.
    @inline(__always)
    private func look() -> (line: RecordedLine, time: Timestamp)? {
        if let waiting { return waiting }
        guard let line = recording.next() else {
            pause = recording.hasMore ? .turn : recording.isAtEnd ? .end : .bytes
            return nil
        }
        let time = line.time(after: position)
        position = time
        waiting = (line, time)
        return waiting
    }

    /// Returns the next line if it is due; otherwise `pause` says what to wait for.
    func next() -> RecordedLine? {
        guard let (line, time) = look() else { return nil }
        switch clock.turn(of: time) {
        case .now: break
        case .later(let duration):
            pause = .clock(duration)
            return nil
        case .paused:
            pause = .clock(nil)
            return nil
        }
        if case .other(let relayed) = line, case .hello(let hello) = relayed.line.body, hello.run != run {
            guard isBetweenRuns else {
                pause = .run
                clock.limit(to: time)
                return nil
            }
            run = hello.run
            isBetweenRuns = false
        }
        waiting = nil
        return line
    }
}

extension RecordedLine {
    /// The time in the recording at which the line came.
    ///
    /// - Parameter position: the time reached before it.
    @inline(__always)
    func time(after position: Timestamp?) -> Timestamp {
        switch self {
        case .plain(let line, _): line.kind == .data ? max(position ?? line.time, line.time) : line.time
        case .other(let relayed):
            switch relayed.line.body {
            case .data: max(position ?? relayed.line.time, relayed.line.time)
            // At the time of the run's last line: a journal does not store the time of a `bye`.
            case .bye: position ?? relayed.line.time
            default: relayed.line.time
            }
        }
    }
}
