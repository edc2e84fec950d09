import Feed
import Outputs
import Reactor
import TestSupport
import Testing

/// What a reader asks for while it reads.
@Suite(.limited) struct ReaderConnectionTests {
    /// A reader that has read the greeting and the ten lines there are.
    private static func withReader(
        _ body: @escaping @Sendable (FeedStage, FeedReader) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(10)
            try await stage.serving { _ in
                let reader = try stage.connect()
                try await reader.skip(12)
                try await body(stage, reader)
            }
        }
    }

    /// Asks, ends the feed, and returns what came.
    private static func answer(to requests: [String]) async throws -> FeedTranscript {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(10)
            return try await stage.serving { _ in
                let reader = try stage.connect()
                try await reader.skip(12)
                for request in requests { try await reader.ask(request) }
                try await loop.sleep(for: .seconds(1))
                await stage.publish(2)
                let other = await stage.store.register(SourceDescription(name: "dog", type: "dog"))
                let event = Event(time: stage.wall.now, source: other, body: .data(Datum(value: 2)))
                await stage.store.publish([event])
                await stage.store.finish("end")
                return try await reader.transcript(on: loop)
            }
        }
    }

    @Test(
        arguments: [
            (#"{"since":4}"#, Array(5...13)), (#"{"since":0}"#, Array(1...13)), (#"{"since":10}"#, [11, 12, 13]),
            (#"{"since":99}"#, [11, 12, 13]), (#"{"since":4,"run":"r1"}"#, Array(5...13)),
            (#"{"since":4,"run":"other"}"#, Array(1...13)), (#"{"replay":false}"#, [11, 12, 13]),
            (#"{"replay":true}"#, Array(1...13)), (#"{"since":4,"types":["dog"]}"#, [13]),
            (#"{"sources":["fact"],"replay":false}"#, [11, 12]), (#"{"types":[]}"#, []),
            (#"{"types":["dog","fact"],"sources":["dog"]}"#, [13]),
        ])
    func answersWithANewHelloAndGoesOnByItsTerms(request: String, numbers: [Int]) async throws {
        let transcript = try await Self.answer(to: [request])
        #expect(transcript.numbers == numbers && transcript.hellos.count == 1 && transcript.refusals.isEmpty)
        #expect(transcript.hellos.first?.filtered == (request.contains("types") || request.contains("sources")))
        #expect(transcript.gaps.isEmpty && transcript.bye != nil)
    }

    @Test func aRequestTakesThePlaceOfTheOneBefore() async throws {
        let transcript = try await Self.answer(to: [#"{"types":["dog"]}"#, #"{"since":9}"#])
        #expect(transcript.hellos.map(\.filtered) == [true, false] && transcript.numbers == [10, 11, 12, 13])
    }

    @Test(
        arguments: [
            "nonsense", "[1]", "{}", #"{"since":-1}"#, #"{"since":"4"}"#, #"{"poll":"nobody"}"#, #"{"what":1}"#,
            #"{"since":4"#, "\u{0}",
        ])
    func aBadRequestGetsOneErrorLineAndChangesNothing(request: String) async throws {
        let transcript = try await Self.answer(to: [#"{"sources":["dog"],"replay":false}"#, request])
        #expect(transcript.refusals.count == 1 && transcript.refusals.first?.code == .protocol)
        #expect(transcript.hellos.count == 1 && transcript.numbers == [13] && transcript.bye != nil)
    }

    @Test func emptyLinesAreNoRequests() async throws {
        let transcript = try await Self.answer(to: ["", "  ", "\r", "\t"])
        #expect(transcript.refusals.isEmpty && transcript.hellos.isEmpty && transcript.numbers == [11, 12, 13])
    }

    @Test func pollsASourceAndSaysNothing() async throws {
        try await Self.withReader { stage, reader in
            let polled = Wakeup(loop: stage.loop)
            await stage.polls.allowPolling(of: "fact") { _ in
                polled.signal()
                return nil
            }
            try await reader.ask(#"{"poll":"fact"}"#)
            try await polled.wait()
            await stage.publish()
            #expect(try await reader.next()?.seq == 11)
        }
    }

    @Test func saysWhyAPollIsRefused() async throws {
        try await Self.withReader { stage, reader in
            await stage.polls.allowPolling(of: "fibonacci") { request in
                request.n == 500 ? PollRefusal("busy with \"n\" 499") : nil
            }
            try await reader.ask(#"{"poll":"fibonacci","n":499}"#)
            try await reader.ask(#"{"poll":"fibonacci","n":500}"#)
            guard case .refusal(let failure)? = try await reader.next()?.body else {
                Issue.record("no refusal")
                return
            }
            #expect(failure == Failure(.protocol, "busy with \"n\" 499"))
        }
    }

    @Test func aGreetingComesToFilteredReadersAsWell() async throws {
        try await Self.withReader { stage, reader in
            try await reader.ask(#"{"types":["dog"],"replay":false}"#)
            try await reader.skip(2)
            await stage.publish()
            await stage.store.greetAll()
            guard case .hello(let hello)? = try await reader.next()?.body else {
                Issue.record("no hello")
                return
            }
            #expect(hello.filtered && hello.nextSeq == 12)
            #expect(try await reader.next()?.type == "stats")
        }
    }

    @Test(arguments: [true, false])
    func closesAReaderWhoseRequestIsTooLong(hasEnd: Bool) async throws {
        try await Self.withReader { stage, reader in
            // Its writing stops when the server has closed.
            try? await reader.stream.write(
                all: Array(repeating: UInt8(ascii: "x"), count: 1 << 20) + (hasEnd ? [0x0A] : []))
            let transcript = try await reader.transcript(on: stage.loop)
            #expect(transcript.refusals.map(\.code) == [.lineTooLong] && transcript.lines.isEmpty)
            try await stage.loop.sleep(for: .seconds(1))
            #expect(await stage.store.counts.readers == 0)
        }
    }

    @Test func halfALineForEverCostsNothingElse() async throws {
        try await Self.withReader { stage, reader in
            try await reader.stream.write(all: Array("{\"since\":".utf8))
            for _ in 0..<20 {
                try await stage.loop.sleep(for: .seconds(600))
                await stage.publish()
                // The window before has closed, so that there is a line of that first.
                while let line = try await reader.next(), line.type != "fact" { #expect(line.type == "window") }
            }
            try await reader.ask("25}")
            #expect(try await reader.next()?.type == "hello")
            try await reader.skip(1)
            #expect(try await reader.next()?.seq == 26)
        }
    }

    @Test func aRequestMayComeInAnyPieces() async throws {
        let request = Array(#"{"since":8,"run":"r1"}"#.utf8) + [0x0A]
        for split in 1..<request.count {
            try await Self.withReader { stage, reader in
                try await reader.stream.write(all: Array(request[..<split]))
                try await stage.loop.sleep(for: .seconds(1))
                try await reader.stream.write(all: Array(request[split...]))
                #expect(try await reader.next()?.type == "hello", "split at \(split)")
                try await reader.skip(1)
                #expect(try await reader.next()?.seq == 9, "split at \(split)")
            }
        }
    }

    @Test func holdsFewAnswersForAReaderThatOnlyAsks() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(10)
            try await stage.serving { server in
                let reader = try stage.connect(capacity: 1_000)
                let request = Array("{\"since\":10}\n".utf8)
                var asked = 0
                // It is read from for as long as there is room for answers, and then no more.
                for _ in 0..<5_000 {
                    asked += try request.withUnsafeBytes { try reader.stream.write($0) }
                    try await loop.sleep(for: .milliseconds(1))
                }
                // Some answers, a piece that was read and holds more requests, and what the stream holds; of 65,000 bytes.
                #expect(asked < 4_000, "\(asked) bytes of requests were taken")
                try await loop.sleep(for: .seconds(61))
                #expect(await server.readerCount == 0)
                #expect(await stage.store.counts.stalledReaders == 1)
            }
        }
    }

    @Test func readsOnWhenMoreHasComeThanItReadsAtOnce() async throws {
        let request = String(repeating: "x", count: 4_000)
        let requests = Array(repeating: request, count: 20).joined(separator: "\n")
        let transcript = try await Self.answer(to: [requests])
        #expect(transcript.refusals.count == 20 && transcript.numbers == [11, 12, 13])
    }

    @Test func answersEveryRequestInItsOrderHoweverManyThereAre() async throws {
        try await Self.withReader { _, reader in
            var expected: [String] = []
            for number in 0..<200 {
                expected.append("hello")
                try await reader.ask(#"{"replay":false}"#)
                guard number % 3 == 0 else { continue }
                expected.append("there is no source \"nobody \(number)\" that can be polled")
                try await reader.ask("{\"poll\":\"nobody \(number)\"}")
            }
            var answers: [String] = []
            while answers.count < expected.count, let line = try await reader.next() {
                switch line.body {
                case .hello: answers.append("hello")
                case .refusal(let failure): answers.append(failure.message)
                default: break
                }
            }
            #expect(answers == expected)
        }
    }
}
