package import Feed
internal import Glibc
package import Reactor

/// Writes the feed to a stream as one connection: `hello`, `stats`, the existing lines, live lines, `bye`.
///
/// Whole lines only, straight from the log's memory. Only this output waits for a stream that accepts nothing.
package actor StreamOutput {
    /// Why writing ended.
    package enum Ending: Sendable, Equatable {
        /// The feed ended, and everything was written.
        case finished
        /// Nobody reads at the other end any more.
        case readerGone
        /// The stream failed for another reason, such as a full disk.
        case failed(SystemError)
    }

    // Lines waiting for standard output: none; they stay in the log.
    private let store: EventStore
    private let name: String
    private let loop: EventLoop
    private let holdsInputs: Bool
    private let escapesForTerminal: Bool
    /// The stream, while `run` is in progress.
    private var stream: (any ByteStream)?
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - name: the output's name in `agent` lines.
    ///   - escapesForTerminal: whether the stream is a terminal, see `TerminalEscaper`.
    ///   - holdsInputs: whether the output exerts backpressure when it is far behind.
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

    /// Writes until the feed or the stream ends; closes the stream. One call at a time.
    ///
    /// A reader that leaves is noticed at once where the system reports it (pipes, Unix sockets, terminals), not only
    /// at the next line.
    ///
    /// - Parameter open: opens the stream; called on the loop.
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

    /// Waits for the end of writing or of the reader, whichever comes first.
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
        try await write(.bytes(greeting), to: stream)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span): try await write(.span(span), to: stream)
            case .gap(let line), .greeting(let line), .ended(let line, _): try await write(.bytes(line), to: stream)
            case .kept, .interrupted: break
            case .end(let line):
                try await write(.bytes(line), to: stream)
                return .finished
            }
        }
    }

    private func write(_ piece: LinePiece, to stream: any ByteStream) async throws {
        let escaped = escapesForTerminal ? piece.withUnsafeBytes { TerminalEscaper.escaped($0) } : nil
        try await (escaped.map(LinePiece.bytes) ?? piece).write(to: stream)
    }
}
