internal import Feed
internal import Inputs
internal import Outputs
internal import Reactor

/// An agent of one WebSocket as a program, its lines going to stdout: the parts of catwatch that `--url ws://…` puts
/// together, with a key for the series. Scenarios start it; `catwatch-bench list` does not name it.
enum SocketAgent {
    /// Runs until it is ended.
    static func run(url: String) throws {
        let loop = try EventLoop()
        try loop.run { try await run(url: url, on: loop) }
    }

    private static func run(url: String, on loop: EventLoop) async throws {
        let wall = SystemWallClock()
        let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
        let store = EventStore(on: loop, wall: wall, identity: identity)
        var source = WebSocketSource(SourceDescription(name: "aqi"), request: HTTPRequest(url: url))
        source.extraction = Extraction(
            key: .at(try JSONPointer("/city")), value: .at(try JSONPointer("/aqi")), text: .nowhere)
        let transport = try CurlTransport(on: loop)
        let input = WebSocketInput(source, store: store, transport: transport, on: loop, wall: wall)
        let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await store.run() }
            group.addTask { try? await input.run() }
            group.addTask {
                _ = try? await output.run { loop throws(SystemError) in try DescriptorStream.standard(1, on: loop) }
            }
            await group.next()
            group.cancelAll()
        }
    }
}
