package import Feed
internal import Glibc
package import Reactor

/// Serves the feed to whoever connects: each reader is a cursor, and none costs another one anything.
package actor FeedServer {
    private let loop: EventLoop
    private let readers: FeedReaders
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var listener: (any Listener)?
    /// Open from when on it listens, or cannot.
    private let begun: Wakeup

    /// How long to wait when there is no descriptor or memory left for one more reader.
    private static let pauseWithoutRoom = Duration.milliseconds(100)

    /// - Parameters:
    ///   - seats: shared with who else has readers.
    ///   - history: where older lines than the log's are; nil for nowhere.
    package init(
        store: EventStore, desk: PollDesk, on loop: EventLoop, limits: ReaderLimits = ReaderLimits(),
        seats: ReaderSeats = ReaderSeats(), history: HistoryDesk? = nil
    ) {
        self.loop = loop
        begun = Wakeup(loop: loop)
        readers = FeedReaders(store: store, desk: desk, on: loop, limits: limits, seats: seats, history: history)
    }

    /// How many readers there are now.
    package var readerCount: Int { readers.count }

    /// Other limits from now on.
    package func change(to limits: ReaderLimits) { readers.change(to: limits) }

    /// Waits until `run` has begun: who has connected before is not let in by one that was stopped by then.
    package func waitUntilBegun() async { try? await begun.wait() }

    /// Lets nobody else in, and has `run` come back once all readers have left or `time` is over; see `FeedReaders.leave`.
    package func stop(within time: Duration, isOver: Bool) {
        guard !readers.isLeaving else { return }
        defer { listener?.close() }
        if isOver { admitWhoWaits() }
        readers.leave(within: time, isOver: isOver)
    }

    /// Lets in who has connected already, and would get nothing but a reset; no more than may read, as others may go on connecting.
    private func admitWhoWaits() {
        for _ in 0..<readers.limit {
            guard let stream = try? listener?.acceptNow() else { return }
            readers.admit(stream)
        }
    }

    /// Accepts readers until it is stopped or the task is cancelled; readers get what there is when the feed ends.
    ///
    /// - Parameter open: makes the listener, on the loop.
    /// - Throws: `CancellationError`, or what the listener throws for good.
    package func run(_ open: @Sendable (EventLoop) throws -> any Listener) async throws {
        begun.open()
        listener = try open(loop)
        defer {
            listener?.close()
            listener = nil
            readers.closeAll()
        }
        while let stream = try await accept() {
            readers.admit(stream.value)
            // However many come, those that are here get their turn in between.
            try await loop.sleep(for: .zero)
        }
        try await readers.waitUntilLeft()
    }

    /// The next reader's stream, or nil when nobody else is let in; waits a while when the process has no room for one.
    private func accept() async throws -> LoopBound<any WatchedStream>? {
        while !readers.isLeaving, let listener {
            do {
                return LoopBound(try await listener.accept())
            } catch let error as SystemError {
                if readers.isLeaving { return nil }
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
