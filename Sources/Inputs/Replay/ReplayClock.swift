package import Reactor

/// The wall clock of a replay: it shows when the line that is being relayed was recorded.
///
/// It runs at the chosen speed, stops during a pause, and never runs ahead of the next line. It is set anew where a
/// recording's times jump, and where its lines are delayed. Before the first line it shows the machine's time.
package final class ReplayClock: WallClock, @unchecked Sendable {  // touched on one loop only
    /// When a line is due.
    package enum Turn: Sendable, Equatable {
        case now
        /// After this time, unless the clock is changed before.
        case later(Duration)
        /// Not before the clock is changed.
        case paused
    }

    private let loop: EventLoop
    /// The clock shown before the first line: the machine's.
    package let base: any WallClock
    /// The time shown when the clock was set; nil before the first line. At the greatest speed only `time` counts.
    private var anchor: (instant: LoopInstant, time: Timestamp)?
    /// The time of the next line while it is not due.
    private var next: Timestamp?
    private let changed: Wakeup
    package private(set) var speed: ReplaySpeed
    package private(set) var isPaused = false
    private var isOver = false
    /// The number of silences skipped, and the longest of them.
    package private(set) var leaps = 0
    package private(set) var longestLeap = Duration.zero

    // A silence in a recording: an hour of its own time; skipped, reported at the end.
    /// The longest silence that is replayed, in recorded time: an agent is silent for its widest window at most, so
    /// after a longer one it was not running, or its clock was set.
    package static let longestSilence = Duration.seconds(3_600)
    /// How far lines may lag behind the clock, in real time; if they are delayed longer, the clock waits for them.
    private static let slack = Duration.milliseconds(250)

    /// - Parameter base: the clock shown before the first line.
    package init(on loop: EventLoop, before base: any WallClock, speed: ReplaySpeed = .usual) {
        self.loop = loop
        self.base = base
        self.speed = speed
        changed = Wakeup(loop: loop)
    }

    package var rate: Double { isPaused || isOver || speed == .most ? 0 : speed.factor }

    package var playback: String? { isPaused ? "paused" : speed.text }

    package var now: Timestamp {
        guard let anchor else { return base.now }
        let rate = rate
        guard rate > 0 else { return anchor.time }
        let time = anchor.time + anchor.instant.duration(to: loop.clock.now) * rate
        return next.map { min($0, time) } ?? time
    }

    /// Returns when the next line, of this time, is due; sets the clock to `time` when there is no waiting for it.
    package func turn(of time: Timestamp) -> Turn {
        guard speed != .most || isPaused, let anchor else {
            set(time)
            return .now
        }
        next = nil
        let rate = speed.factor
        let now = isPaused ? anchor.time : anchor.time + anchor.instant.duration(to: loop.clock.now) * rate
        guard time > now else {
            if now - time > (speed == .most ? .zero : Self.slack * rate) { set(time) }
            return .now
        }
        if isPaused {
            next = time
            return .paused
        }
        guard time - now <= Self.longestSilence else {
            leaps += 1
            longestLeap = max(longestLeap, time - now)
            set(time)
            return .now
        }
        next = time
        return .later((time - now) / rate)
    }

    /// Stops the clock at `time`, the next line's, until `turn(of:)` is called for it.
    func limit(to time: Timestamp) { next = time }

    /// Suspends for this time, or until the clock is changed.
    ///
    /// - Parameter time: nil to wait only for a change.
    package func wait(for time: Duration?) async throws(CancellationError) {
        try await changed.wait(until: time.map { loop.clock.now.advanced(by: $0) })
    }

    // MARK: What a person changes

    /// Pauses or resumes.
    package func togglePause() { change { isPaused.toggle() } }

    /// Stops for good: there are no more lines.
    func stop() { change { isOver = true } }

    /// Changes the speed from now on.
    package func changeSpeed(isFaster: Bool) { change { speed = speed.next(isFaster: isFaster) } }

    /// Jumps to the next line if one is waiting, in a pause too.
    package func skip() {
        if let next { set(next) }
        changed.signal()
    }

    private func change(_ body: () -> Void) {
        let time = now
        body()
        if anchor != nil { anchor = (loop.clock.now, time) }
        changed.signal()
    }

    private func set(_ time: Timestamp) {
        anchor = (speed == .most ? LoopInstant(nanoseconds: 0) : loop.clock.now, time)
        next = nil
    }
}
