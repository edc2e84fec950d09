package import Reactor

/// Chooses the id and the expected sequence of each message, and interprets the answers, so that each message is stored
/// once and in order, and a second agent that publishes to the same subject is noticed.
///
/// A message is sent with the sequence of the subject's last message, and stored only if that is still the last. When
/// that must not be requested, only the stream's duplicate window protects against repetition.
package struct NatsFence: Sendable {
    package enum Step: Sendable, Equatable {
        /// Look at the subject's last message.
        case look
        case send(id: String, expected: UInt64?)
    }

    /// The meaning of the subject's last message.
    package enum Sight: Sendable, Equatable {
        /// It is the current message, which is stored then.
        case stored
        /// The current message may be sent.
        case clear
        /// The server that answered is behind the others.
        case outdated
        /// Another agent publishes there, from this host.
        case taken(by: String?)
    }

    /// How long the other agent of a conflict has to be silent before it counts as gone.
    package static let silence = Duration.seconds(180)
    /// How often in a row a server's answer may be outdated.
    private static let mostOutdated = 5

    private let run: String
    /// The number of the current message, or of the next one.
    private var number = 1
    private var attempts = 0
    /// Whether the last attempt, and the one before it, went unanswered.
    private var unanswered = (last: false, before: false)
    /// The id, as a header word, of another process's message that ours continue after.
    package private(set) var behind: String?
    /// The same id, unchanged.
    private var before: String?
    /// The sequence of the subject's last message.
    private var expected: UInt64?
    private var mustLook = true
    private var isPermitted = true
    /// Whether one of our messages is stored: from then on, others' messages are a conflict.
    private var isHere = false
    private var outdated = 0
    private var rival: (sequence: UInt64, since: LoopInstant)?

    /// - Parameter run: this process's run, which is unique.
    package init(run: String) { self.run = run }

    package var step: Step { isPermitted && mustLook ? .look : .send(id: id, expected: isPermitted ? expected : nil) }

    /// The id of the current message, or of the next one.
    package var id: String { "\(run)-\(number)" }

    /// Records that the message is sent now.
    package mutating func send() {
        attempts += 1
        unanswered = (true, unanswered.last)
    }

    /// Records that the stream acknowledged the message.
    ///
    /// - Returns: false when the stream had the id before the first attempt: the message needs another id.
    package mutating func accept(_ receipt: NatsReceipt) -> Bool {
        guard !receipt.isRepeated || attempts > 1 else {
            abandon()
            return false
        }
        store(at: receipt.sequence)
        return true
    }

    /// Records that the stream refused the message because the last message is not the expected one.
    package mutating func refuse() {
        mustLook = true
        unanswered = (false, false)
    }

    /// Records that the stream does not accept the current message as it is.
    ///
    /// - Returns: false when an earlier attempt went unanswered: look first whether that was stored.
    package mutating func decline() -> Bool {
        guard isPermitted, unanswered.before else {
            abandon()
            return true
        }
        refuse()
        // The stream did not say that there is a newer message, so do not wait for one.
        outdated = Self.mostOutdated
        return false
    }

    /// Records that looking at the last message is not permitted.
    package mutating func deny() { isPermitted = false }

    /// Gives up the current message; the next one gets another id.
    package mutating func abandon() {
        number += 1
        attempts = 0
        unanswered = (false, false)
    }

    /// - Parameter last: the subject's last message, as some server of the stream has it; nil for none.
    package mutating func see(_ last: NatsStored?, at now: LoopInstant) -> Sight {
        guard let last else { return clear(0) }
        if last.id == id, attempts > 0 {
            store(at: last.sequence)
            return .stored
        }
        // The answer was lost, but another agent found our message there. Look again whose message is the last.
        if last.behind == id, attempts > 0 {
            abandon()
            isHere = true
            return .stored
        }
        // Our message was refused, so there must be a newer one.
        if let expected, last.sequence <= expected, outdated < Self.mostOutdated {
            outdated += 1
            return .outdated
        }
        outdated = 0
        if isHere, !isEarlier(last.id) {
            if rival?.sequence != last.sequence { rival = (last.sequence, now) }
            guard let rival, rival.since.duration(to: now) >= Self.silence else { return .taken(by: last.host) }
            isHere = false
        }
        if let id = last.id, !isEarlier(id) { (behind, before) = (NatsHeader.word(of: id), id) }
        return clear(last.sequence)
    }

    private mutating func clear(_ sequence: UInt64) -> Sight {
        (expected, mustLook, outdated, rival) = (sequence, false, 0, nil)
        return .clear
    }

    private mutating func store(at sequence: UInt64) {
        _ = clear(sequence)
        isHere = true
        abandon()
    }

    /// Whether the id is of an earlier message: one of ours, or of the process that ours continue after. That happens
    /// when a stream was restored to an earlier state.
    private func isEarlier(_ id: String?) -> Bool {
        guard let (run, number) = Self.parts(of: id) else { return false }
        if run == self.run { return number < self.number }
        return Self.parts(of: before).map { $0.run == run && number <= $0.number } ?? false
    }

    private static func parts(of id: String?) -> (run: Substring, number: Int)? {
        guard let id, let dash = id.lastIndex(of: "-"), let number = Int(id[dash...].dropFirst()) else { return nil }
        return (id[..<dash], number)
    }
}
