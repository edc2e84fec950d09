internal import Feed
internal import Glibc
internal import Reactor

/// Events through `EventStore` to a reader on the same core: numbered, put into windows, encoded, and read.
///
/// Measures the thread's processor time, which equals wall time on an otherwise idle core: the figure is the core's
/// rate, however much of the core other processes use.
enum StoreThroughput: Scenario {
    static let name = "store"
    static let summary = "events a second through the store to a reader that counts the lines, one core"

    private static let limit = Figure.Limit.atLeast(4)
    /// The number of events that an input gets from one read of a pipe.
    private static let batchSize = 256
    private static let batches = 8_000

    /// The kinds of events.
    enum Kind: String, CaseIterable {
        case facts = "facts with text and data, about 320 bytes a line"
        case keyed = "values of 100 series"
        case rows = "texts of 100 keys, without values"
        case bare = "bare values of one series"
    }

    static func measure(_ setting: Setting) throws -> [Figure] {
        try Kind.allCases.map { kind in
            let rates = try (0..<setting.runs).map { _ in try millionsPerSecond(kind) }
            return Figure(name: kind.rawValue, unit: "million/s", runs: rates, limit: limit)
        }
    }

    private static func millionsPerSecond(_ kind: Kind) throws -> Double {
        let loop = try EventLoop()
        let duration = try loop.run {
            let wall = SystemWallClock()
            let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity)
            let (reader, _) = await store.open("bench", holdsInputs: true)
            let start = processorTime
            async let read = readAll(from: store, reader)
            try await publish(kind, to: store, wall)
            await store.finish("end")
            let (lines, newlines, bye) = try await read
            let duration = processorTime - start
            // Numbers have no holes, so the reader got every line if the line, newline and event counts agree.
            guard lines == newlines, lines >= batches * batchSize, bye else {
                throw BenchError("the reader got \(lines) lines with \(newlines) newlines")
            }
            return duration
        }
        return Double(batches * batchSize) / duration.seconds / 1_000_000
    }

    private static func publish(_ kind: Kind, to store: EventStore, _ wall: SystemWallClock) async throws {
        let fact = "Cats sleep for about two thirds of the day, most of it lightly, with an ear that listens."
        let text = Array(fact.utf8)
        let data = Array("{\"fact\":\"\(fact)\",\"length\":\(text.count)}".utf8)
        let keys = (0..<100).map { Array("city-\($0)".utf8) }
        let source = await store.register(SourceDescription(name: "fact", type: "fact"))
        var batch = EventBatch()
        for number in 0..<batches {
            let now = wall.now
            batch.removeAll()
            for index in 0..<batchSize {
                let value = Double((number &+ index) % 1_000)
                switch kind {
                case .facts:
                    text.withUnsafeBytes { text in
                        data.withUnsafeBytes { data in
                            batch.add(time: now, source: source, value: value, text: text, data: data)
                        }
                    }
                case .keyed:
                    keys[index % keys.count].withUnsafeBytes { key in
                        batch.add(time: now, source: source, key: key, value: value)
                    }
                case .rows:
                    keys[index % keys.count].withUnsafeBytes { key in
                        text.withUnsafeBytes { batch.add(time: now, source: source, key: key, text: $0) }
                    }
                case .bare: batch.add(time: now, source: source, value: value)
                }
            }
            await store.publish(batch)
            try await store.admit()
            await Task.yield()  // like an input that waits for its next read
        }
    }

    /// Reads until the end of the feed, looking at every byte.
    private static func readAll(
        from store: EventStore, _ reader: ReaderID
    ) async throws -> (lines: Int, newlines: Int, bye: Bool) {
        var lines = 0
        var newlines = 0
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span):
                lines += span.sequences.count
                span.withUnsafeBytes { newlines += count(of: 0x0A, in: $0) }
            case .gap: throw BenchError("the reader fell behind")
            case .greeting, .ended, .kept, .interrupted: continue  // only for other kinds of feeds and readers
            case .end: return (lines, newlines, true)
            }
        }
    }

    /// The processor time of the calling thread, which the event loop runs on.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func count(of byte: Int32, in bytes: UnsafeRawBufferPointer) -> Int {
        var found = 0
        guard var next = bytes.baseAddress else { return 0 }
        let end = next + bytes.count
        while next < end, let place = memchr(next, byte, end - next) {
            found += 1
            next = UnsafeRawPointer(place) + 1
        }
        return found
    }
}
