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
    private let limits: Limits
    private let readers: FeedReaders
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var listener: (any Listener)?

    /// How long to wait when there is no descriptor or memory left for one more reader.
    private static let pauseWithoutRoom = Duration.milliseconds(100)

    package init(store: EventStore, desk: PollDesk, on loop: EventLoop, limits: Limits = Limits()) {
        self.loop = loop
        self.limits = limits
        readers = FeedReaders(store: store, desk: desk, on: loop, stall: limits.stall)
    }

    /// How many readers there are now.
    package var readerCount: Int { readers.count }

    /// Accepts readers until the task is cancelled; readers get what there is when the feed ends.
    ///
    /// - Parameter open: makes the listener, on the loop.
    /// - Throws: `CancellationError`, or what the listener throws for good.
    package func run(_ open: @Sendable (EventLoop) throws -> any Listener) async throws {
        listener = try open(loop)
        defer {
            listener?.close()
            listener = nil
            readers.closeAll()
        }
        while let stream = try await accept() {
            readers.admit(stream.value, atMost: limits.readers)
            // However many come, those that are here get their turn in between.
            try await loop.sleep(for: .zero)
        }
    }

    /// The next reader's stream; waits a while when the process has no room for one.
    private func accept() async throws -> LoopBound<any WatchedStream>? {
        while let listener {
            do {
                return LoopBound(try await listener.accept())
            } catch let error as SystemError where !Self.isForGood(error) {
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
