package import Feed
package import Reactor

/// Reads a JSON document or a bare number a line from a stream, as fast as it comes and the outputs take it.
///
/// Lines end in a newline, the last one may end without; a carriage return before it is white space, and so are blank
/// lines. What a line is that cannot be read is counted and reported; nothing that comes ends it before the stream does.
package actor StdinInput: Input {
    /// What came until the end of the stream.
    package struct Summary: Sendable, Equatable {
        /// All lines, blank and bad ones too.
        package var lines = 0
        package var events = 0
        /// Lines that are no JSON, too long, or without what was asked for.
        package var badLines = 0
        /// Why the stream could not be read to its end; nil when it was.
        package var failure: Failure?

        package init(lines: Int = 0, events: Int = 0, badLines: Int = 0, failure: Failure? = nil) {
            self.lines = lines
            self.events = events
            self.badLines = badLines
            self.failure = failure
        }
    }

    private let source: StdinSource
    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let reader: StdinLineParser
    private let lines: StdinLines
    private var batch = EventBatch()
    private var bad = FaultTally { $0 == 1 ? "" : "\($0) bad lines, the first of them " }
    private var summary = Summary()
    private var reportTimer: LoopTimer?
    private var budget = 0

    /// - Parameters:
    ///   - lines: what the input before this one has left of the same stream; nil when there was none.
    ///   - open: opens the stream; for standard input `{ try DescriptorStream.standard(0, on: $0) }`.
    package init(
        _ source: StdinSource, store: EventStore, on loop: EventLoop, wall: any WallClock,
        lines: LoopBound<StdinLines>? = nil,
        open: @escaping @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    ) {
        self.source = source
        self.store = store
        self.loop = loop
        self.wall = wall
        self.open = open
        reader = StdinLineParser(source.extraction)
        self.lines = lines?.value ?? StdinLines()
    }

    package func run() async throws(CancellationError) { _ = try await read() }

    /// Registers the source and reads to the end of the stream, once.
    ///
    /// - Throws: `CancellationError` when the task is cancelled; what is not read then stays where it is, for the next input.
    package func read() async throws(CancellationError) -> Summary {
        lines.buffer.limit = source.maxLine
        let id = await store.register(source.description)
        // What a slice may add to the log, so that what an output has not seen when it is let in is there still after it.
        budget = await store.logCapacity / 4
        do {
            let stream = try open(loop)
            defer { stream.close() }
            try await read(stream, from: id)
        } catch let error as SystemError {
            summary.failure = Failure(.closed, "standard input cannot be read: \(error.reason)")
        } catch {
            await finish(id)
            throw CancellationError()
        }
        takeLastLine(from: id)
        await finish(id)
        return summary
    }

    private func read(_ stream: any ByteStream, from id: SourceID) async throws {
        while true {
            // Before anything is read: the input before this one may have left some.
            var hasMore = lines.buffer.hasBytes
            while hasMore {
                try await store.admit()
                hasMore = takeLines(from: id)
                await publish(from: id)
                // A stream that always has something to read would otherwise have the loop to itself.
                try await loop.sleep(for: .zero)
            }
            while true {
                if let count = try lines.buffer.fill(from: stream) {
                    if count == 0 { return }
                    break
                }
                try await stream.waitUntilReadable()
            }
        }
    }

    /// Reads the lines there are into the batch, as many as are a slice of work.
    ///
    /// - Returns: whether there may be more.
    private func takeLines(from id: SourceID) -> Bool {
        // One access to each of them for all lines.
        var slice = TimeSlice(of: loop)
        return Self.takeLines(
            &lines.buffer, into: &batch, &bad, &slice,
            LineContext(reader: reader, source: id, now: wall.now, budget: budget))
    }

    /// What does not change from line to line.
    private struct LineContext {
        let reader: StdinLineParser
        let source: SourceID
        let now: Timestamp
        let budget: Int
    }

    private static func takeLines(
        _ buffer: inout LineBuffer, into batch: inout EventBatch, _ bad: inout FaultTally, _ slice: inout TimeSlice,
        _ context: LineContext
    ) -> Bool {
        repeat {
            guard let item = buffer.next() else { return false }
            take(item, buffer.number, buffer.limit, into: &batch, &bad, context)
            // An event's line is its data, with what may be said twice of it and the rest.
            if batch.byteCount * 3 + batch.count * 640 > context.budget { return true }
        } while slice.goesOn()
        return true
    }

    @inline(__always)
    private static func take(
        _ item: LineBuffer.Item, _ number: Int, _ limit: Int, into batch: inout EventBatch, _ bad: inout FaultTally,
        _ context: LineContext
    ) {
        switch item {
        case .line(var line):
            if number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) {
                // RFC 8259 section 8.1 lets readers ignore a byte order mark, which some programs begin a file with.
                line = UnsafeBufferPointer(rebasing: line[3...])
            }
            switch context.reader.read(line, from: context.source, at: context.now, into: &batch) {
            case .read, .blank: break
            case .notJSON(let fault): bad.add(Failure(.notJSON, "line \(number): \(fault.description)"))
            case .faulty(var failure):
                failure.message = "line \(number): \(failure.message)"
                bad.add(failure)
            }
        case .tooLong(let length):
            let message = "line \(number): it has \(length) bytes, and \(limit) are the most that are read"
            bad.add(Failure(.lineTooLong, message))
        }
    }

    /// Publishes what was read, and what was wrong with it when that is due.
    private func publish(from id: SourceID) async {
        summary.events += batch.count
        if let failure = bad.report(at: loop.clock.now) {
            batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        }
        if batch.count > 0 {
            await store.publish(batch)
            batch.removeAll()
        }
        scheduleReport(from: id)
    }

    /// Has bad lines reported when their time comes, should the stream be silent then.
    private func scheduleReport(from id: SourceID) {
        guard let due = bad.due, reportTimer == nil else { return }
        reportTimer = loop.schedule(at: due) { [weak self] in
            self?.assumeIsolated { $0.reportNow(from: id) }
        }
    }

    private func reportNow(from id: SourceID) {
        reportTimer = nil
        if let failure = bad.report(at: loop.clock.now) {
            let event = Event(time: wall.now, source: id, body: .error(failure))
            store.assumeIsolated { $0.publish([event]) }
        }
        scheduleReport(from: id)
    }

    /// Reads the last line, when it has no newline.
    private func takeLastLine(from id: SourceID) {
        guard let item = lines.buffer.finish() else { return }
        let context = LineContext(reader: reader, source: id, now: wall.now, budget: budget)
        Self.take(item, lines.buffer.number, lines.buffer.limit, into: &batch, &bad, context)
    }

    /// Publishes what was read, and reports what has not been reported.
    private func finish(_ id: SourceID) async {
        summary.events += batch.count
        if let failure = bad.report(at: loop.clock.now, isLast: true) {
            batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        }
        if let failure = summary.failure { batch.add(Event(time: wall.now, source: id, body: .error(failure))) }
        if let reportTimer { loop.cancel(reportTimer) }
        reportTimer = nil
        summary.lines = lines.buffer.number
        summary.badLines = bad.total
        await store.publish(batch)
        batch.removeAll()
    }
}
