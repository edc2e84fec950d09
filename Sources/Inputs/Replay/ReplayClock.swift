package import Reactor

/// The wall clock of a feed that is played back: it shows when what is passed on was recorded.
///
/// It goes at the speed that is asked for, stands still while it is paused, and never runs ahead of the next line. It is set
/// where a recording's times leap, and where its lines are held up. Before the first line it is another clock.
package final class ReplayClock: WallClock, @unchecked Sendable {  // touched on one loop only
    /// When a line's turn is.
    package enum Turn: Sendable, Equatable {
        case now
        /// In so much time, unless the clock is changed before.
        case later(Duration)
        /// Not before the clock is changed.
        case paused
    }

    private let loop: EventLoop
    /// What it shows before the first line: the machine's clock.
    package let base: any WallClock
    /// What it showed when it was set; nil before the first line. At the greatest speed only the time counts.
    private var anchor: (instant: LoopInstant, time: Timestamp)?
    /// The time of the next line, while that is not due.
    private var next: Timestamp?
    private let changed: Wakeup
    package private(set) var speed: ReplaySpeed
    package private(set) var isPaused = false
    private var isOver = false
    /// How many silences it leapt over, and the longest of them.
    package private(set) var leaps = 0
    package private(set) var longestLeap = Duration.zero

    /// The longest that nothing comes, in recorded time: no agent is silent for longer than its widest windows, so it did not
    /// run then, or its clock was set.
    package static let longestSilence = Duration.seconds(3_600)
    /// How far lines may be behind the clock, in time: where they are held up for longer, the clock waits for them.
    private static let slack = Duration.milliseconds(250)

    /// - Parameter base: what it shows before the first line.
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

    /// When the turn of the next line is, which is of this time; the clock is set to it where that cannot be waited for.
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

    /// The clock goes no further than to this time, which is the next line's, until its turn is asked for.
    func limit(to time: Timestamp) { next = max(time, now) }

    /// Suspends until this time is over, or the clock is changed.
    ///
    /// - Parameter time: nil for as long as it is not changed.
    package func wait(for time: Duration?) async throws(CancellationError) {
        let timer = time.map { loop.schedule(after: $0) { [changed] in changed.signal() } }
        defer { if let timer { loop.cancel(timer) } }
        try await changed.wait()
    }

    // MARK: What a person changes

    /// Stands still from now on, or goes on.
    package func togglePause() { change { isPaused.toggle() } }

    /// Stands still for good: there are no more lines.
    func stop() { change { isOver = true } }

    /// Goes at another speed from now on.
    package func changeSpeed(isFaster: Bool) { change { speed = speed.next(isFaster: isFaster) } }

    /// Leaps to the next line, if there is one that is waited for, in a pause too.
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
