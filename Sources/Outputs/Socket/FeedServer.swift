package import Feed
internal import Glibc
package import Reactor

/// Serves the feed to whoever connects: each reader is a cursor, and none costs another one anything.
package actor FeedServer {
    package struct Limits: Sendable {
        /// How many readers there may be at once.
        package var readers = 1_024
        /// A reader that takes nothing for so long is closed.
        package var stall = Duration.seconds(60)

        package init() {}
    }

    private let loop: EventLoop
    private var limits: Limits
    private let readers: FeedReaders
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var listener: (any Listener)?
    /// When readers are to have left, once nobody else is let in.
    private var deadline: LoopInstant?
    /// Sends slow readers away before that.
    private var dismissal: LoopTimer?

    /// How long to wait when there is no descriptor or memory left for one more reader.
    private static let pauseWithoutRoom = Duration.milliseconds(100)
    /// What of the time until the end readers have for the line that they are in the middle of, if they are slow.
    private static let timeForALine = Duration.seconds(1)

    package init(store: EventStore, desk: PollDesk, on loop: EventLoop, limits: Limits = Limits()) {
        self.loop = loop
        self.limits = limits
        readers = FeedReaders(store: store, desk: desk, on: loop, stall: limits.stall)
    }

    /// How many readers there are now.
    package var readerCount: Int { readers.count }

    /// Other limits from now on; whoever reads already goes on, also when there are too many by now.
    package func change(to limits: Limits) {
        self.limits = limits
        readers.stall = limits.stall
    }

    /// Lets nobody else in, and has `run` come back once all readers have left or `time` is over.
    ///
    /// - Parameter isOver: whether the feed is: then its readers get all there is and the end, and in the last second the end of
    ///   the line that they are in the middle of. Otherwise they get that at once, and no more.
    package func stop(within time: Duration, isOver: Bool) {
        guard deadline == nil else { return }
        deadline = loop.clock.now.advanced(by: time)
        defer { listener?.close() }
        guard isOver else { return readers.dismissAll() }
        admitWhoWaits()
        dismissal = loop.schedule(after: max(.zero, time - Self.timeForALine)) { [readers] in readers.dismissAll() }
    }

    /// Lets in who has connected already, and would get nothing but a reset; no more than may read, as others may go on connecting.
    private func admitWhoWaits() {
        for _ in 0..<limits.readers {
            guard let stream = try? listener?.acceptNow() else { return }
            readers.admit(stream, atMost: limits.readers)
        }
    }

    /// Accepts readers until it is stopped or the task is cancelled; readers get what there is when the feed ends.
    ///
    /// - Parameter open: makes the listener, on the loop.
    /// - Throws: `CancellationError`, or what the listener throws for good.
    package func run(_ open: @Sendable (EventLoop) throws -> any Listener) async throws {
        listener = try open(loop)
        defer {
            listener?.close()
            listener = nil
            if let dismissal { loop.cancel(dismissal) }
            readers.closeAll()
        }
        while let stream = try await accept() {
            readers.admit(stream.value, atMost: limits.readers)
            // However many come, those that are here get their turn in between.
            try await loop.sleep(for: .zero)
        }
        guard let deadline else { return }
        let timer = loop.schedule(at: deadline) { [left = readers.left] in left.open() }
        defer { loop.cancel(timer) }
        while readers.count > 0, loop.clock.now < deadline { try await readers.left.wait() }
    }

    /// The next reader's stream, or nil when nobody else is let in; waits a while when the process has no room for one.
    private func accept() async throws -> LoopBound<any WatchedStream>? {
        while deadline == nil, let listener {
            do {
                return LoopBound(try await listener.accept())
            } catch let error as SystemError {
                if deadline != nil { return nil }
                if Self.isForGood(error) { throw error }
                try await loop.sleep(for: Self.pauseWithoutRoom)
            }
        }
        return nil
    }

    /// Whether no later `accept` can work either. (accept(2): all else is a passing lack, of descriptors for one, or some
    /// network's trouble that another reader need not have.)
    private static func isForGood(_ error: SystemError) -> Bool {
        [EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP].contains(error.code)
    }
}
