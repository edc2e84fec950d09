internal import Feed
internal import Inputs
internal import Outputs
internal import Reactor

/// Standard input to standard output as a program: the parts of catwatch between the two and nothing else, to tell what
/// they use from what a whole agent does.
enum StdinProgram {
    static func run(key: String, value: String) throws {
        let extraction = Extraction(key: .at(try JSONPointer(key)), value: .at(try JSONPointer(value)))
        let loop = try EventLoop()
        try loop.run { try await run(extraction, on: loop) }
    }

    private static func run(_ extraction: Extraction, on loop: EventLoop) async throws {
        let wall = SystemWallClock()
        let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
        let store = EventStore(on: loop, wall: wall, identity: identity)
        let source = StdinSource(SourceDescription(name: "stdin"), extraction: extraction)
        let input = StdinInput(source, store: store, on: loop, wall: wall) { (loop) throws(SystemError) in
            try DescriptorStream.standard(0, on: loop)
        }
        let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await store.run() }
            group.addTask {
                _ = try await input.run()
                await store.finish("end")
            }
            _ = try await output.run { (loop) throws(SystemError) in try DescriptorStream.standard(1, on: loop) }
            group.cancelAll()
        }
    }
}
