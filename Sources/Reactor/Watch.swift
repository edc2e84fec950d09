import CLinux

/// What a descriptor is watched for, or is ready for.
package struct Readiness: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let read = Readiness(rawValue: EPOLLIN.rawValue)
    package static let write = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other side has shut down its writing half.
    package static let readHangUp = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// Always reported, whether asked for or not.
    package static let error = Readiness(rawValue: EPOLLERR.rawValue)
    /// Always reported: both halves are closed.
    package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// Report a change once, not a state again and again.
    package static let edgeTriggered = Readiness(rawValue: EPOLLET.rawValue)
}

/// A descriptor's registration with its loop. Cancel it *before* the descriptor is closed. Used on the loop only.
package final class Watch {
    package let descriptor: Int32
    package private(set) var interest: Readiness
    private unowned let epoll: Epoll
    private let generation: UInt32
    private(set) var handler: ((Readiness) -> Void)?

    init(
        descriptor: Int32, interest: Readiness, generation: UInt32, epoll: Epoll,
        handler: @escaping (Readiness) -> Void
    ) {
        self.descriptor = descriptor
        self.interest = interest
        self.generation = generation
        self.epoll = epoll
        self.handler = handler
    }

    /// What the kernel carries for this registration: a stale event of a descriptor that was closed and opened again
    /// in the same turn has another generation, and is dropped.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Changes what is watched for.
    package func update(_ interest: Readiness) throws(SystemError) {
        guard handler != nil, interest != self.interest, epoll.knows(self) else { return }
        try epoll.control(EPOLL_CTL_MOD, descriptor, interest, token)
        self.interest = interest
    }

    /// Ends the registration; no event of it is delivered after this, not even one of the turn under way.
    package func cancel() {
        guard let handler else { return }
        self.handler = nil
        epoll.remove(self)
        withExtendedLifetime(handler) {}  // what dies with it may come back here
    }

    /// Called when the loop goes first.
    func forgetEpoll() { handler = nil }
}
