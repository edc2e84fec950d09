package import Feed
package import Reactor

/// Reads one JSON document or bare number per line from a stream, as fast as it comes and the outputs accept it.
///
/// Lines end in a newline, which the last one may lack; a carriage return before it is white space, and blank lines are
/// skipped. A line that cannot be read is counted and reported; only the end of the stream ends the input.
package actor StdinInput: Input {
    private let source: StdinSource
    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let worker: (any Worker)?
    private let open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let reader: StdinLineParser
    private let lines: StdinLines
    private var batch = EventBatch()
    private var faults = LineFaults()
    /// Why the stream could not be read to its end; nil when it was, or has not ended.
    private var failure: Failure?
    private var reportTimer: LoopTimer?
    /// Whether there are no more bytes, so that the last line needs no newline.
    private var isAtEnd = false

    /// - Parameters:
    ///   - worker: reads long lines; nil for the loop.
    ///   - lines: unparsed bytes that an earlier input left of the same stream; nil when there was none.
    ///   - open: opens the stream: `{ try DescriptorStream.standard(0, on: $0) }` for standard input, a `FileStream`
    ///     for a file.
    package init(
        _ source: StdinSource, store: EventStore, on loop: EventLoop, wall: any WallClock, worker: (any Worker)? = nil,
        lines: LoopBound<StdinLines>? = nil,
        open: @escaping @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    ) {
        self.source = source
        self.store = store
        self.loop = loop
        self.wall = wall
        self.worker = worker
        self.open = open
        reader = StdinLineParser(source.extraction)
        self.lines = lines?.value ?? StdinLines()
    }

    /// Whether the stream could not be read to its end.
    package var isCutShort: Bool { failure != nil }

    /// Registers the source and reads to the end of the stream, once.
    ///
    /// - Throws: `CancellationError` when the task is cancelled; unread bytes then stay for the next input.
    package func run() async throws(CancellationError) {
        lines.buffer.limit = source.maxLine
        let id = await store.register(source.description)
        do {
            do {
                let stream = try open(loop)
                defer { stream.close() }
                try await read(stream, from: id)
            } catch let error as SystemError {
                failure = Failure(.closed, "\(source.path ?? "standard input") cannot be read: \(error.reason)")
            }
            isAtEnd = true
            try await processLines(from: id)
        } catch {
            await finish(id)
            throw CancellationError()
        }
        await finish(id)
    }

    private func read(_ stream: any ByteStream, from id: SourceID) async throws {
        while true {
            // Before anything is read, because an earlier input may have left lines.
            try await processLines(from: id)
            while true {
                if let count = try lines.buffer.fill(from: stream) {
                    if count == 0 { return }
                    break
                }
                try await stream.waitUntilReadable()
            }
        }
    }

    /// Parses and publishes the buffered lines, a slice of work at a time.
    private func processLines(from id: SourceID) async throws(CancellationError) {
        var hasMore = isAtEnd || lines.buffer.hasBytes
        while hasMore {
            try await store.admit()
            var long: Bytes?
            hasMore = parseLines(from: id, &long)
            if let long {
                await publish(from: id)  // `parse` replaces the batch
                await parse(long: long, from: id)
            }
            await publish(from: id)
            // A stream that always has something to read would otherwise occupy the loop.
            try await loop.sleep(for: .zero)
        }
    }

    /// Parses buffered lines into the batch, up to a slice of work.
    ///
    /// - Parameter long: set to the last line when it is too long to be parsed here.
    /// - Returns: whether there may be more lines.
    private func parseLines(from id: SourceID, _ long: inout Bytes?) -> Bool {
        // One access check per property for all lines.
        var slice = TimeSlice(of: loop)
        return Self.parseLines(&lines.buffer, into: &batch, &faults, &slice, &long, context(id))
    }

    private func context(_ id: SourceID) -> LineContext {
        LineContext(reader: reader, source: id, now: wall.now, isAtEnd: isAtEnd)
    }

    /// The faults that are not reported yet.
    private struct LineFaults {
        var bad = FaultTally { $0 == 1 ? "" : "\($0) bad lines, the first of them " }
        var withoutValue = FaultTally.withoutValue
    }

    /// The values that are the same for all lines.
    private struct LineContext {
        let reader: StdinLineParser
        let source: SourceID
        let now: Timestamp
        let isAtEnd: Bool
    }

    private static func parseLines(
        _ buffer: inout LineBuffer, into batch: inout EventBatch, _ faults: inout LineFaults, _ slice: inout TimeSlice,
        _ long: inout Bytes?, _ context: LineContext
    ) -> Bool {
        repeat {
            if context.reader.hasItems {
                guard let verdict = context.reader.readItems(into: &batch, during: &slice) else { return true }
                addFaults(of: verdict, in: buffer.number, context.reader, &faults)
            } else {
                guard let item = buffer.next() ?? (context.isAtEnd ? buffer.finish() : nil) else { return false }
                parse(item, buffer.number, buffer.limit, into: &batch, &faults, &long, context)
            }
            if batch.isFull || long != nil { return true }
        } while slice.goesOn()
        return true
    }

    @inline(__always)
    private static func parse(
        _ item: LineBuffer.Item, _ number: Int, _ limit: Int, into batch: inout EventBatch, _ faults: inout LineFaults,
        _ long: inout Bytes?, _ context: LineContext
    ) {
        switch item {
        case .line(var line):
            if number == 1, line.starts(with: JSONText.byteOrderMark) {
                // RFC 8259 section 8.1 lets readers ignore it, and some programs begin a file with one.
                line = UnsafeBufferPointer(rebasing: line[JSONText.byteOrderMark.count...])
            }
            let verdict = context.reader.read(line, from: context.source, at: context.now, into: &batch)
            if case .long = verdict { long = Bytes(line) }
            addFaults(of: verdict, in: number, context.reader, &faults)
        case .tooLong(let length):
            let message = "line \(number): it has \(length) bytes, and \(limit) are the most that are read"
            faults.bad.add(Failure(.lineTooLong, message))
        }
    }

    /// Counts the faults of a line.
    @inline(__always)
    private static func addFaults(
        of verdict: StdinLineParser.Verdict, in number: Int, _ reader: StdinLineParser, _ faults: inout LineFaults
    ) {
        func atLine(_ failure: Failure) -> Failure { Failure(failure.code, "line \(number): \(failure.message)") }
        switch verdict {
        case .read, .items, .long, .blank: break
        case .notJSON(let fault): faults.bad.add(Failure(.notJSON, "line \(number): \(fault.description)"))
        case .faulty(let failure): faults.bad.add(atLine(failure))
        case .withoutValue(let missing, let failure):
            faults.withoutValue.add(atLine(reader.failure(of: missing)), count: missing.count)
            if let failure { faults.bad.add(atLine(failure)) }
        }
    }

    /// Parses a long line into the batch, which is empty.
    private func parse(long line: Bytes, from id: SourceID) async {
        var batch = EventBatch()
        let verdict = await reader.read(long: line, from: id, at: wall.now, into: &batch, on: loop, or: worker)
        self.batch = batch
        Self.addFaults(of: verdict, in: lines.buffer.number, reader, &faults)
    }

    /// Publishes the batch, and the faults if their report is due.
    private func publish(from id: SourceID) async {
        if let failure = faults.bad.report(at: loop.clock.now) {
            batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        }
        await reportMissingValues(from: id)
        if batch.count > 0 {
            await store.publish(batch, waitingUntil: nil)
            batch.removeAll()
        }
        scheduleReport(from: id)
    }

    /// Reports events without a value: before these are published, because that ends the error state of the source.
    private func reportMissingValues(from id: SourceID, isLast: Bool = false) async {
        guard let failure = faults.withoutValue.report(at: loop.clock.now, isLast: isLast) else { return }
        await store.publish([Event(time: wall.now, source: id, body: .error(failure))])
    }

    /// Schedules the report of bad lines, in case the stream is silent by then.
    private func scheduleReport(from id: SourceID) {
        guard let due = faults.bad.due, reportTimer == nil else { return }
        reportTimer = loop.schedule(at: due) { [weak self] in
            self?.assumeIsolated { $0.reportNow(from: id) }
        }
    }

    private func reportNow(from id: SourceID) {
        reportTimer = nil
        if let failure = faults.bad.report(at: loop.clock.now) {
            let event = Event(time: wall.now, source: id, body: .error(failure))
            store.assumeIsolated { $0.publish([event]) }
        }
        scheduleReport(from: id)
    }

    /// Publishes the batch, and all faults not yet reported.
    private func finish(_ id: SourceID) async {
        if let cut = reader.cutShort { Self.addFaults(of: .faulty(cut), in: lines.buffer.number, reader, &faults) }
        await reportMissingValues(from: id, isLast: true)
        if let failure = faults.bad.report(at: loop.clock.now, isLast: true) {
            batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        }
        if let failure { batch.add(Event(time: wall.now, source: id, body: .error(failure))) }
        if let reportTimer = reportTimer.take() { loop.cancel(reportTimer) }
        await store.publish(batch)
        batch.removeAll()
    }
}
