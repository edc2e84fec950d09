package import Feed
internal import Journal
package import Reactor

/// Pushes the feed to another program's listener, for ever: retries when the listener is absent or hangs.
///
/// There is no way to know what a peer has read. After a reconnection, the last `resend` bytes are written again, from
/// the start of a line: nothing is lost if the peer had read all but that much, and `(run, seq)` identifies repeats.
package actor PushOutput {
    private let target: PushTarget
    private let store: EventStore
    private let history: JournalQueue?
    private let loop: EventLoop
    private let connect: @Sendable () async throws -> LoopBound<any ByteStream>
    private let tell: @Sendable (String) async -> Void
    private var random: any RandomNumberGenerator & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var backoff = Backoff(base: .milliseconds(250), cap: .seconds(15))
    /// The number of bytes to write again after a reconnection.
    private let resend: Int
    /// The recent writes, to find lines that the log has dropped.
    private var trail: WriteTrail
    /// The bytes of the last write that were not written.
    private var unwritten = 0
    /// The first line of this connection, or of the run if later; nil before the first connection.
    private var first: LineID?
    /// Signalled when there may be more to write.
    private let more: Wakeup
    /// Ends the pause before the next attempt.
    private let pause: Wakeup
    /// The sequence number at which to stop.
    private var goal: Int?

    /// The bytes of older lines in one write, approximately.
    private static let linesAtOnce = 2 << 10

    /// - Parameters:
    ///   - place: the line to continue with, from `place` of an ended output to the same address.
    ///   - history: the source of lines older than the log's; nil for none.
    ///   - connect: opens the connection; called on the loop.
    package init(
        _ target: PushTarget, store: EventStore, on loop: EventLoop,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(), from place: LineID? = nil,
        history: JournalQueue? = nil,
        tell: @escaping @Sendable (String) async -> Void,
        connect: @escaping @Sendable () async throws -> LoopBound<any ByteStream>
    ) {
        self.target = target
        self.store = store
        self.history = history
        self.loop = loop
        self.random = random
        self.tell = tell
        self.connect = connect
        first = place
        more = Wakeup(loop: loop)
        pause = Wakeup(loop: loop)
        resend = target.resend ?? StreamSocket.sendBuffer
        trail = WriteTrail(reach: resend)
    }

    /// Ends the output once it has written all current lines; at once, while it is not connected.
    package func stop() async {
        goal = await store.nextSequence
        pause.signal()
        more.signal()
    }

    /// The line that another output to the same address continues with, once this one has ended: the peer may not have
    /// read everything.
    package var place: LineID? { first }

    /// Pushes until the feed ends, `stop` is called, or the task is cancelled.
    package func run() async throws(CancellationError) {
        let (reader, _) = await store.open(target.description) { [more] in more.signal() }
        let feed = ReaderFeed(.push, of: reader, in: store, history) { [more] in more.signal() }
        defer {
            first = start(feed, reader)
            feed.close()
        }
        do {
            try await push(feed, reader)
        } catch {
            throw CancellationError()
        }
    }

    private func push(_ feed: ReaderFeed, _ reader: ReaderID) async throws {
        while true {
            let reason: String
            do {
                if try await pushOnce(feed, reader) { return }
                reason = "the peer closed the connection"
            } catch let error as SystemError {
                reason = error.reason
            }
            guard goal == nil else { return }
            let wait = backoff.fail(using: &random)
            await store.setState(reason, of: reader)
            await tell("\(target): \(reason); next try in \(wait.shortText)")
            let timer = loop.schedule(after: wait) { [pause] in pause.signal() }
            defer { loop.cancel(timer) }
            try await pause.wait()
            guard goal == nil else { return }
        }
    }

    /// The first line of the next connection: some bytes before the last write, but not before the start of the last
    /// connection, since older lines were written before it.
    private func start(_ feed: ReaderFeed, _ reader: ReaderID) -> LineID {
        let back = resend + unwritten
        let known = trail.sequence(bytesBack: back)
        return store.assumeIsolated { [first] store in
            guard let first else { return LineID(store.run, store.place(of: reader)) }
            var sequence = known ?? first.sequence
            if feed.isInLog, first.run == store.run {
                sequence = store.rewind(reader, bytes: back, notBefore: first.sequence, fallback: sequence)
            }
            return LineID(first.run, sequence)
        }
    }

    /// Pushes over one connection; returns true when the feed has ended, or all lines before `goal` are written.
    private func pushOnce(_ feed: ReaderFeed, _ reader: ReaderID) async throws -> Bool {
        let stream = try await connect().value
        let connected = loop.clock.now
        defer {
            stream.close()
            // Written bytes prove nothing: the time decides, so a peer that reads everything and closes does not reset
            // the backoff.
            backoff.lasted(connected.duration(to: loop.clock.now))
        }
        await store.setState("ok", of: reader)
        let start = start(feed, reader)
        (first, unwritten) = (start, 0)
        trail.removeAll()
        var terms = ReaderRequest.Terms()
        terms.start = .after(start.sequence.subtractingSaturated(1), run: start.run)
        let greeting = feed.move(to: terms)
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

    private func push(
        _ feed: ReaderFeed, behind greeting: [UInt8], to bound: LoopBound<any ByteStream>
    ) async throws -> Bool {
        let stream = bound.value
        try await write(greeting, to: stream)
        while true {
            if let goal, feed.hasReached(goal) { return true }
            var room = Int.max
            switch feed.next(&room) {
            case .lines(let span): try await write(.span(span), from: span.sequences.lowerBound, to: stream)
            case .bytes(let bytes): try await write(bytes, to: stream)
            case .last(let bytes):
                try await write(bytes, to: stream)
                return true
            case .again: break
            case .nothing: try await more.wait()
            }
        }
    }

    /// Writes older lines in small groups, so that a rewind repeats few of them, and each line without a number by
    /// itself, if those are sent.
    private func write(_ bytes: [UInt8], to stream: any ByteStream) async throws {
        var end = 0
        while end < bytes.count {
            let start = end
            var first: Int?
            repeat {
                let next = bytes[end...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
                let sequence = bytes[end..<next].withUnsafeBytes { LineHead($0)?.sequence }
                if sequence == nil, end > start { break }
                first = first ?? sequence
                end = next
            } while first != nil && end < bytes.count && end - start < Self.linesAtOnce
            let group = bytes[start..<end]
            if let first {
                try await write(.bytes(Array(group)), from: first, to: stream)
            } else {
                learn(from: group.dropLast())
                if target.sendsControl { try await stream.write(all: Array(group)) }
            }
        }
    }

    private func write(_ piece: FeedPiece, from sequence: Int, to stream: any ByteStream) async throws {
        unwritten = piece.count
        trail.note(sequence: sequence, bytes: unwritten)
        try await piece.write(to: stream) { unwritten -= $0 }
    }

    /// Learns from a line without a number which line comes first.
    private func learn(from line: ArraySlice<UInt8>) {
        switch (try? LineDecoder.decode(line))?.body {
        case .hello(let hello) where hello.run != first?.run:
            // Sequence numbers start again.
            first = LineID(hello.run, hello.firstSeq)
            trail.removeAll()
        case .gap(let gap):
            if let known = first, gap.from < known.sequence { first = LineID(known.run, gap.from) }
        default: break
        }
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
