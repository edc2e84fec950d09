import CatAPI
import Reactor
import TestSupport

/// A server on a loop of its own, with a thread beside it for clients that block.
struct ServerUnderTest: Sendable {
    let server: CatAPIServer
    let loop: EventLoop
    private let thread: ClientThread

    var client: RawClient { thread.client }

    /// Serves while `body` runs, and stops whatever it came to.
    static func run<Value: Sendable>(
        faults: Bool = true, _ body: @escaping @Sendable (ServerUnderTest) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            let server = try CatAPIServer(loop: loop, faults: faults, seed: 1)
            let thread = try ClientThread(RawClient(port: server.port), besides: loop)
            let test = ServerUnderTest(server: server, loop: loop, thread: thread)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(test))
            } catch {
                result = .failure(error)
            }
            await server.stop()
            thread.stop()
            return try result.get()
        }
    }

    func talk<Value: Sendable>(_ work: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        try await thread.talk(work)
    }

    func get(_ target: String, fields: [String] = [], atMost limit: Int = .max) async throws -> WireAnswer {
        try await thread.get(target, fields: fields, atMost: limit)
    }
}
