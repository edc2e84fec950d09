internal import Feed
internal import Outputs
internal import Reactor

/// The feed as a program: the parts of catwatch behind its inputs, with events that hold their time of publication.
enum FeedProgram {
    /// The length of every line in bytes, give or take the digits of its number.
    static let lineLength = 240
    /// Printed once readers can connect.
    static let ready = "ready\n"
    /// How long the program stays after its last event, so that it can be measured.
    private static let afterlife = Duration.seconds(30)

    /// Runs until it is killed, or `afterlife` after its last event.
    static func run(_ options: FeedOptions) throws {
        DescriptorLimit.raise(for: 1_024)
        let loop = try EventLoop()
        try loop.run { try await run(options, on: loop) }
    }

    private static func run(_ options: FeedOptions, on loop: EventLoop) async throws {
        let wall = SystemWallClock()
        let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
        let store = EventStore(on: loop, wall: wall, identity: identity)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let path = options.listen {
                let socket = try StreamSocket.bound(to: path)
                try StreamSocket.listen(socket)
                let number = socket.release()
                let server = FeedServer(store: store, polls: PollRequests(on: loop), on: loop)
                group.addTask {
                    try await server.run { try SocketListener(owning: Descriptor(owning: number), on: $0) }
                }
            }
            group.addTask { try await store.run() }
            Text.write(ready, to: 1)
            while await store.counts.readers < options.readers { try await loop.sleep(for: .milliseconds(5)) }
            try await publish(options, to: store, on: loop, wall)
            await store.finish("count")
            try await loop.sleep(for: afterlife)
            group.cancelAll()
        }
    }

    /// Publishes at absolute times: delays are made up for.
    private static func publish(
        _ options: FeedOptions, to store: EventStore, on loop: EventLoop, _ wall: SystemWallClock
    ) async throws {
        let source = await store.register(SourceDescription(name: "bench", type: "bench"))
        let padding = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
        let start = loop.clock.now
        var published = 0
        var batch = EventBatch()
        while published < options.count {
            batch.removeAll()
            let time = wall.now
            // Sixteen digits: microseconds of the monotonic clock, which the readers use too.
            let now = Text.padded(loop.clock.now.nanoseconds / 1_000, 16)
            let text = Array(now.utf8) + padding
            for _ in 0..<min(options.batch, options.count - published) {
                text.withUnsafeBytes { text in
                    batch.add(time: time, source: source, value: Double(published % 100), text: text)
                }
                published += 1
            }
            await store.publish(batch)
            try await loop.sleep(
                until: start.advanced(by: .nanoseconds(published * 1_000_000_000 / options.rate)))
        }
    }
}
