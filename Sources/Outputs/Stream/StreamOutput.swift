package import Feed
internal import Glibc
package import Reactor

/// Writes the feed to a stream as one connection: `hello`, `stats`, the lines there are, live lines, `bye`.
///
/// Whole lines only, straight from the log's memory. A stream that takes nothing is waited for, by this output alone.
package actor StreamOutput {
    /// Why writing ended.
    package enum Ending: Sendable, Equatable {
        /// The feed ended, and everything was written.
        case finished
        /// Nobody reads at the other end any more.
        case readerGone
        /// The stream failed otherwise: a full disk, say.
        case failed(SystemError)
    }

    private let store: EventStore
    private let name: String
    private let loop: EventLoop
    private let holdsInputs: Bool
    private let escapesForTerminal: Bool
    /// What is written to, while `run` is under way.
    private var stream: (any ByteStream)?
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - name: what `agent` lines call it.
    ///   - escapesForTerminal: whether a terminal is at the other end, see `TerminalEscaper`.
    ///   - holdsInputs: whether inputs that can wait do so while this is far behind.
    package init(
        _ name: String, store: EventStore, on loop: EventLoop, holdsInputs: Bool,
        escapesForTerminal: Bool = false
    ) {
        self.escapesForTerminal = escapesForTerminal
        self.name = name
        self.store = store
        self.loop = loop
        self.holdsInputs = holdsInputs
    }

    /// Writes until the feed ends or the stream does; closes the stream. One call at a time.
    ///
    /// A reader that leaves is noticed at once where the system says so (pipes, Unix sockets, terminals), not only at the
    /// next line.
    ///
    /// - Parameter open: makes the stream, on the loop.
    /// - Throws: `CancellationError` when the task is cancelled, which may leave the last line unfinished.
    package func run(
        _ open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    ) async throws(CancellationError) -> Ending {
        let (reader, greeting) = await store.open(name, holdsInputs: holdsInputs)
        let ending: Ending
        do {
            let stream = try open(loop)
            self.stream = stream
            defer {
                stream.close()
                self.stream = nil
            }
            ending = try await writeOrHangUp(reader, greeting)
        } catch let error as SystemError {
            ending = error.code == EPIPE || error.code == ECONNRESET ? .readerGone : .failed(error)
        } catch {
            await store.close(reader)
            throw CancellationError()
        }
        await store.close(reader)
        return ending
    }

    /// Whichever comes first: the end of writing, or of the reader.
    private func writeOrHangUp(_ reader: ReaderID, _ greeting: [UInt8]) async throws -> Ending {
        try await withThrowingTaskGroup(of: Ending.self) { group in
            group.addTask { try await self.write(reader, greeting) }
            group.addTask { try await self.waitForHangUp() }
            defer { group.cancelAll() }
            return try await group.next() ?? .finished
        }
    }

    private func waitForHangUp() async throws -> Ending {
        try await stream?.waitUntilHungUp()
        return .readerGone
    }

    private func write(_ reader: ReaderID, _ greeting: [UInt8]) async throws -> Ending {
        guard let stream else { return .finished }
        try await write(greeting, to: stream)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span): try await write(span, to: stream)
            case .gap(let line), .greeting(let line): try await write(line, to: stream)
            case .interrupted: break
            case .end(let line):
                try await write(line, to: stream)
                return .finished
            }
        }
    }

    private func write(_ span: LineSpan, to stream: any ByteStream) async throws {
        guard let escaped = span.withUnsafeBytes({ escapedForTerminal($0) }) else {
            return try await span.write(to: stream)
        }
        try await stream.write(all: escaped)
    }

    private func write(_ lines: [UInt8], to stream: any ByteStream) async throws {
        try await stream.write(all: lines.withUnsafeBytes { escapedForTerminal($0) } ?? lines)
    }

    /// What a terminal gets instead of these lines; nil when they may go as they are.
    private func escapedForTerminal(_ lines: UnsafeRawBufferPointer) -> [UInt8]? {
        escapesForTerminal ? TerminalEscaper.escaped(lines) : nil
    }
}
