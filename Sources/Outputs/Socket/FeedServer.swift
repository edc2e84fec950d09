package import Feed
internal import Glibc
package import Reactor

/// Serves the feed to clients of a socket: each reader is a cursor, and none delays another one.
package actor FeedServer {
    private let loop: EventLoop
    private let readers: FeedReaders
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var listener: (any Listener)?
    /// Opened once the server listens, or has failed to.
    private let begun: Wakeup

    /// The pause when there is no descriptor or memory for another reader.
    private static let pauseWithoutRoom = Duration.milliseconds(100)

    /// - Parameters:
    ///   - seats: shared with the other outputs that have readers.
    ///   - history: the source of lines older than the log's; nil for none.
    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, limits: ReaderLimits = ReaderLimits(),
        seats: ReaderSeats = ReaderSeats(), history: JournalQueue? = nil
    ) {
        self.loop = loop
        begun = Wakeup(loop: loop)
        readers = FeedReaders(store: store, polls: polls, on: loop, limits: limits, seats: seats, history: history)
    }

    /// The number of readers.
    package var readerCount: Int { readers.count }

    /// Applies other limits.
    package func change(to limits: ReaderLimits) { readers.change(to: limits) }

    /// Waits until `run` has begun, so that a client that connected earlier is not answered by a stopped server.
    package func waitUntilBegun() async { try? await begun.wait() }

    /// Admits no more readers, and ends `run` once all have left or `time` is over; see `FeedReaders.leave`.
    package func stop(within time: Duration, isOver: Bool) {
        guard !readers.isLeaving else { return }
        defer { listener?.close() }
        if isOver { admitWhoWaits() }
        readers.leave(within: time, isOver: isOver)
    }

    /// Admits clients that have connected already, which would get a reset; at most as many as may read, because others
    /// may go on connecting.
    private func admitWhoWaits() {
        for _ in 0..<readers.limit {
            guard let stream = try? listener?.acceptNow() else { return }
            readers.admit(stream)
        }
    }

    /// Accepts readers until it is stopped or the task is cancelled; at the end of the feed, readers get what is left.
    ///
    /// - Parameter open: creates the listener; called on the loop.
    /// - Throws: `CancellationError`, or a permanent error of the listener.
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
            // Lets present readers have a turn, however many come.
            try await loop.sleep(for: .zero)
        }
        try await readers.waitUntilLeft()
    }

    /// Returns the next reader's stream, or nil when no more are admitted; pauses when the process has no room for
    /// another.
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

    /// Whether no later `accept` can succeed. (accept(2): all other errors are temporary, such as a lack of
    /// descriptors, or network errors of a single client.)
    private static func isForGood(_ error: SystemError) -> Bool {
        [EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP].contains(error.code)
    }
}
