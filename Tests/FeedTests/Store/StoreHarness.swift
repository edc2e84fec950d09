import Feed
import Reactor
import TestSupport
import Testing

/// A store in virtual time with one source, and what its tests need again and again.
struct StoreHarness: Sendable {
    let loop: EventLoop
    let wall: SteppedWallClock
    let store: EventStore
    let source: SourceID

    static let start = Timestamp(seconds: 1_700_000_000)

    init(on loop: EventLoop, _ adjust: (inout FeedState.Limits) -> Void = { _ in }) async {
        var limits = FeedState.Limits()
        adjust(&limits)
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Self.start)
        let identity = AgentIdentity(run: "r1", version: "1", started: Self.start)
        store = EventStore(on: loop, wall: wall, identity: identity, limits: limits)
        source = await store.register(SourceDescription(name: "fact", type: "fact"))
    }

    /// With a log of 64 KiB, which soon lets lines go.
    static func withSmallLog(
        on loop: EventLoop, _ adjust: (inout FeedState.Limits) -> Void = { _ in }
    ) async -> StoreHarness {
        await StoreHarness(on: loop) {
            $0.logCapacity = 1 << 16
            adjust(&$0)
        }
    }

    func publish(_ count: Int = 1, value: Double? = 1, text length: Int = 0) async {
        let text = length > 0 ? Bytes(repeating: 0x61, count: length) : nil
        let event = Event(time: wall.now, source: source, body: .data(Datum(value: value, text: text)))
        await store.publish(Array(repeating: event, count: count))
    }

    /// Reads until the end, with a pause before each delivery when asked for.
    func readAll(
        _ reader: ReaderID, decodes: Bool = true, pause: () -> Duration? = { nil }
    ) async throws -> Transcript {
        var transcript = Transcript(decodes: decodes)
        while transcript.bye == nil {
            if let pause = pause() { try await loop.sleep(for: pause) }
            transcript.add(try await store.next(for: reader), at: loop.clock.now)
        }
        return transcript
    }
}

/// What a reader got.
struct Transcript: Sendable {
    /// The numbers of the lines, as the lines themselves say.
    var numbers: [Int] = []
    /// The numbers in the `gap` lines.
    var gaps: [ClosedRange<Int>] = []
    var lines: [Line] = []
    /// The lines in `kept` lines, which come before all others.
    var kept: [Line] = []
    /// The windows in `kept` lines, by series.
    var keptWindows: [String: [Line.Window]] = [:]
    var bye: Line.Bye?
    /// When each delivery came.
    var times: [LoopInstant] = []
    /// What was torn or out of order; nil when all is well.
    var fault: String?
    private var next: Int?
    /// Whether `lines` is wanted; decoding takes most of the time where there are many readers.
    private let decodes: Bool

    init(decodes: Bool = true) { self.decodes = decodes }

    /// The keys in each `progress` line that says what is gone.
    var gone: [[String]] {
        lines.compactMap {
            if case .progress(let progress) = $0.body, !progress.gone.isEmpty { progress.gone } else { nil }
        }
    }

    /// The next number expected, and the last one had.
    var last: Int { (next ?? 1) - 1 }

    mutating func add(_ delivery: Delivery, at time: LoopInstant) {
        times.append(time)
        switch delivery {
        case .lines(let span):
            let bytes = span.withUnsafeBytes { [UInt8]($0) }
            guard bytes.last == 0x0A else { return fail("torn lines") }
            let split = bytes.split(separator: 0x0A)
            var number = span.sequences.lowerBound
            for line in split {
                let head = Array("{\"seq\":\(number),".utf8)
                if line.prefix(head.count) != head[...] || line.last != UInt8(ascii: "}") {
                    fail("\(String(decoding: line, as: UTF8.self)) is not number \(number)")
                }
                take(number...number)
                numbers.append(number)
                number += 1
                if decodes, let line = decode(line) { lines.append(line) }
            }
            if split.count != span.sequences.count { fail("\(split.count) lines are \(span.sequences)") }
        case .gap(let bytes):
            guard let line = decode(bytes[...]), case .gap(let gap) = line.body else { return fail("no gap") }
            take(gap.from...gap.to)
            gaps.append(gap.from...gap.to)
        case .end(let bytes):
            guard let line = decode(bytes[...]), case .bye(let bye) = line.body else { return fail("no bye") }
            self.bye = bye
        case .kept(let bytes):
            if next != nil { fail("kept lines behind others") }
            for line in bytes.split(separator: 0x0A) {
                guard let line = decode(line[...]), case .kept(let kept) = line.body else {
                    return fail("no kept line")
                }
                if let series = kept.windows.first?.series {
                    if keptWindows.updateValue(kept.windows, forKey: series) != nil {
                        fail("windows of \(series) twice")
                    }
                } else {
                    self.kept.append(kept.line)
                }
            }
        case .greeting, .ended: fail("another run")
        case .interrupted: fail("interrupted by nobody")
        }
    }

    private mutating func decode(_ bytes: Bytes) -> Line? {
        do { return try LineDecoder.decode(bytes) } catch {
            fail("\(error)")
            return nil
        }
    }

    private mutating func take(_ range: ClosedRange<Int>) {
        if let next, range.lowerBound != next { fail("\(range) came where \(next) was due") }
        next = range.upperBound + 1
    }

    private mutating func fail(_ text: String) { fault = fault ?? text }

    /// How many lines the gaps name.
    var missed: Int { gaps.reduce(0) { $0 + $1.count } }
    var windows: [Line.Window] {
        lines.compactMap { if case .window(let window) = $0.body { window } else { nil } }
    }
}
