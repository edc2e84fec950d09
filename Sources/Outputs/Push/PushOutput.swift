package import Feed
internal import Journal
package import Reactor

/// Pushes the feed to another program's listener, for ever: retries when the listener is absent or hangs.
///
/// There is no way to know what a peer has read. After a reconnection, the last `resend` bytes are written again, and
/// some before them: nothing is lost if the peer had read all but that much, and `(run, seq)` identifies repeats.
package actor PushOutput {
    private let target: PushTarget
    private let store: EventStore
    private let history: JournalQueue?
    private let loop: EventLoop
    private let connect: @Sendable () async throws -> LoopBound<any ByteStream>
    private let tell: @Sendable (String) async -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var backoff: Backoff
    // Bound: positions from which a push may write again | 34 | the oldest is dropped
    /// Positions between written pieces, and the bytes that were written before them. `resend` bytes follow the first
    /// one, but for what is not yet written. Empty before the first connection.
    private var resumePoints: [(line: LineID, offset: Int)]
    /// The bytes written over this connection, in whole pieces.
    private var written = 0
    /// Signalled when there may be more to write.
    private let more: Wakeup
    /// Ends the pause before the next attempt.
    private let pause: Wakeup
    /// The sequence number at which to stop.
    private var goal: Int?

    /// - Parameters:
    ///   - start: the `start` of an ended output to the same address, to continue there.
    ///   - history: the source of lines older than the log's; nil for none.
    ///   - connect: opens the connection; called on the loop.
    package init(
        _ target: PushTarget, store: EventStore, on loop: EventLoop,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(), from start: LineID? = nil,
        history: JournalQueue? = nil,
        tell: @escaping @Sendable (String) async -> Void,
        connect: @escaping @Sendable () async throws -> LoopBound<any ByteStream>
    ) {
        self.target = target
        self.store = store
        self.history = history
        self.loop = loop
        backoff = Backoff(base: .milliseconds(250), cap: .seconds(15), random: random)
        self.tell = tell
        self.connect = connect
        more = Wakeup(loop: loop)
        pause = Wakeup(loop: loop)
        resumePoints = start.map { [($0, 0)] } ?? []
    }

    /// Ends the output once it has written all current lines; at once, while it is not connected.
    package func stop() async {
        goal = await store.nextSequence
        pause.signal()
        more.signal()
    }

    /// The line with which the next connection begins, because the peer may not have read what follows: also one of
    /// another output to the same address, once this one has ended. Nil before the first connection.
    package var start: LineID? { resumePoints.first?.line }

    /// Pushes until the feed ends, `stop` is called, or the task is cancelled.
    package func run() async throws(CancellationError) {
        let feed = ReaderFeed.push(named: target.description, of: store, history) { [more] in more.signal() }
        defer { feed.close() }
        do {
            try await push(feed)
        } catch {
            throw CancellationError()
        }
    }

    private func push(_ feed: ReaderFeed) async throws {
        while true {
            let reason: String
            do {
                if try await pushOnce(feed) { return }
                reason = "the peer closed the connection"
            } catch let error as SystemError {
                reason = error.reason
            }
            guard goal == nil else { return }
            let wait = backoff.fail()
            await store.setState(reason, of: feed.reader)
            await tell("\(target): \(reason); next try in \(wait.shortText)")
            try await pause.wait(until: loop.clock.now.advanced(by: wait))
            guard goal == nil else { return }
        }
    }

    /// Pushes over one connection; returns true when the feed has ended, or all lines before `goal` are written.
    private func pushOnce(_ feed: ReaderFeed) async throws -> Bool {
        let stream = try await connect().value
        let connected = loop.clock.now
        defer {
            stream.close()
            // Written bytes prove nothing: the time decides, so a peer that reads everything and closes does not reset
            // the backoff.
            backoff.lasted(connected.duration(to: loop.clock.now))
        }
        await store.setState("ok", of: feed.reader)
        let start = start ?? feed.nextLine
        resumePoints = [(start, 0)]
        written = 0
        let greeting = feed.move(to: Self.terms(from: start))
        let bound = LoopBound(stream)
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await self.push(feed, behind: greeting, to: bound) }
            group.addTask {
                try await self.watch(bound)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    private static func terms(from start: LineID) -> ReaderRequest.Terms {
        var terms = ReaderRequest.Terms()
        terms.start = .after(start.sequence - 1, run: start.run)
        terms.kept = false
        return terms
    }

    private func push(
        _ feed: ReaderFeed, behind greeting: [UInt8], to bound: LoopBound<any ByteStream>
    ) async throws -> Bool {
        let stream = bound.value
        try await write(.bytes(greeting), of: feed, to: stream)
        while true {
            if let goal, feed.hasReached(goal) { return true }
            var room = Int.max
            switch feed.next(&room) {
            case .piece(let piece): try await write(piece, of: feed, to: stream)
            case .last(let bytes):
                try await write(.bytes(bytes), of: feed, to: stream)
                return true
            case .again: break
            case .nothing: try await more.wait()
            }
        }
    }

    /// Writes lines; those without a number only if they are sent.
    private func write(_ piece: LinePiece, of feed: ReaderFeed, to stream: any ByteStream) async throws {
        guard piece.count > 0 else { return }
        var piece = piece
        if case .bytes = piece, !target.sendsControl {
            piece = .bytes(piece.withUnsafeBytes { $0.lines { LineHead($0) != nil } })
        }
        try await piece.write(to: stream) { _ in }
        written += piece.count
        if let last = resumePoints.last, written - last.offset >= target.resend / 32 {
            resumePoints.append((feed.nextLine, written))
        }
        while resumePoints.count > 1, resumePoints[1].offset <= written - target.resend { resumePoints.removeFirst() }
    }

    /// Reads and drops the peer's bytes until it is gone: one that only stops sending may still read.
    private func watch(_ bound: LoopBound<any ByteStream>) async throws {
        let stream = bound.value
        let buffer = ReadBuffer()
        while true {
            guard let count = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if count == 0 { return try await stream.waitUntilHungUp() }
            try await loop.sleep(for: .zero)  // keeps a chatty peer from occupying the loop
        }
    }
}
