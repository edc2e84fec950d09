package import Reactor

/// A thread for a client that blocks, while a loop goes on serving.
package struct ClientThread: Sendable {
    package let client: RawClient
    package let loop: EventLoop
    private let worker: LoopThread

    package init(_ client: RawClient, besides loop: EventLoop) throws {
        self.client = client
        self.loop = loop
        worker = try LoopThread(name: "client")
    }

    package func stop() { worker.stop() }

    /// Has the client do something that blocks.
    package func talk<Value: Sendable>(_ work: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        let client = self.client
        return try await loop.offload(to: worker.loop) { try work(client) }
    }

    package func get(_ target: String, fields: [String] = [], atMost limit: Int = .max) async throws -> WireAnswer {
        try await talk { try $0.get(target, fields: fields, atMost: limit) }
    }
}
