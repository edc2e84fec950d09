internal import Feed
internal import Reactor

/// One reader of a socket: writes it the feed by its terms, and reads its requests.
actor ReaderConnection {
    private let stream: any ByteStream
    private let store: EventStore
    private let desk: PollDesk
    private let loop: EventLoop
    private let stall: Duration
    private let scratch: ReadBuffer
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var filter: LineFilter?
    /// Requests that wait for the line under way to be written.
    private var answers: [Answer] = []
    private let answered: Wakeup
    private var isStalled = false

    /// What the writer owes the reader besides lines.
    private enum Answer: Sendable {
        case terms(ReaderRequest.Terms)
        case refusal(Failure)
        /// The last thing this reader gets.
        case lastRefusal(Failure)
    }

    /// A reader that asks faster than it reads is not read from meanwhile.
    private static let mostAnswers = 16

    /// After so many bytes at once, a reader that catches up lets the others have their turn.
    private static let largeSpan = 16 << 10

    init(
        _ stream: LoopBound<any ByteStream>, store: EventStore, desk: PollDesk, on loop: EventLoop, stall: Duration,
        scratch: ReadBuffer
    ) {
        self.stream = stream.value
        self.store = store
        self.desk = desk
        self.loop = loop
        self.stall = stall
        self.scratch = scratch
        answered = Wakeup(loop: loop)
    }

    /// Serves the reader until it leaves, stalls, or the feed ends.
    func run() async {
        let (reader, greeting) = await store.open(nil)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.write(reader, greeting) }
            group.addTask { try? await self.read(reader) }
            await group.next()  // whichever ends first ends both
            stream.close()
            group.cancelAll()
        }
        await store.close(reader)
        if isStalled { await store.noteStalledReader() }
    }

    // MARK: Writing

    private func write(_ reader: ReaderID, _ greeting: [UInt8]) async throws {
        try await write(greeting)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span):
                try await write(span)
                if span.count >= Self.largeSpan { try await loop.sleep(for: .zero) }
            case .gap(let line), .greeting(let line): try await write(line)
            case .interrupted: break
            case .end(let line): return try await write(line)
            }
            while !answers.isEmpty {
                let answer = answers.removeFirst()
                answered.signal()
                if try await give(answer, to: reader) { return }
            }
        }
    }

    /// Gives one answer; true when it was the last thing to say.
    private func give(_ answer: Answer, to reader: ReaderID) async throws -> Bool {
        switch answer {
        case .terms(let terms):
            let greeting = await move(reader, to: terms)
            filter = terms.filter
            try await write(greeting)
            return false
        case .refusal(let failure):
            try await write(ControlLine.refusal(failure.code, failure.message, time: store.wallTime))
            return false
        case .lastRefusal(let failure):
            try await write(ControlLine.refusal(failure.code, failure.message, time: store.wallTime))
            return true
        }
    }

    private func move(_ reader: ReaderID, to terms: ReaderRequest.Terms) async -> [UInt8] {
        let isFiltered = terms.filter != nil
        switch terms.start {
        case .oldest: return await store.move(reader, to: .oldest, isFiltered: isFiltered)
        case .newest: return await store.move(reader, to: .newest, isFiltered: isFiltered)
        case .after(let sequence, let run):
            return await store.move(reader, to: .after(sequence), of: run, isFiltered: isFiltered)
        }
    }

    private func write(_ span: LineSpan) async throws {
        guard let filter else {
            var written = 0
            while written < span.count {
                written += try span.write(from: written, to: stream)
                if written < span.count { try await waitForRoom() }
            }
            return
        }
        let chosen = span.withUnsafeBytes { bytes in bytes.lines.filter { filter.admits($0) }.flatMap { Array($0) } }
        try await write(chosen)
    }

    private func write(_ bytes: [UInt8]) async throws {
        var written = 0
        while written < bytes.count {
            written += try bytes.withUnsafeBytes { bytes throws(SystemError) in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            if written < bytes.count { try await waitForRoom() }
        }
    }

    /// Waits until the reader has taken something, but not for ever.
    private func waitForRoom() async throws {
        let timer = loop.schedule(after: stall) { [weak self] in self?.assumeIsolated { $0.giveUp() } }
        defer { loop.cancel(timer) }
        try await stream.waitUntilWritable()
    }

    private func giveUp() {
        isStalled = true
        stream.close()
    }

    // MARK: Reading

    private func read(_ reader: ReaderID) async throws {
        var splitter = LineSplitter(limit: ReaderRequest.longest)
        while true {
            guard let count = try stream.read(into: scratch.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if count == 0 { break }
            splitter.push(Bytes(scratch.memory[..<count]))
            while let item = splitter.next() {
                guard case .line(let line) = item else { return await refuse(reader) }
                try await take(line, reader)
            }
            // Not its end, which may never come, but its length decides.
            if splitter.isSkipping { return await refuse(reader) }
            // One that writes as fast as it is read would otherwise have the loop to itself.
            try await loop.sleep(for: .zero)
        }
        // It says no more, but may go on reading: `nc -N`, or `echo … | nc -U …`.
        while let item = splitter.finish() {
            if case .line(let line) = item { try await take(line, reader) }
        }
        try await stream.waitUntilHungUp()
    }

    private func take(_ line: Bytes, _ reader: ReaderID) async throws {
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { return }
        while answers.count >= Self.mostAnswers { try await answered.wait() }
        do throws(Failure) {
            switch try ReaderRequest.parse(line) {
            case .terms(let terms): answers.append(.terms(terms))
            case .poll(let source, let request):
                guard let refusal = await desk.requestPoll(of: source, request) else { return }
                throw Failure(.protocol, refusal.reason)
            }
        } catch {
            answers.append(.refusal(error))
        }
        await store.interrupt(reader)
    }

    /// Says why, lets the writer close, and waits for that.
    private func refuse(_ reader: ReaderID) async {
        answers.append(
            .lastRefusal(Failure(.lineTooLong, "a request has \(ReaderRequest.longest) bytes at the most")))
        await store.interrupt(reader)
        try? await stream.waitUntilHungUp()
    }
}

extension UnsafeRawBufferPointer {
    /// The whole lines in it, each with its newline.
    var lines: [UnsafeRawBufferPointer] {
        var lines: [UnsafeRawBufferPointer] = []
        var start = startIndex
        while let end = self[start...].firstIndex(of: 0x0A) {
            lines.append(UnsafeRawBufferPointer(rebasing: self[start...end]))
            start = end + 1
        }
        return lines
    }
}
