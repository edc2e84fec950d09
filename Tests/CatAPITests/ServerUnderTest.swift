import CatAPI
import Reactor
import TestSupport

/// A server on a loop of its own, with a thread beside it for clients that block.
struct ServerUnderTest: Sendable {
    let server: CatAPIServer
    let client: RawClient
    let loop: EventLoop
    private let worker: LoopThread

    /// Serves while `body` runs, and stops whatever it came to.
    static func run<Value: Sendable>(
        faults: Bool = true, seed: UInt64 = 1, _ body: @escaping @Sendable (ServerUnderTest) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            let worker = try LoopThread(name: "client")
            let server = try CatAPIServer(loop: loop, faults: faults, seed: seed)
            let test = ServerUnderTest(
                server: server, client: RawClient(port: server.port), loop: loop, worker: worker)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(test))
            } catch {
                result = .failure(error)
            }
            await server.stop()
            worker.stop()
            return try result.get()
        }
    }

    /// Has the client do something that blocks, while the server goes on serving.
    func talk<Value: Sendable>(_ work: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        let client = self.client
        return try await loop.offload(to: worker.loop) { try work(client) }
    }

    func get(_ target: String, fields: [String] = [], atMost limit: Int = .max) async throws -> WireAnswer {
        try await talk { try $0.get(target, fields: fields, atMost: limit) }
    }
}
