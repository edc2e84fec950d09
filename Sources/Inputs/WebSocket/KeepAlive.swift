internal import Reactor

/// Decides when to ping a connection, which ping a pong answers, and when the peer has been silent for too long.
struct KeepAlive {
    /// The next action.
    enum Step: Equatable {
        case ping([UInt8])
        /// Do nothing until then, or until a reader asks for a ping.
        case wait(until: LoopInstant)
        /// Give up the connection.
        case giveUp
    }

    private let every: Duration
    private let timeout: Duration
    private var number: UInt64 = 0
    private var lastPing: LoopInstant
    private var lastHeard: LoopInstant
    /// When something must have come; nil while nothing is awaited.
    private var deadline: LoopInstant?
    /// The unanswered pings and when they were sent, the oldest first: several when an answer takes longer than the
    /// time between pings.
    private var awaited: [(payload: [UInt8], sent: LoopInstant)] = []
    /// Whether reading is suspended, as a lossless output may be behind.
    private var isHeld = false

    // Bound: unanswered pings of a WebSocket | 16 | oldest forgotten
    private static let mostAwaited = 16

    /// The least time between two pings that readers ask for.
    static let pollPause = Duration.seconds(1)

    /// - Parameters:
    ///   - every: the time between pings.
    ///   - timeout: the longest silence after a ping.
    init(every: Duration, timeout: Duration, at now: LoopInstant) {
        self.every = every
        self.timeout = timeout
        lastPing = now
        lastHeard = now
    }

    /// Records that something came, whatever it was.
    mutating func hear(at now: LoopInstant) { lastHeard = now }

    /// Records that reading is suspended: what comes meanwhile waits in the kernel, and is not late.
    mutating func hold() { isHeld = true }

    /// Records that reading resumes: earlier bytes may be unread still.
    mutating func goOn(at now: LoopInstant) {
        isHeld = false
        hear(at: now)
    }

    /// Records that a ping is written now.
    mutating func send(_ payload: [UInt8], at now: LoopInstant) {
        if awaited.count == Self.mostAwaited { awaited.removeFirst() }
        awaited.append((payload, now))
    }

    /// How long the answer to a ping took; nil for a pong that answers none.
    mutating func answer(_ payload: [UInt8], at now: LoopInstant) -> Duration? {
        guard let index = awaited.firstIndex(where: { $0.payload == payload }) else { return nil }
        // Those before it need no answer any more (RFC 6455, section 5.5.3).
        defer { awaited.removeSubrange(...index) }
        return awaited[index].sent.duration(to: now)
    }

    /// - Parameter isAsked: whether a reader asks for a ping out of turn.
    mutating func next(at now: LoopInstant, isAsked: Bool) -> Step {
        if isHeld {
            deadline = nil
            awaited = []
        } else if lastHeard >= lastPing {
            deadline = nil
        }
        if let deadline, deadline <= now { return .giveUp }
        let due = lastPing.advanced(by: isAsked ? min(Self.pollPause, every) : every)
        guard due <= now else { return .wait(until: min(due, deadline ?? due)) }
        number += 1
        lastPing = now
        deadline = deadline ?? now.advanced(by: timeout)
        return .ping(withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }
}
