import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Standard input in virtual time: what is written to it, and what became of it.
struct StdinRun: Sendable {
    /// The numbered lines that came out, decoded.
    var lines: [Line] = []

    /// One thing that happens at the stream's other end.
    enum Step: Sendable {
        case write([UInt8])
        case pause(Duration)

        static func text(_ text: String) -> Step { .write(Array(text.utf8)) }
    }

    static let wallStart = Timestamp(seconds: 1_800_000_000)

    static func source(_ extraction: Extraction = Extraction(text: .nowhere), maxLine: Int = 1 << 20) -> StdinSource {
        var source = StdinSource(SourceDescription(name: "in"), extraction: extraction)
        source.maxLine = maxLine
        return source
    }

    /// The same with a source that wants no text.
    static func run(_ steps: [Step]) async throws -> StdinRun { try await run(source(), steps) }

    /// Makes the steps, closes the stream, and reads everything that came out.
    static func run(_ source: StdinSource, capacity: Int = 65_536, _ steps: [Step]) async throws -> StdinRun {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: wallStart)
            let identity = AgentIdentity(run: "test-run", version: "0", started: wallStart)
            let store = EventStore(on: loop, wall: wall, identity: identity)
            let (far, near) = SimulatedStream.pair(capacity: capacity, on: loop)
            let ends = LoopBound((far, near))
            let input = StdinInput(source, store: store, on: loop, wall: wall) { _ in ends.value.1 }
            let (reader, _) = await store.open("test", holdsInputs: true)
            var run = StdinRun()
            async let written: Void = feed(steps, to: ends, on: loop)
            async let lines = collect(store, reader)
            try await input.run()
            await store.finish("end")
            run.lines = try await lines
            try await written
            return run
        }
    }

    private static func feed(
        _ steps: [Step], to ends: LoopBound<(SimulatedStream, SimulatedStream)>, on loop: EventLoop
    ) async throws {
        let stream = ends.value.0
        defer { stream.close() }
        for step in steps {
            switch step {
            case .write(let bytes): try await stream.write(all: bytes)
            case .pause(let duration): try await loop.sleep(for: duration)
            }
        }
    }

    static func collect(_ store: EventStore, _ reader: ReaderID) async throws -> [Line] {
        var lines: [Line] = []
        var splitter = LineSplitter(limit: 2 << 20)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span): span.withUnsafeBytes { splitter.push(Bytes($0)) }
            case .gap: Issue.record("something was lost")
            case .greeting, .ended, .kept, .interrupted: continue
            case .end: return lines
            }
            while let item = splitter.next() {
                guard case .line(let bytes) = item else { continue }
                lines.append(try LineDecoder.decode(bytes))
            }
        }
    }

    /// The values of all data lines until the feed's end.
    static func collectValues(_ store: EventStore, _ reader: ReaderID) async throws -> [Double?] {
        try await StdinRun(lines: collect(store, reader)).values
    }

    var data: [Line.Data] {
        lines.compactMap { if case .data(let data) = $0.body { data } else { nil } }
    }
    var dataTimes: [Timestamp] {
        lines.compactMap { if case .data = $0.body { $0.time } else { nil } }
    }
    var values: [Double?] { data.map(\.value) }
    var errors: [Failure] {
        lines.compactMap { if case .error(let failure) = $0.body { failure } else { nil } }
    }
    /// How many lines the errors are about.
    var badLines: Int { errors.reduce(0) { $0 + Self.count($1) } }

    /// How many lines one report is about.
    static func count(_ failure: Failure) -> Int {
        let words = failure.message.split(separator: " ")
        return words.dropFirst().first == "bad" ? Int(words[0]) ?? 0 : 1
    }

    /// When each error was reported, from the start.
    var errorTimes: [Duration] {
        lines.compactMap { line in
            guard case .error = line.body else { return nil }
            return line.time - Self.wallStart
        }
    }
}
