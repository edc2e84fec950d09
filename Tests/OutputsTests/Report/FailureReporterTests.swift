import Feed
import Reactor
import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct FailureReporterTests {
    /// What a person is told of these events.
    private static func told(_ events: @escaping @Sendable (FeedStage) async -> [Event]) async throws -> [String] {
        try await told { EventBatch(await events($0)) }
    }

    private static func told(_ batch: @escaping @Sendable (FeedStage) async -> EventBatch) async throws -> [String] {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let ends = LoopBound(SimulatedStream.pair(on: loop))
            let notices = Notices(on: loop)
            let reporter = FailureReporter(
                store: stage.store, notices: notices, on: loop, wall: stage.wall, everyRequest: false)
            return try await running {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await notices.run { _ in ends.value.0 } }
                    group.addTask { try await reporter.run() }
                    try await group.waitForAll()
                }
            } while: {
                await stage.store.publish(await batch(stage))
                try await loop.sleep(for: .seconds(1))
                let text = String(decoding: try StreamOutputTests.drain(ends.value.1), as: UTF8.self)
                return text.split(separator: "\n").map(String.init)
            }
        }
    }

    @Test func theEndOfAnOutageIsTold() async throws {
        let told = try await Self.told { stage in
            [
                Event(time: FeedStage.start, source: stage.source, body: .error(Failure(.timeout, "no answer"))),
                Event(
                    time: FeedStage.start, source: stage.source,
                    body: .recovered(Recovery(down: .seconds(3), attempts: 2))),
            ]
        }
        #expect(
            told == ["catwatch: fact: no answer", "catwatch: fact: answers again after 3 s and 2 failed attempts"])
    }

    @Test func whatIsNotOfNowCarriesItsTime() async throws {
        let failure = Failure(.timeout, "no answer")
        let told = try await Self.told { stage in
            [Duration.zero, .seconds(-5), .seconds(-6), .seconds(5), .seconds(6)].map {
                Event(time: FeedStage.start + $0, source: stage.source, body: .error(failure))
            }
        }
        #expect(
            told == [
                "catwatch: fact: no answer", "catwatch: fact: no answer",
                "catwatch: 2023-11-14T22:13:14Z fact: no answer",
                "catwatch: fact: no answer", "catwatch: 2023-11-14T22:13:26Z fact: no answer",
            ])
    }

    @Test(
        arguments: [
            (#"{"a":1}"#, "/a", "value: /a"), (#"{"b":2,"a":1,"c":"x"}"#, "/a", "value: /a; also /b"),
            (#"{"a":1,"b":[2,3,4]}"#, "/a", "value: /a; also /b/0, /b/1, /b/2"),
            (#"{"a":1,"b":[2,3,4,5]}"#, "/a", "value: /a; also /b/0, /b/1, /b/2, …"),
            (#"{"\u001b[31m":1,"b\u0007":2}"#, "/\u{1B}[31m", "value: /␛[31m; also /b␇"),
        ] as [(String, String, String)])
    func theNumberThatIsTakenIsNamedOnce(data: String, pointer: String, text: String) async throws {
        let told = try await Self.told { stage in
            var batch = EventBatch()
            for number in 0..<3 {
                let datum = Datum(value: 1, data: Bytes(data.utf8))
                batch.add(Event(time: FeedStage.start, source: stage.source, body: .data(datum)))
                if number == 1 { batch.setValuePointer(pointer) }
            }
            return batch
        }
        #expect(told == ["catwatch: fact: \(text)"])
    }

    @Test func theAgentsOwnNameStandsThereOnce() async throws {
        let told = try await Self.told { stage in
            let own = await stage.store.agentSource
            return [Event(time: FeedStage.start, source: own, body: .error(Failure(.disk, "no room")))]
        }
        #expect(told == ["catwatch: no room"])
    }
}

@Suite(.limited) struct RateLimitTests {
    @Test func goesOnAtItsPaceWhileMoreIsAskedFor() {
        let start = LoopInstant(nanoseconds: 0)
        var limit = RateLimit(burst: 3, every: .seconds(1), now: start)
        // Eight times a second: the burst, and one for each second.
        let allowed = (0...40).filter { limit.allow(at: start.advanced(by: .milliseconds(125 * $0))) }
        #expect(allowed == [0, 1, 2, 8, 16, 24, 32, 40])
        #expect(limit.resetSuppressed() == 33 && limit.resetSuppressed() == 0)
        // A pause saves up no more than the burst.
        #expect((0..<10).filter { _ in limit.allow(at: start.advanced(by: .seconds(1_000))) } == [0, 1, 2])
    }
}
