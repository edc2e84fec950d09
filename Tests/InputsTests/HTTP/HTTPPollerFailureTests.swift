import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What a poller does when its upstream fails, in virtual time.
@Suite(.limited) struct HTTPPollerFailureTests {
    typealias Reply = ScriptedTransport.Reply

    @Test func failuresAreCountedAndThePauseIsTheOneAnnounced() async throws {
        let source = try SimulatedFeed.source(every: .seconds(8))
        let feed = try await SimulatedFeed.run(source, for: .seconds(600), seed: 5) { _, _ in
            .failure(.connect, "nothing listens there", after: .milliseconds(20))
        }
        feed.expectWellFormed()
        #expect(feed.errors.count == feed.calls.count && feed.errors.count > 20)
        #expect(feed.errors.map(\.attempt) == (1...feed.errors.count).map { $0 })
        #expect(feed.errors.allSatisfy { $0.code == .connect && $0.endpoint == "GET http://cats.test/fact" })
        #expect(feed.data.isEmpty && feed.latencies.isEmpty)
        for (index, failure) in feed.errors.enumerated().dropLast() {
            let ended = try #require(feed.calls[index].ended)
            let next = feed.calls[index + 1].began
            let announced = try #require(failure.retryIn)
            // The line says it in whole milliseconds.
            let difference = ended.duration(to: next) - announced
            #expect(difference < .milliseconds(1) && difference > .milliseconds(-1))
            #expect(
                ended.duration(to: next) <= .seconds(30) && feed.calls[index].began.duration(to: next) >= .seconds(8))
        }
        // The bound of the sixth and later failures is 30 s, so the mean pause is about 15 s.
        let later = zip(feed.begun.dropFirst(6), feed.begun.dropFirst(7)).map { ($1 - $0).seconds }
        let mean = later.reduce(0, +) / Double(later.count)
        #expect(mean > 8 && mean < 22)
    }

    @Test func aRecoveryStartsTheCountAndTheScheduleOver() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(300)) { number, _ in
            [3, 4, 5, 20].contains(number) ? .failure(.reset, "broke") : .answer(after: .milliseconds(2))
        }
        feed.expectWellFormed()
        #expect(feed.errors.map(\.attempt) == [1, 2, 3, 1])
        // After the last failure everything is on its ticks again, the same ones as before.
        let phase = feed.begun[2].nanoseconds % 1_000_000_000
        for begun in feed.begun.dropFirst(23) { #expect(begun.nanoseconds % 1_000_000_000 == phase) }
        let gaps = zip(feed.begun.dropFirst(23), feed.begun.dropFirst(24)).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 == .seconds(1) } && gaps.count > 200)
    }

    @Test(arguments: [Duration.milliseconds(100), .seconds(1), .seconds(20), .seconds(120)], [UInt64(1), 2, 3, 4, 5])
    func aFailingSourceIsNeverPolledMoreOftenThanAWorkingOne(every: Duration, seed: UInt64) async throws {
        let source = try SimulatedFeed.source(every: every)
        let time = every * 60
        let working = try await SimulatedFeed.run(source, for: time, seed: seed) { _, _ in .answer() }
        let failing = try await SimulatedFeed.run(source, for: time, seed: seed) { number, _ in
            number % 7 == 6 ? .answer() : .failure(.timeout, "no answer")
        }
        #expect(failing.calls.count <= working.calls.count, "seed \(seed)")
        for (index, pair) in zip(failing.begun, failing.begun.dropFirst()).enumerated() where index % 7 != 6 {
            #expect(pair.1 - pair.0 >= every, "poll \(index) had failed, seed \(seed)")
        }
    }

    @Test(
        arguments: [
            ("7", 7), ("120", 120), ("3600", 300), ("Fri, 15 Jan 2027 08:01:40 GMT", 100),
            ("Fri, 15 Jan 2027 09:00:00 GMT", 300),
        ] as [(String, Int)])
    func whatRetryAfterAsksForIsWaitedFor(text: String, seconds: Int) async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(900)) { number, _ in
            number == 0
                ? .answer(503, "", headers: HTTPAnswerHeaders(retryAfter: text)) : .answer(after: .milliseconds(1))
        }
        #expect(feed.errors.count == 1 && feed.errors[0].code == .status)
        #expect(feed.errors[0].retryIn == .seconds(seconds))
        #expect(feed.begun[1] == .seconds(seconds))
        #expect(feed.latencies.first?.status == 503)
    }

    @Test(arguments: ["Fri, 15 Jan 2020 08:00:00 GMT", "0", "soon", "-5", "1 Jan 400000 00:00:00 GMT"])
    func aRetryAfterThatSaysNothingLeavesTheBackOff(text: String) async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(60)) { number, _ in
            number == 0 ? .answer(429, "", headers: HTTPAnswerHeaders(retryAfter: text)) : .answer()
        }
        #expect(feed.errors.map(\.code) == [.rateLimited])
        #expect(feed.errors[0].message.contains("fewer requests"))
        #expect(feed.begun[1] >= .seconds(1) && feed.begun[1] <= .seconds(2))
    }

    @Test func aDeadlineEndsEveryRequestAndTheScheduleGoesOn() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(300)) { number, _ in
            .answer(after: number % 2 == 0 ? .seconds(3_600) : .milliseconds(3))
        }
        feed.expectWellFormed()
        #expect(feed.errors.allSatisfy { $0.code == .timeout && $0.attempt == 1 } && feed.errors.count > 15)
        #expect(feed.data.count > 15)
        #expect(feed.mostUnderWay == 1)
    }

    @Test func anAnswerThatHadBegunIsALatencyToo() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(every: .seconds(60)), for: .seconds(5)) {
            _, _ in
            var timing = HTTPTiming()
            timing.total = 12.5
            let begun = (status: 200, timing: timing)
            return Reply(outcome: .failure(HTTPFailure(.closed, "closed after 10 bytes", begun: begun)))
        }
        let first = try #require(feed.latencies.first)
        #expect(first.status == 200 && first.ms == 12.5)
        #expect(feed.errors.first?.code == .closed)
        #expect(feed.lines.compactMap(\.seq).count == feed.lines.count - 3)
    }

    @Test func noFailureEndsThePoller() async throws {
        let codes: [Failure.Code] = [
            .dns, .connect, .tls, .timeout, .reset, .redirect, .tooLarge, .encoding, .protocol, .closed, .internal,
        ]
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(900)) { number, _ in
            number < codes.count ? .failure(codes[number], "it was \(codes[number].rawValue)") : .answer()
        }
        feed.expectWellFormed()
        #expect(feed.errors.map(\.code) == codes)
        #expect(feed.errors.map(\.message) == codes.map { "it was \($0.rawValue)" })
        #expect(feed.data.count > 500)
    }

    @Test(arguments: [199, 200, 201, 203, 205, 206, 226, 299, 300])
    func anyStatusFrom200To299IsASuccess(status: Int) async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(3)) { _, _ in .answer(status) }
        #expect(feed.errors.isEmpty == (200...299).contains(status) && feed.data.isEmpty == !feed.errors.isEmpty)
    }

    // MARK: Revalidation

    @Test(arguments: [true, false])
    func anAnswerThatHasNotChangedIsALatencyAndNoEvent(hasTag: Bool) async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(28)) { number, request in
            let headers = HTTPAnswerHeaders(
                etag: hasTag ? "\"v\(number / 10)\"" : nil, lastModified: date, contentType: "application/json")
            let condition = hasTag ? "If-None-Match: \"v\(number / 10)\"" : "If-Modified-Since: \(date)"
            return request.headers == [condition] ? .answer(304, "", headers: headers) : .answer(headers: headers)
        }
        feed.expectWellFormed()
        #expect(feed.calls[0].headers.isEmpty)
        #expect(feed.calls.dropFirst().allSatisfy { $0.headers.count == 1 })
        #expect(feed.data.count == (hasTag ? 3 : 1))
        #expect(feed.latencies.count == feed.calls.count && feed.errors.isEmpty)
        #expect(feed.latencies.map(\.status).filter { $0 == 304 }.count == feed.calls.count - feed.data.count)
    }

    @Test func theValidatorsOfAnAnswerThatWasOfNoUseAreForgotten() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(8)) { number, _ in
            let headers = HTTPAnswerHeaders(etag: "\"\(number)\"", contentType: "application/json")
            return number == 1 ? .answer(200, "{", headers: headers) : .answer(headers: headers)
        }
        #expect(feed.calls.map(\.headers).prefix(4) == [[], ["If-None-Match: \"0\""], [], ["If-None-Match: \"2\""]])
        #expect(feed.errors.map(\.code) == [.notJSON])
    }

    @Test func a304ThatNobodyAskedForIsAnError() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(5)) { _, _ in .answer(304, "")
        }
        #expect(feed.errors.count == feed.calls.count && feed.errors.allSatisfy { $0.code == .status })
        #expect(feed.latencies.allSatisfy { $0.status == 304 })
        #expect(feed.errors[0].message.contains("304 (not modified)"))
    }
}
