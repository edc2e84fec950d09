internal import Feed
internal import Reactor

@main
struct Bench {
    static func main() throws {
        let loop = try EventLoop()
        try loop.run {
            let wall = SystemWallClock()
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "x", version: "0", started: wall.now))
            let source = await store.register(name: "fact", type: "fact")
            let text = Bytes(
                "Cats sleep 70% of their lives, which is about sixteen hours each day for most of them.".utf8)
            let data = Bytes(
                "{\"fact\":\"Cats sleep 70% of their lives, which is about sixteen hours each day for most of them.\",\"length\":86}"
                    .utf8)
            let key = Bytes("city-17".utf8)
            for mode in 0..<3 {
                let (reader, _) = await store.open("x")
                let total = 4_000_000
                let start = loop.clock.now
                var lines = 0
                var bytes = 0
                var batch = EventBatch()
                for n in 0..<(total / 256) {
                    let now = wall.now
                    batch.removeAll()
                    for i in 0..<256 {
                        switch mode {
                        case 0: batch.add(time: now, source: source, value: Double(n &+ i))
                        case 1:
                            text.withUnsafeBytes { t in
                                data.withUnsafeBytes { d in
                                    batch.add(time: now, source: source, value: Double(i), text: t, data: d)
                                }
                            }
                        default: key.withUnsafeBytes { batch.add(time: now, source: source, key: $0, value: Double(i)) }
                        }
                    }
                    await store.publish(batch)
                    for _ in 0..<2 {
                        guard lines < (n + 1) * 256, case .lines(let span) = try await store.next(for: reader) else {
                            continue
                        }
                        lines += span.sequences.count
                        bytes += span.count
                    }
                }
                await store.close(reader)
                let t = start.duration(to: loop.clock.now)
                print(mode, Double(total) / t.seconds / 1e6, "M/s", lines, bytes / lines)
            }
        }
    }
}
