package import Feed
internal import Glibc
package import Reactor

/// Appends the feed to a file, in whole lines, using a worker: a slow disk blocks nothing but this output.
///
/// A newly opened file begins with `hello` and `stats`. A full disk is reported once in the feed, and writing resumes
/// at the same line when there is room again; a `gap` line names lines that the log has dropped meanwhile.
package actor FileOutput {
    /// The end position of an output, for the one that continues there.
    package struct Place: Sendable {
        /// Stays open, and exerts backpressure, until another output continues with it; nil when no output was
        /// announced to continue.
        package let reader: ReaderID?
        /// The piece that may be missing in the file.
        fileprivate let unwritten: LinePiece?
        /// The last line before that piece, for a later output without the reader.
        fileprivate let line: LineID
    }

    private let path: String
    private let store: EventStore
    private let loop: EventLoop
    private let worker: any Worker
    private let tell: @Sendable (Event.Body) async -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let file: any LineFile
    private var mustReopen = true
    /// Whether the file is waiting to be reopened, and the tasks that wait for that.
    private var isReopening = false
    private var reopening: [Wakeup] = []
    private var reader: ReaderID?
    /// The end position of another output that this one continues.
    private let start: Place?
    /// The piece that is being written.
    private var unwritten: LinePiece?
    /// The last line before the piece that is being written, or read.
    private var line: LineID
    /// The sequence number at which to stop.
    private var goal: Int?
    private var isFollowed = false
    private var outage = Outage<String>()
    private var end: Place?

    /// The pause before a failed write is repeated.
    private static let retryPause = Duration.seconds(1)

    /// - Parameters:
    ///   - file: the file to write; the one at the path, unless simulated.
    ///   - worker: waits for the disk; not shared, because a stalled disk may block it for ever.
    ///   - start: the end position of another output; nil for the oldest line.
    ///   - tell: reports failures and recoveries, in the feed or to a person.
    package init(
        _ path: String, _ file: (any LineFile)? = nil, store: EventStore, on loop: EventLoop, worker: any Worker,
        from start: Place? = nil, tell: @escaping @Sendable (Event.Body) async -> Void
    ) {
        self.path = path
        self.store = store
        self.loop = loop
        self.worker = worker
        self.start = start
        line = start?.line ?? LineID("", 0)
        self.tell = tell
        self.file = file ?? AppendedFile(path: path)
    }

    /// Reopens the file, as logrotate requests after renaming it.
    package func reopen() async {
        guard let reader else { return }  // not opened yet, or closed already
        mustReopen = true
        isReopening = true
        await store.interrupt(reader)
    }

    /// Waits until a requested reopening is done: nothing more is written to the old file.
    package func waitUntilReopened() async throws(CancellationError) {
        guard reader != nil, isReopening else { return }
        let done = Wakeup(loop: loop)
        reopening.append(done)
        try await done.wait()
    }

    /// Ends the output once the file has all current lines.
    ///
    /// - Parameter isFollowed: whether another output continues, with the position from `handOverEnd`.
    package func stop(isFollowed: Bool) async {
        self.isFollowed = isFollowed
        goal = await store.nextSequence
        if let reader { await store.interrupt(reader) }
    }

    /// Returns the end position, once; nil before the end.
    package func handOverEnd() -> Place? {
        defer { end = nil }
        return end
    }

    /// Writes until the feed ends, `stop` is called, or the task is cancelled: a write in progress is then abandoned,
    /// and the next output repeats it.
    package func run() async throws(CancellationError) {
        let reader = await openReader()
        self.reader = reader
        defer {
            self.reader = nil
            didReopen()
        }
        do {
            try await write(reader)
        } catch {
            await leave(reader)
            throw CancellationError()
        }
        let file = self.file
        try? await loop.offload(to: worker) { file.close() }
        await leave(reader)
    }

    private func openReader() async -> ReaderID {
        let name = "file:\(path)"
        if let reader = start?.reader {
            await store.hand(reader, to: name)
            return reader
        }
        let first = start.map { ReaderStart.after($0.line.sequence, run: $0.line.run) }
        return await store.open(name, from: first ?? .oldest, holdsInputs: true).0
    }

    private func leave(_ reader: ReaderID) async {
        end = Place(reader: isFollowed ? reader : nil, unwritten: isFollowed ? unwritten : nil, line: line)
        if !isFollowed { await store.close(reader) }
    }

    private func write(_ reader: ReaderID) async throws {
        if let piece = start?.unwritten { try await append(piece, reader) }
        while true {
            if mustReopen { try await persist(reader) {} }
            line = await store.progress(of: reader)
            if let goal, await store.hasReached(goal, by: reader) { return }
            switch try await store.next(for: reader) {
            case .lines(let span): try await append(.span(span), reader)
            case .gap(let line), .greeting(let line), .ended(let line, _): try await append(.bytes(line), reader)
            case .kept, .interrupted: break
            case .end(let line): return try await append(.bytes(line), reader)
            }
        }
    }

    private func didReopen() {
        isReopening = false
        for waiter in reopening { waiter.signal() }
        reopening = []
    }

    private func append(_ piece: LinePiece, _ reader: ReaderID) async throws {
        let file = self.file
        unwritten = piece
        try await persist(reader) { () throws(SystemError) in try file.append(piece) }
        unwritten = nil
    }

    /// Ends an outage of the disk, also when nobody waits for its end; nil without one.
    package func endTrouble() -> Recovery? { outage.end(at: loop.clock.now) }

    /// Repeats disk work until it succeeds; reports a failure once. A requested reopening is done before every attempt:
    /// the current file may be deleted, and be what fills the disk.
    private func persist(_ reader: ReaderID, _ work: @escaping @Sendable () throws(SystemError) -> Void) async throws {
        let file = self.file
        while true {
            let opens = mustReopen
            mustReopen = false
            let greeting = opens ? await store.greeting(isFiltered: false) : []
            do {
                try await loop.offload(to: worker) {
                    if opens { try file.open(greeting) }
                    try work()
                }
                if let recovery = endTrouble() {
                    await store.setState("ok", of: reader)
                    await tell(.recovered(recovery))
                }
                if opens { didReopen() }
                return
            } catch let error as SystemError {
                if opens, !file.isGreeted { mustReopen = true }
                if outage.fail(by: error.reason, at: loop.clock.now) {
                    await store.setState(error.reason, of: reader)
                    await tell(.error(Failure(.disk, "\(path): \(error.reason); tried again every second")))
                }
                try await loop.sleep(for: Self.retryPause)
            }
        }
    }
}

/// A file that pieces are appended to, each entirely or not at all. It blocks, and is used by one piece of offloaded
/// work at a time.
package protocol LineFile: AnyObject, Sendable {
    /// Whether the current file is open and has its first lines.
    var isGreeted: Bool { get }

    /// Opens the file at its path, again if it is open, and writes the greeting.
    func open(_ greeting: [UInt8]) throws(SystemError)

    func append(_ piece: LinePiece) throws(SystemError)

    func close()
}

/// A file on disk.
package final class AppendedFile: LineFile, @unchecked Sendable {  // used by one piece of offloaded work at a time
    private let path: String
    private var descriptor: Descriptor?
    package private(set) var isGreeted = false

    package init(path: String) { self.path = path }

    /// Adds a newline if another program's last line lacks one.
    package func open(_ greeting: [UInt8]) throws(SystemError) {
        isGreeted = false
        let opened = try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_APPEND | O_NOCTTY, mode: 0o600)
        let number = opened.number
        guard isatty(number) == 0 else {
            throw SystemError(
                code: EINVAL, call: "open", subject: path, words: "a terminal would obey what upstreams say")
        }
        var status = stat()
        guard fstat(number, &status) != 0 || status.st_mode & S_IFMT != S_IFIFO else {
            throw SystemError(
                code: EINVAL, call: "open", subject: path,
                words: "a pipe loses lines that nobody reads; redirect stdout to it")
        }
        var last: UInt8 = 0x0A
        let size = lseek(number, 0, SEEK_END)
        if size > 0, pread(number, &last, 1, size - 1) == 1, last != 0x0A {
            try systemCall("write", on: path) { Glibc.write(number, "\n", 1) }
        }
        descriptor = consume opened
        try append(.bytes(greeting))
        isGreeted = true
    }

    package func append(_ piece: LinePiece) throws(SystemError) {
        try piece.withUnsafeBytes { bytes throws(SystemError) in try append(raw: bytes) }
    }

    package func close() { descriptor = nil }

    private func append(raw bytes: UnsafeRawBufferPointer) throws(SystemError) {
        guard let number = descriptor?.number else { throw SystemError(code: EBADF, call: "write", subject: path) }
        let before = lseek(number, 0, SEEK_END)
        var done = 0
        do throws(SystemError) {
            while done < bytes.count {
                done += try systemCall("write", on: path) {
                    Glibc.write(number, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                }
            }
        } catch {
            // Removes a partial line, unless another program has written since.
            if done > 0, before >= 0, lseek(number, 0, SEEK_END) == before + done { _ = ftruncate(number, before) }
            throw error
        }
    }
}
