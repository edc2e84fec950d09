import Reactor
import TestSupport
import Testing

@testable import Feed

/// What a store says of a recording is what a board of all its lines has, though most lines are not decoded.
@Suite(.limited) struct PlayedBackTests {
    private static let hello =
        #"{"type":"hello","time":"2020-09-13T12:26:40.000000Z","format":1,"run":"r1","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":1,"host":{},"app":{}}"#

    private static func time(_ milliseconds: Int) -> String {
        let quoted = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(Timestamp(seconds: 1_600_000_000) + .milliseconds(milliseconds), to: &writer)
        }
        return String(decoding: quoted, as: UTF8.self)
    }

    /// A feed of some sources: values, some of them late or missing, failures, answers, and what the sources are.
    private static func feed(_ random: inout SeededGenerator, _ count: Int) -> [String] {
        var lines = [hello]
        for seq in 1...count {
            let source = "s\(Int.random(in: 0..<4, using: &random))"
            let late = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 0..<60_000, using: &random) : 0
            let start = "{\"seq\":\(seq),\"time\":\(time(seq * 100)),"
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                lines.append(
                    start
                        + "\"type\":\"error\",\"source\":\"\(source)\",\"code\":\"timeout\",\"message\":\"m\",\"attempt\":1}"
                )
            case 1:
                lines.append(
                    start
                        + "\"type\":\"latency\",\"source\":\"\(source)\",\"endpoint\":\"GET http://a/\(source)\",\"status\":"
                        + "\(seq % 2 == 0 ? 200 : 304),\"ms\":\(seq)}")
            default:
                let value = Int.random(in: 0..<6, using: &random) == 0 ? "" : ",\"value\":\(seq)"
                lines.append(
                    "{\"seq\":\(seq),\"time\":\(time(seq * 100 - late)),\"type\":\"t\",\"source\":\"\(source)\",\"series\":\""
                        + "\(source)/\(seq % 3)\"\(value)}")
            }
        }
        return lines
    }

    private struct Told: Sendable, Equatable {
        var sources: [SourceStatus]
        var endpoints: Int
        var series: [String]
    }

    private static func told(_ lines: [String], asRecording: Bool, asking every: Int) async throws -> (Told, [UInt8]) {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(
                following: loop.clock, startingAt: Timestamp(seconds: 1_600_000_000) + .seconds(60))
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "own", version: "1", started: wall.now),
                isRecording: true)
            let (reader, _) = await store.open("reader")
            for (index, text) in lines.enumerated() {
                try await relay(text, to: store, asRecording)
                if index % every == 0 { _ = await store.numbers }
            }
            var bytes: [UInt8] = []
            while let delivery = await store.take(for: reader) {
                if case .lines(let span) = delivery { bytes += span.withUnsafeBytes { Array($0) } }
            }
            var walk = await store.walk
            var series: [String] = []
            while let (found, next) = await store.series(behind: walk) {
                series.append("\(found.name) \(found.value) \(found.time.microseconds)")
                walk = next
            }
            let states = await store.sourceStates
            return (Told(sources: states, endpoints: await store.endpoints.count, series: series.sorted()), bytes)
        }
    }

    private static func relay(_ text: String, to store: EventStore, _ asRecording: Bool) async throws {
        let bytes = Bytes(text.utf8)
        guard asRecording else {
            return await store.relay([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
        }
        let decoded = try LineDecoder.decode(bytes)
        await store.relayOne(bytes, decoded)
    }

    @Test func saysTheSameOfItAsWhenEachLineIsDecoded() async throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let lines = Self.feed(&random, LongRun.rounds(short: 200, long: 5_000))
            let (fast, fastBytes) = try await Self.told(lines, asRecording: true, asking: 37)
            let (slow, slowBytes) = try await Self.told(lines, asRecording: false, asking: 1)
            #expect(fast == slow, "seed \(seed)")
            #expect(fastBytes == slowBytes && fastBytes.count > 10_000, "seed \(seed)")
        }
    }
}

extension EventStore {
    fileprivate func relayOne(_ bytes: Bytes, _ decoded: Line) {
        bytes.withUnsafeBufferPointer { line in
            var next: RecordedLine? =
                PlainLine(line).map { .plain($0, line) } ?? .other(RelayedLine(decoded, bytes: bytes))
            relay {
                defer { next = nil }
                return next
            } refuse: {
                Issue.record("\($0)")
            }
        }
    }

    fileprivate func series(behind walk: FeedWalk) -> (SeriesNumbers, FeedWalk)? {
        var walk = walk
        return nextSeries(&walk).map { ($0, walk) }
    }
}
