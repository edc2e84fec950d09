import CatAPI
import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

/// A WebSocket input over the real transport, on one real loop.
enum RealSocket {
    static func source(_ url: String) throws -> WebSocketSource {
        var source = try SimulatedSocket.source(url)
        source.request.timeout = .seconds(30)
        return source
    }

    /// Runs the input until its feed's lines are enough.
    static func lines(
        of source: WebSocketSource, on loop: EventLoop, until isEnough: @escaping @Sendable ([Line]) -> Bool
    ) async throws -> [Line] {
        let wall = SystemWallClock()
        let identity = AgentIdentity(run: "test", version: "0", started: wall.now)
        let store = EventStore(on: loop, wall: wall, identity: identity)
        let transport = try CurlTransport(on: loop)
        let input = WebSocketInput(
            source, store: store, polls: PollRequests(on: loop), transport: transport, on: loop, wall: wall)
        let (reader, _) = await store.open("test", holdsInputs: true)
        let limit = loop.clock.now.advanced(by: .seconds(300))
        let lines = try await withThrowingTaskGroup(of: [Line]?.self) { group in
            group.addTask {
                try? await input.run()
                return nil
            }
            group.addTask {
                try? await loop.sleep(until: limit)
                return nil
            }
            group.addTask {
                var lines: [Line] = []
                while !isEnough(lines) {
                    guard case .lines(let span) = try await store.next(for: reader) else { break }
                    let bytes = span.withUnsafeBytes { Array($0) }
                    for line in bytes.split(separator: 0x0A) { lines.append(try LineDecoder.decode(line)) }
                }
                return lines
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            return try #require(first, "it was not enough in time")
        }
        return lines
    }

    static func data(_ lines: [Line]) -> [Line.Data] {
        lines.compactMap { if case .data(let data) = $0.body { data } else { nil } }
    }

    static func error(_ lines: [Line]) -> Failure? {
        lines.lazy.compactMap { if case .error(let failure) = $0.body { failure } else { nil } }.first
    }

    static func latency(_ lines: [Line], _ method: String = "GET") -> LatencySample? {
        lines.lazy.compactMap { if case .latency(let sample) = $0.body { sample } else { nil } }
            .first { $0.endpoint.hasPrefix(method) }
    }

    /// Has the stand-in API serve while `body` runs.
    static func withServer<Value: Sendable>(
        _ body: @escaping @Sendable (CatAPIServer, EventLoop) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            let server = try CatAPIServer(loop: loop, faults: true, seed: 1)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(server, loop))
            } catch {
                result = .failure(error)
            }
            await server.stop()
            return try result.get()
        }
    }

    /// A Python with the packages of Tests/python/requirements.txt, when there is one.
    static let python = getenv("CATWATCH_PYTHON").map { String(cString: $0) }

    /// Has Tests/python/websocket_server.py serve while `body` runs; `body` gets its address.
    static func withPython(
        _ body: @escaping @Sendable (String, EventLoop) async throws -> Void
    ) async throws {
        let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
        let python = try #require(python)
        try await withLoop { loop in
            var launch = Launch(python, ["\(root)/Tests/python/websocket_server.py"])
            launch.environment = ["PYTHONDONTWRITEBYTECODE": "1"]
            launch.input = .pipe
            let server = try TestSupport.ChildProcess(launch, on: loop)
            do {
                let port = try await server.wait(for: "its port") { server in
                    server.outputText.hasSuffix("\n") ? Int(server.outputText.dropLast()) : nil
                }
                try await body("ws://127.0.0.1:\(port)", loop)
            } catch {
                await server.end()
                throw error
            }
            await server.end()
        }
    }
}
