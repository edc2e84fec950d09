package import Feed
internal import Glibc
package import Reactor

/// Appends the feed to a file, whole lines only, on a loop for blocking work: a slow disk holds nobody up but this.
///
/// A file opened anew begins with `hello` and `stats`. When the disk is full it says so once in the feed, and goes on
/// from the same line when there is room again; what the log has let go of meanwhile is named by a `gap` line.
package actor FileOutput {
    /// Where it has ended, for the one that goes on from there.
    package struct Place: Sendable {
        /// Stays open, and holds inputs, until somebody goes on with it.
        package let reader: ReaderID
        /// What may not be in the file yet.
        fileprivate let unwritten: FilePiece?
    }

    private let path: String
    private let store: EventStore
    private let loop: EventLoop
    private let worker: any Worker
    private let tell: @Sendable (Event.Body) async -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let file: any LineFile
    private var mustReopen = true
    /// Who waits for the file to be opened anew.
    private var isReopening = false
    private var reopening: [Wakeup] = []
    private var reader: ReaderID?
    /// Where another output has ended that this one follows.
    private let start: Place?
    /// What is being written.
    private var unwritten: FilePiece?
    /// The number that it is to get to before it stops.
    private var goal: Int?
    private var isFollowed = false
    private var outage = Outage<String>()
    private var end: Place?

    /// How long to wait before a write that failed is tried again.
    private static let retryPause = Duration.seconds(1)

    /// - Parameters:
    ///   - file: what is written to; the file of that path, unless it is a simulated one.
    ///   - worker: where the disk is waited for; its own, which a disk that stalls may keep for ever.
    ///   - start: where another one has ended; nil for the oldest line.
    ///   - tell: says in the feed, or to a person, what is wrong, and that it is over.
    package init(
        _ path: String, _ file: (any LineFile)? = nil, store: EventStore, on loop: EventLoop, worker: any Worker,
        from start: Place? = nil, tell: @escaping @Sendable (Event.Body) async -> Void
    ) {
        self.path = path
        self.store = store
        self.loop = loop
        self.worker = worker
        self.start = start
        self.tell = tell
        self.file = file ?? AppendedFile(path: path)
    }

    /// Has the file opened anew, as logrotate asks for when it has renamed it.
    package func reopen() async {
        guard let reader else { return }  // not opened yet, or closed already
        mustReopen = true
        isReopening = true
        await store.interrupt(reader)
    }

    /// Waits until a file that is to be opened anew is: nothing is written to the old one any more.
    package func waitUntilReopened() async throws(CancellationError) {
        guard reader != nil, isReopening else { return }
        let done = Wakeup(loop: loop)
        reopening.append(done)
        try await done.wait()
    }

    /// Has it end once the file has what there is now.
    ///
    /// - Parameter isFollowed: whether another output goes on from there, to which `place` is given afterwards.
    package func stop(isFollowed: Bool) async {
        self.isFollowed = isFollowed
        goal = await store.nextSequence
        if let reader { await store.interrupt(reader) }
    }

    /// Where it has ended, once; nil when it has not, or nobody was said to follow it.
    package func takePlace() -> Place? {
        defer { end = nil }
        return end
    }

    /// Writes until the feed ends, it is told to stop, or the task is cancelled: a write under way is then left alone, and
    /// whoever follows writes it again.
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
        guard let start else { return await store.open(name, holdsInputs: true).0 }
        await store.hand(start.reader, to: name)
        return start.reader
    }

    private func leave(_ reader: ReaderID) async {
        if isFollowed {
            end = Place(reader: reader, unwritten: unwritten)
        } else {
            await store.close(reader)
        }
    }

    private func write(_ reader: ReaderID) async throws {
        if let piece = start?.unwritten { try await append(piece, reader) }
        while true {
            if mustReopen { try await persist(reader) {} }
            if let goal, await store.place(of: reader) >= goal { return }
            switch try await store.next(for: reader) {
            case .lines(let span): try await append(.span(span), reader)
            case .gap(let line), .greeting(let line): try await append(.bytes(line), reader)
            case .interrupted: break
            case .end(let line): return try await append(.bytes(line), reader)
            }
        }
    }

    private func didReopen() {
        isReopening = false
        for waiter in reopening { waiter.signal() }
        reopening = []
    }

    private func append(_ piece: FilePiece, _ reader: ReaderID) async throws {
        let file = self.file
        unwritten = piece
        try await persist(reader) { () throws(SystemError) in try file.append(piece) }
        unwritten = nil
    }

    /// What there is to be said of the disk's trouble when that is over, or nobody waits for it any more; nil without any.
    package func endTrouble() -> Recovery? { outage.end(at: loop.clock.now) }

    /// Does something with the disk until it works; a failure is said once. A file that is to be opened anew is so before
    /// every attempt: the one under way may be deleted, and what fills the disk.
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

/// What is appended to a file at once.
package enum FilePiece: Sendable {
    case span(LineSpan)
    case bytes([UInt8])

    /// Lends the bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        switch self {
        case .span(let span): try span.withUnsafeBytes(body)
        case .bytes(let bytes): try bytes.span.bytes.withUnsafeBytes(body)
        }
    }
}

/// What is appended to, one piece after the other and each either whole or not at all. It blocks, and is used by one piece of
/// offloaded work at a time.
package protocol LineFile: AnyObject, Sendable {
    /// Whether the file under way was opened and has its first lines.
    var isGreeted: Bool { get }

    /// Opens the file under its path, anew when it is open, and greets whoever reads it.
    func open(_ greeting: [UInt8]) throws(SystemError)

    func append(_ piece: FilePiece) throws(SystemError)

    func close()
}

/// A file on a disk.
package final class AppendedFile: LineFile, @unchecked Sendable {  // used by one piece of offloaded work at a time
    private let path: String
    private var descriptor: Descriptor?
    package private(set) var isGreeted = false

    package init(path: String) { self.path = path }

    /// What another program wrote last is ended by a newline.
    package func open(_ greeting: [UInt8]) throws(SystemError) {
        isGreeted = false
        let opened = try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_APPEND | O_NOCTTY, mode: 0o600)
        let number = opened.number
        guard isatty(number) == 0 else {
            throw SystemError(
                code: EINVAL, call: "open", subject: path, words: "a terminal would obey what upstreams say")
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

    package func append(_ piece: FilePiece) throws(SystemError) {
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
            // Nobody shall find half a line; unless somebody else has written since, take it back.
            if done > 0, before >= 0, lseek(number, 0, SEEK_END) == before + done { _ = ftruncate(number, before) }
            throw error
        }
    }
}
