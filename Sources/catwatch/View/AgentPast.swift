internal import Feed
internal import Reactor
internal import Terminal

/// What was before, out of an agent's journal: each time by a connection of its own, which the feed that is shown does not wait
/// for.
actor AgentPast: PastFeed {
    private let loop: EventLoop
    private let connect: @Sendable () throws -> LoopBound<any ByteStream>
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var stream: (any ByteStream)?
    private var timer: LoopTimer?
    private var isSilent = false

    /// How long an agent that says nothing is waited for, as the page does.
    static let patience = Duration.seconds(20)

    /// - Parameter connect: opens the agent's socket.
    init(on loop: EventLoop, connect: @escaping @Sendable () throws -> LoopBound<any ByteStream>) {
        (self.loop, self.connect) = (loop, connect)
    }

    func read(_ request: PastRequest, take: @escaping @Sendable ([UInt8]) async -> Bool) async throws {
        let stream: any ByteStream
        do {
            stream = try connect().value
        } catch {
            throw PastFailure("no agent to ask: \((error as? SystemError)?.reason ?? "\(error)")")
        }
        self.stream = stream
        isSilent = false
        defer { leave() }
        hear()
        do {
            try await stream.write(
                all: RequestLine.lines(of: request.source, from: request.from, until: request.until))
            let buffer = ReadBuffer()
            while true {
                guard let count = try stream.read(into: buffer.memory) else {
                    try await stream.waitUntilReadable()
                    continue
                }
                hear()
                guard count > 0, await take(Array(buffer.memory[..<count])) else { return }
                // Live lines and keys come first.
                try await loop.sleep(for: .zero)
            }
        } catch let error as SystemError {
            throw PastFailure(isSilent ? "the agent takes too long" : error.reason)
        }
    }

    /// Waits anew for what comes next.
    private func hear() {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(after: Self.patience) { [weak self] in
            self?.assumeIsolated { past in
                past.isSilent = true
                past.stream?.close()
            }
        }
    }

    private func leave() {
        if let timer { loop.cancel(timer) }
        stream?.close()
        (stream, timer) = (nil, nil)
    }
}
