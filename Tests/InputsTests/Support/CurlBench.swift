import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// The real transport against a real server, on one real loop.
struct CurlBench: Sendable {
    let transport: CurlTransport
    let server: CatAPIServer
    let loop: EventLoop

    /// Serves and keeps the transport while `body` runs.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable (CurlBench) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            let server = try CatAPIServer(loop: loop, faults: true, seed: 1)
            let bench = CurlBench(transport: try CurlTransport(on: loop), server: server, loop: loop)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(bench))
            } catch {
                result = .failure(error)
            }
            #expect(bench.transport.underWay == 0)
            await server.stop()
            return try result.get()
        }
    }

    func request(_ target: String, timeout: Duration = .seconds(120)) -> HTTPRequest {
        var request = HTTPRequest(url: target.hasPrefix("/") ? server.origin + target : target)
        request.timeout = timeout
        return request
    }

    func get(_ target: String, timeout: Duration = .seconds(120)) async throws(HTTPFailure) -> HTTPAnswer {
        try await transport.get(request(target, timeout: timeout))
    }

    /// What a request that must fail failed with.
    func failure(
        _ request: HTTPRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPFailure {
        do throws(HTTPFailure) {
            let answer = try await transport.get(request)
            Issue.record("there was an answer: \(answer.status)", sourceLocation: sourceLocation)
            return HTTPFailure(.internal, "")
        } catch {
            return error
        }
    }
}
