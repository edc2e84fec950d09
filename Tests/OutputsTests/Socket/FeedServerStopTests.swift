import Feed
import Outputs
import Reactor
import TestSupport
import Testing

/// What readers get when a server is to end.
@Suite(.limited) struct FeedServerStopTests {
    /// When the server had ended, and what one reader had got by then.
    private struct Outcome: Sendable {
        var ended = Duration.zero
        var transcript = FeedTranscript()
    }

    /// Has a server with one reader, of little room, that is 20 lines of 1,000 bytes behind, stop within 5 s.
    ///
    /// - Parameter pause: what the reader waits before each line it reads; nil for one that reads nothing until the server has ended.
    private static func stop(isOver: Bool, pause: Duration?) async throws -> Outcome {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let reader = try stage.connect(capacity: 1_500)
            await stage.publish(20, text: 1_000)
            return try await stage.serving { server in
                try await loop.sleep(for: .seconds(1))
                let before = loop.clock.now
                await server.stop(within: .seconds(5), isOver: isOver)
                #expect(throws: SystemError.self) { try stage.connect() }
                if isOver { await stage.store.finish("end") }
                async let read = Self.read(reader, pause, on: loop)
                while await server.readerCount > 0 { try await loop.sleep(for: .milliseconds(1)) }
                var outcome = Outcome()
                outcome.ended = before.duration(to: loop.clock.now)
                if let transcript = try await read {
                    outcome.transcript = transcript
                } else {
                    outcome.transcript = try await reader.transcript(on: loop)
                }
                return outcome
            }
        }
    }

    private static func read(_ reader: FeedReader, _ pause: Duration?, on loop: EventLoop) async throws
        -> FeedTranscript?
    {
        guard let pause else { return nil }
        return try await reader.transcript(pause: { pause }, on: loop)
    }

    @Test func givesASlowReaderEverythingWhenTheFeedIsOver() async throws {
        let outcome = try await Self.stop(isOver: true, pause: .milliseconds(100))
        #expect(outcome.transcript.bye?.lastSeq == 20 && outcome.transcript.numbers == Array(1...20))
        #expect(outcome.ended > .milliseconds(1_500) && outcome.ended < .seconds(4))
    }

    @Test func endsTheLineOfAReaderThatIsTooSlowForEverything() async throws {
        let outcome = try await Self.stop(isOver: true, pause: .milliseconds(400))
        let transcript = outcome.transcript
        #expect(!transcript.isTorn && transcript.fault == nil && transcript.bye == nil)
        #expect((5..<20).contains(transcript.lines.count), "\(transcript.numbers)")
        #expect((.seconds(4)...(.milliseconds(4_900))).contains(outcome.ended), "\(outcome.ended)")
    }

    @Test(arguments: [false, true]) func waitsForOneThatTakesNothingNoLongerThanItWasTold(isOver: Bool) async throws {
        let outcome = try await Self.stop(isOver: isOver, pause: nil)
        #expect((.seconds(5)...(.milliseconds(5_010))).contains(outcome.ended), "\(outcome.ended)")
        #expect(outcome.transcript.isTorn)
    }

    @Test func givesWhoHasJustConnectedEverythingWhenTheFeedIsOver() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(3)
            var limits = ReaderLimits()
            limits.readers = 2
            try await stage.serving(limits) { server in
                try await loop.sleep(for: .seconds(1))
                // In one turn of the loop: nobody of them has been let in.
                let readers = try await Self.stop(server, stage, readers: 3)
                for reader in readers.prefix(2) {
                    let transcript = try await reader.transcript(on: loop)
                    #expect(transcript.bye?.lastSeq == 3 && transcript.numbers == [1, 2, 3])
                }
                #expect(try await readers[2].line() == nil)
            }
        }
    }

    /// Stops a server that so many readers connect to at that moment.
    private static func stop(
        _ server: isolated FeedServer, _ stage: FeedStage, readers: Int
    ) throws(SystemError) -> [FeedReader] {
        var connected: [FeedReader] = []
        for _ in 0..<readers { connected.append(try stage.connect()) }
        stage.store.assumeIsolated { $0.finish("end") }
        server.stop(within: .seconds(5), isOver: true)
        return connected
    }

    @Test func endsTheLineOfEveryReaderWhenTheFeedGoesOn() async throws {
        let outcome = try await Self.stop(isOver: false, pause: .milliseconds(10))
        let transcript = outcome.transcript
        #expect(!transcript.isTorn && transcript.fault == nil && transcript.bye == nil)
        #expect((1...3).contains(transcript.lines.count) && outcome.ended < .milliseconds(100))
    }

    @Test func closesAReaderThatHasWholeLinesAtOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(3)
            try await stage.serving { server in
                let reader = try stage.connect()
                try await reader.skip(5)
                let before = loop.clock.now
                await server.stop(within: .seconds(5), isOver: false)
                #expect(try await reader.line() == nil)
                #expect(before.duration(to: loop.clock.now) < .milliseconds(10))
            }
        }
    }

    @Test func otherLimitsHoldFromThenOnAndDisturbNobody() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            try await stage.serving { server in
                let first = try stage.connect(capacity: 2_000)
                try await first.skip(2)
                var limits = ReaderLimits()
                limits.readers = 1
                limits.stall = .seconds(2)
                await server.change(to: limits)
                let second = try stage.connect()
                #expect(try await second.next()?.type == "error")
                await stage.publish()
                #expect(try await first.next()?.seq == 1)
                await stage.publish(10, text: 1_000)
                try await loop.sleep(for: .milliseconds(2_100))
                #expect(await server.readerCount == 0)
                #expect(await stage.store.counts.stalledReaders == 1)
            }
        }
    }
}
