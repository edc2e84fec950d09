import CLinux

/// The conditions that a descriptor is watched for, or that hold.
package struct Readiness: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let read = Readiness(rawValue: EPOLLIN.rawValue)
    package static let write = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other side has shut down its sending half.
    package static let readHangUp = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// Always reported, whether requested or not.
    package static let error = Readiness(rawValue: EPOLLERR.rawValue)
    /// Always reported: both halves are closed.
    package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// Report each change once instead of a lasting state.
    package static let edgeTriggered = Readiness(rawValue: EPOLLET.rawValue)
}

/// A descriptor's registration with its loop. Cancel it *before* closing the descriptor. Used on the loop only.
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

    /// The kernel's data for this registration: a stale event, of a descriptor that was closed and opened again in the
    /// same turn, has another generation and is dropped.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Changes the watched conditions.
    package func update(_ interest: Readiness) throws(SystemError) {
        guard handler != nil, interest != self.interest, epoll.knows(self) else { return }
        try epoll.control(EPOLL_CTL_MOD, descriptor, interest, token)
        self.interest = interest
    }

    /// Ends the registration; no further event is delivered, not even of the current turn.
    package func cancel() {
        guard let handler = handler.take() else { return }
        epoll.remove(self)
        withExtendedLifetime(handler) {}  // its deinit may call back here
    }

    /// Called when the loop is released first.
    func forgetEpoll() { handler = nil }
}
