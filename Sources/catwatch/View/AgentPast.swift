internal import Feed
internal import Reactor
internal import Terminal

/// Reads columns from an agent's journal: each request has its own connection, so that the shown feed does not
/// wait.
actor AgentPast: PastFeed {
    private let loop: EventLoop
    private let connect: @Sendable () throws -> LoopBound<any ByteStream>
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    // Bound: the past of a series in a terminal: silence of the agent | 20 s | reading stops, the graph says so
    /// The page waits equally long.
    static let patience = Duration.seconds(20)

    /// - Parameter connect: opens the agent's socket.
    init(on loop: EventLoop, connect: @escaping @Sendable () throws -> LoopBound<any ByteStream>) {
        (self.loop, self.connect) = (loop, connect)
    }

    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws {
        let stream: any ByteStream
        do {
            stream = try connect().value
        } catch {
            throw PastFailure("no agent to ask: \((error as? SystemError)?.reason ?? "\(error)")")
        }
        defer { stream.close() }
        do {
            try await stream.write(
                all: RequestLine.columns(
                    of: request.series, source: request.source, width: request.width, from: request.from,
                    until: request.until))
            let buffer = ReadBuffer()
            while true {
                guard let count = try stream.read(into: buffer.memory) else {
                    guard try await stream.waitUntilReadable(atMost: Self.patience, on: loop) else {
                        throw PastFailure("the agent takes too long")
                    }
                    continue
                }
                guard count > 0, await receive(Array(buffer.memory[..<count])) else { return }
                // Yields to live lines and keys, which come first.
                try await loop.sleep(for: .zero)
            }
        } catch let error as SystemError {
            throw PastFailure(error.reason)
        }
    }
}
