package import Reactor

/// Which id a message has, what the stream is to expect, and what its answers mean: so each message is stored once and in
/// order, and a second agent that publishes to the same subject is found.
///
/// A message is sent with the sequence of the subject's last one, and is stored only if that is it still. Where nobody may be
/// asked for that, the stream's memory of ids is all there is.
package struct NatsFence: Sendable {
    package enum Step: Sendable, Equatable {
        /// The subject's last message is to be looked at.
        case look
        case send(id: String, expected: UInt64?)
    }

    /// What the subject's last message says.
    package enum Sight: Sendable, Equatable {
        /// It is the one under way.
        case stored
        /// That one may be sent.
        case clear
        /// A server was asked that is behind the others.
        case outdated
        /// Another agent publishes there, from that machine.
        case taken(by: String?)
    }

    /// How long the other one of a conflict is silent before it counts as gone.
    package static let silence = Duration.seconds(180)
    /// So often in a row a server may be behind.
    private static let mostOutdated = 5

    private let run: String
    /// Of the message under way, or the next one.
    private var number = 1
    private var attempts = 0
    /// Whether an attempt was not answered: the last one, and one before it.
    private var unanswered = (last: false, before: false)
    /// The id of the other process's message that ours go on behind.
    package private(set) var behind: String?
    /// That id as it is.
    private var before: String?
    /// The sequence of the subject's last message.
    private var expected: UInt64?
    private var mustLook = true
    private var isPermitted = true
    /// Whether a message of ours is there: then nobody else's may come.
    private var isHere = false
    private var outdated = 0
    private var rival: (sequence: UInt64, since: LoopInstant)?

    /// - Parameter run: of this process, which no other has.
    package init(run: String) { self.run = run }

    package var step: Step { isPermitted && mustLook ? .look : .send(id: id, expected: isPermitted ? expected : nil) }

    private var id: String { "\(run)-\(number)" }

    /// The message is sent now.
    package mutating func send() {
        attempts += 1
        unanswered = (true, unanswered.last)
    }

    /// The stream has it, as it says.
    ///
    /// - Returns: false when it says that it knew the id before that was ever sent: the message gets another one.
    package mutating func accept(_ receipt: NatsReceipt) -> Bool {
        guard !receipt.isRepeated || attempts > 1 else {
            abandon()
            return false
        }
        store(at: receipt.sequence)
        return true
    }

    /// The stream does not have it, as the last message is not the expected one.
    package mutating func refuse() {
        mustLook = true
        unanswered = (false, false)
    }

    /// The stream does not take the message under way as it is.
    ///
    /// - Returns: false when an attempt before was not answered, so it may be there: that is looked at first.
    package mutating func decline() -> Bool {
        guard isPermitted, unanswered.before else {
            abandon()
            return true
        }
        refuse()
        // Nobody says that there is a newer one.
        outdated = Self.mostOutdated
        return false
    }

    /// The last message may not be looked at.
    package mutating func deny() { isPermitted = false }

    /// The message under way is not sent any more: another one comes in its place.
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
        // The answer was lost, and another one has found it there. Whose the last message is, is looked at again.
        if last.behind == id, attempts > 0 {
            abandon()
            isHere = true
            return .stored
        }
        // It was refused, so there is a newer one.
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

    /// Whether it is the id of a message before the one under way: of ours, or of whom ours go on behind, as where a stream was
    /// set back.
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
