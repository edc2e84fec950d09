internal import Feed
internal import Reactor

/// Which line of a recording is passed on next, and what is waited for before the one after it.
///
/// Unchecked: touched on the loop only.
final class Playback: @unchecked Sendable {
    /// Why no further line is passed on for now.
    enum Pause: Sendable, Equatable {
        /// Others are to have their turn.
        case turn
        case bytes
        case end
        /// For so long, or until the clock is changed; nil for as long as it is not.
        case clock(Duration?)
        /// Another run begins: the log lets go of all lines of the one before.
        case run
    }

    let recording: Recording
    private let clock: ReplayClock
    /// The next line, when its turn has not come, and the time of its turn.
    private var waiting: (line: RecordedLine, time: Timestamp)?
    /// The time up to which the recording has come, as a view of it has it: a data line's is its event's, and may be old.
    private var position: Timestamp?
    private var run: String?
    /// Whether outputs that must get everything have all lines of the run before.
    private var isBetweenRuns = true
    private(set) var pause = Pause.turn

    /// Whether any line was passed on.
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

    /// Has the clock go no further than to the next line, whenever that is passed on; `pause` says what is to be waited for
    /// when there is none yet.
    ///
    /// - Returns: whether there is one.
    func hold() -> Bool {
        guard let (_, time) = look() else { return false }
        clock.limit(to: time)
        return true
    }

    /// The next line and its time.
    @inline(__always)
    private func look() -> (line: RecordedLine, time: Timestamp)? {
        if let waiting { return waiting }
        guard let line = recording.next() else {
            pause = recording.hasMore ? .turn : recording.isAtEnd ? .end : .bytes
            return nil
        }
        let time = time(of: line)
        position = time
        waiting = (line, time)
        return waiting
    }

    /// The next line, if it is its turn; `pause` says what is to be waited for before the others.
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

    @inline(__always)
    private func time(of line: RecordedLine) -> Timestamp {
        switch line {
        case .plain(let line, _): line.kind == .data ? max(position ?? line.time, line.time) : line.time
        case .other(let relayed):
            if case .data = relayed.line.body {
                max(position ?? relayed.line.time, relayed.line.time)
            } else {
                relayed.line.time
            }
        }
    }
}
