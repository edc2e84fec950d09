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
    /// The bytes of the last span that were not written.
    private var unwritten = 0
    /// The sequence number at the start of this connection, or of the run if later.
    private var first = 0
    private var hasConnected = false
    /// The run of `first` and the trail.
    private var run = ""
    /// The line from which on the journal had nothing at the last request.
    private var pastEnd: LineID?
    /// Whether the reader has left the log until older lines are written.
    private var isAway = false
    private var reader: ReaderID?
    /// Ends the pause before the next attempt.
    private let pause: Wakeup
    /// The sequence number at which to stop.
    private var goal: Int?
    private var isFollowed = false

    /// The bytes of older lines in one write, approximately.
    private static let linesAtOnce = 2 << 10

    /// - Parameters:
    ///   - reader: the reader of an ended output to the same address, to continue with.
    ///   - history: the source of lines older than the log's; nil for none.
    ///   - connect: opens the connection; called on the loop.
    package init(
        _ target: PushTarget, store: EventStore, on loop: EventLoop,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(), from reader: ReaderID? = nil,
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
        self.reader = reader
        pause = Wakeup(loop: loop)
        resend = target.resend ?? StreamSocket.sendBuffer
        trail = WriteTrail(reach: resend)
    }

    /// Ends the output once it has written all current lines; at once, while it is not connected.
    ///
    /// - Parameter isFollowed: whether another output continues with its reader, from `handOverReader`.
    package func stop(isFollowed: Bool) async {
        self.isFollowed = isFollowed
        goal = await store.nextSequence
        pause.signal()
        if let reader { await store.interrupt(reader) }
    }

    /// Returns the reader of an ended output, once; rewound as after a lost connection, because the peer may not have
    /// read everything. Nil when no output was announced to continue.
    package func handOverReader() -> ReaderID? {
        defer { reader = nil }
        return isFollowed ? reader : nil
    }

    /// Pushes until the feed ends, `stop` is called, or the task is cancelled.
    package func run() async throws(CancellationError) {
        let reader = await openReader()
        run = await store.identity.run
        do {
            try await push(reader)
        } catch {
            await leave(reader)
            throw CancellationError()
        }
        await leave(reader)
    }

    private func openReader() async -> ReaderID {
        if let reader {
            await store.hand(reader, to: target.description)
            return reader
        }
        let (reader, _) = await store.open(target.description)
        self.reader = reader
        return reader
    }

    private func leave(_ reader: ReaderID) async {
        if !isFollowed {
            await store.close(reader)
        } else if hasConnected {
            await goBack(reader)
            // The next output knows nothing of the reading; its reader gets a gap instead.
            if isAway { _ = await store.move(reader, to: .at(LineID(run, first)), isFiltered: false) }
        }
    }

    private func push(_ reader: ReaderID) async throws {
        while true {
            let reason: String
            do {
                if try await pushOnce(reader) { return }
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

    private func goBack(_ reader: ReaderID) async {
        // Not before the start of the last connection: older lines were written before it.
        let fallback = trail.sequence(bytesBack: resend + unwritten) ?? first
        let isOver = run != (await store.run)
        if history != nil, isAway || isOver {
            first = fallback
        } else {
            first = await store.rewind(reader, bytes: resend + unwritten, notBefore: first, fallback: fallback)
        }
    }

    /// Pushes over one connection; returns true when the feed has ended, or all lines before `goal` are written.
    private func pushOnce(_ reader: ReaderID) async throws -> Bool {
        let stream = try await connect().value
        let connected = loop.clock.now
        defer {
            stream.close()
            // Written bytes prove nothing: the time decides, so a peer that reads everything and closes does not reset
            // the backoff.
            backoff.lasted(connected.duration(to: loop.clock.now))
        }
        await store.setState("ok", of: reader)
        if hasConnected {
            await goBack(reader)
        } else {
            run = await store.run
            first = await store.cursor(of: reader)
        }
        hasConnected = true
        trail.removeAll()
        unwritten = 0
        pastEnd = nil
        let bound = LoopBound(stream)
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await self.push(reader, to: bound) }
            group.addTask {
                try await self.watch(bound)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    private func push(_ reader: ReaderID, to bound: LoopBound<any ByteStream>) async throws -> Bool {
        let stream = bound.value
        var isGreeted = false
        if history != nil, !(await store.holds(LineID(run, first))) {
            isGreeted = try await push(reading(from: first), of: reader, to: stream)
        } else if isAway {
            isAway = false
            _ = await store.move(reader, to: .at(LineID(run, first)), isFiltered: false)
        }
        if !isGreeted, target.sendsControl {
            try await stream.write(all: await store.greeting(for: reader))
        }
        while true {
            if let goal, await store.cursor(of: reader) >= goal { return true }
            switch try await store.next(for: reader) {
            case .lines(let span):
                unwritten = span.count
                trail.record(sequence: span.sequences.lowerBound, bytes: span.count)
                try await span.write(to: stream) { unwritten -= $0 }
            case .gap(let line):
                if history != nil, let missing = Line.Gap(line[...]), pastEnd != LineID(run, missing.from) {
                    let missed = reading(from: missing.from, through: missing.to)
                    if try await push(missed, of: reader, to: stream) { continue }
                }
                if target.sendsControl { try await stream.write(all: line) }
            case .greeting(let line):
                await begin(store.run, at: store.cursor(of: reader))
                if target.sendsControl { try await stream.write(all: line) }
            case .kept, .interrupted: break
            case .end(let line):
                if target.sendsControl { try await stream.write(all: line) }
                return true
            }
        }
    }

    /// Goes on with this run: in another one, sequence numbers start again.
    private func begin(_ run: String, at first: Int) {
        if run == self.run { return }
        (self.run, self.first) = (run, first)
        trail.removeAll()
    }

    /// A reading of the journal's lines from this one of the run on.
    ///
    /// - Parameter last: the last line of that run known to be missing.
    private func reading(from sequence: Int, through last: Int? = nil) -> PastReading {
        PastReading(
            from: .after(sequence - 1, run: run), nil, as: target.sendsControl ? .lines : .numbered, through: last)
    }

    /// Writes lines that the log has dropped, up to one that the log has, followed by `hello` and `stats`.
    ///
    /// - Returns: false when the journal has nothing of that run; the reader is then unchanged.
    private func push(_ past: PastReading, of reader: ReaderID, to stream: any ByteStream) async throws -> Bool {
        guard let history else { return false }
        var reading = past
        var (lost, failure): ([UInt8], [UInt8]) = ([], [])
        reading: while true {
            if let next = reading.next, await store.holds(next) { break }
            reading.log = await LineID(store.run, store.firstSequence)
            let step = try await history.step(&reading)
            // Until then the store reports what it lacks.
            if reading.end != nil, !isAway {
                isAway = true
                await store.sendAway(reader)
            }
            switch step {
            case .bytes(let bytes):
                if let next = reading.next { begin(next.run, at: reading.first ?? next.sequence) }
                try await write(bytes, to: stream)
            case .end(let fault):
                pastEnd = reading.next
                (lost, failure) = reading.leave(because: fault, for: await store.run, at: store.wallTime)
                break reading
            }
        }
        guard isAway, let next = reading.next else { return false }
        isAway = false
        let greeting = await store.move(reader, to: .at(next), isFiltered: false)
        await begin(store.run, at: store.cursor(of: reader))
        if target.sendsControl { try await stream.write(all: lost + greeting + failure) }
        return true
    }

    /// Writes lines in small groups, so that a rewind repeats few of them.
    private func write(_ bytes: [UInt8], to stream: any ByteStream) async throws {
        var start = 0
        while start < bytes.count {
            var end = start
            var first: Int?
            while end < bytes.count, end - start < Self.linesAtOnce {
                let next = bytes[end...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
                if first == nil { first = bytes[end..<next].withUnsafeBytes { LineHead($0)?.sequence } }
                end = next
            }
            unwritten = end - start
            if let first { trail.record(sequence: first, bytes: unwritten) }
            while unwritten > 0 {
                unwritten -= try bytes.withUnsafeBytes { bytes throws(SystemError) in
                    try stream.write(UnsafeRawBufferPointer(rebasing: bytes[(end - unwritten)..<end]))
                }
                if unwritten > 0 { try await stream.waitUntilWritable() }
            }
            start = end
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
