internal import Reactor

/// When to ping a connection, which pong is the answer, and when nothing has come for too long.
struct KeepAlive {
    /// What is to be done now.
    enum Step: Equatable {
        case ping([UInt8])
        /// Nothing until then, or until somebody asks for a ping.
        case wait(until: LoopInstant)
        /// The connection is given up.
        case giveUp
    }

    private let every: Duration
    private let timeout: Duration
    private var number: UInt64 = 0
    private var lastPing: LoopInstant
    private var lastHeard: LoopInstant
    /// Until when something has to come; nil while nothing is waited for.
    private var deadline: LoopInstant?
    /// The pings whose answers may come still, and when they were sent, the oldest first: more than one where an answer takes
    /// longer than the next ping.
    private var awaited: [(payload: [UInt8], sent: LoopInstant)] = []
    /// Whether nothing is read, since an output that must get everything may be behind.
    private var isHeld = false

    /// The most pings that are remembered for their answers.
    private static let mostAwaited = 16

    /// What may be asked for out of turn comes at most so often.
    static let pollPause = Duration.seconds(1)

    /// - Parameters:
    ///   - every: the time from ping to ping.
    ///   - timeout: how long after a ping nothing may come.
    init(every: Duration, timeout: Duration, at now: LoopInstant) {
        self.every = every
        self.timeout = timeout
        lastPing = now
        lastHeard = now
    }

    /// Notes that something came, whatever it was.
    mutating func hear(at now: LoopInstant) { lastHeard = now }

    /// Notes that nothing is read for now: what comes meanwhile is in the kernel, and is not late.
    mutating func hold() { isHeld = true }

    /// Notes that it is read again: what came before now may be unread still.
    mutating func goOn(at now: LoopInstant) {
        isHeld = false
        hear(at: now)
    }

    /// Notes that a ping is written now.
    mutating func send(_ payload: [UInt8], at now: LoopInstant) {
        if awaited.count == Self.mostAwaited { awaited.removeFirst() }
        awaited.append((payload, now))
    }

    /// How long the answer to a ping took; nil for a pong that answers none.
    mutating func answer(_ payload: [UInt8], at now: LoopInstant) -> Duration? {
        guard let place = awaited.firstIndex(where: { $0.payload == payload }) else { return nil }
        // Those before it need no answer any more (RFC 6455, section 5.5.3).
        defer { awaited.removeSubrange(...place) }
        return awaited[place].sent.duration(to: now)
    }

    /// - Parameter isAsked: whether somebody wants a sign of life out of turn.
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
