import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Documents of many values, through the poller.
@Suite(.limited) struct HTTPPollerItemsTests {
    private static func source(
        key: Extraction.Key?, every: Duration = .seconds(1)
    ) throws -> HTTPSource {
        let extraction = Extraction(
            items: try JSONPointer("/data"), key: key, value: .at(try JSONPointer("/aqi")), text: .nowhere)
        return HTTPSource(
            SourceDescription(name: "aqi"), request: HTTPRequest(url: "http://cats.test/aqi?key=SECRET"), every: every,
            extraction: extraction)
    }

    private static func city() throws -> Extraction.Key { .at(try JSONPointer("/city")) }

    @Test func everyItemIsAnEventOfItsOwnSeries() async throws {
        let feed = try await SimulatedFeed.run(try Self.source(key: try Self.city()), for: .seconds(5)) { number, _ in
            .answer(200, #"{"data":[{"city":"Delhi","aqi":\#(number)},{"city":"Köln","aqi":12.5}]}"#)
        }
        feed.expectWellFormed()
        #expect(feed.errors.isEmpty && feed.latencies.count == feed.calls.count && feed.calls.count >= 5)
        #expect(feed.data.map(\.series) == feed.calls.flatMap { _ in ["aqi/Delhi", "aqi/Köln"] })
        #expect(feed.data.map(\.value) == feed.calls.indices.flatMap { [Double($0), 12.5] })
        #expect(feed.data[1].data.map { String(decoding: $0, as: UTF8.self) } == #"{"city":"Köln","aqi":12.5}"#)
    }

    @Test func theMembersOfAnObjectAreNamedByTheirKeys() async throws {
        let feed = try await SimulatedFeed.run(try Self.source(key: nil), for: .milliseconds(400)) { _, _ in
            .answer(200, #"{"data":{"Delhi":{"aqi":3},"K\u00f6ln":{"aqi":4}}}"#)
        }
        #expect(feed.data.map(\.series) == ["aqi/Delhi", "aqi/Köln"] && feed.data.map(\.value) == [3, 4])
    }

    @Test func aFaultThatLastsIsToldOnceAMinuteAndSlowsNothingDown() async throws {
        let feed = try await SimulatedFeed.run(try Self.source(key: try Self.city()), for: .seconds(150)) { number, _ in
            .answer(200, #"{"data":[{"city":"Delhi","aqi":1},{"aqi":\#(number)},{"city":"x"}]}"#)
        }
        feed.expectWellFormed()
        let gaps = zip(feed.begun.dropFirst(2), feed.begun.dropFirst(3)).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 == .seconds(1) })
        #expect(feed.errors.count == 3 && feed.state == .ok)
        for failure in feed.errors {
            #expect(failure.code == .pointer && failure.endpoint == "GET http://cats.test/aqi")
            #expect(failure.attempt == nil && failure.retryIn == nil)
            #expect(failure.message.contains("2 of 3 items"))
        }
        #expect(feed.data.count == 2 * feed.calls.count)
        for text in feed.texts { #expect(!text.contains("SECRET")) }
    }

    @Test func aDocumentOfWhichNothingCanBeTakenIsAFailure() async throws {
        let feed = try await SimulatedFeed.run(try Self.source(key: try Self.city()), for: .seconds(20)) { _, _ in
            .answer(200, #"{"data":[{"aqi":1},{"aqi":2}]}"#)
        }
        #expect(feed.data.isEmpty && feed.state == .failing)
        #expect(feed.errors.map(\.attempt) == (1...feed.calls.count).map { $0 })
        #expect(feed.errors.allSatisfy { $0.endpoint == "GET http://cats.test/aqi" })
    }

    @Test(arguments: ["[]", "{}"])
    func noItemsAreNoFailure(items: String) async throws {
        let feed = try await SimulatedFeed.run(try Self.source(key: nil), for: .seconds(5)) { number, _ in
            number == 0 ? .answer(500, "") : .answer(200, #"{"data":\#(items)}"#)
        }
        feed.expectWellFormed()
        #expect(feed.data.isEmpty && feed.errors.count == 1 && feed.state == .ok)
        #expect(feed.latencies.count == feed.calls.count && feed.calls.count > 2)
    }

    @Test func nothingIsToldOfWhatHasNotChanged() async throws {
        let source = try Self.source(key: try Self.city())
        let feed = try await SimulatedFeed.run(source, for: .seconds(5)) { number, request in
            guard number > 0 else {
                return .answer(
                    200, #"{"data":[{"city":"a","aqi":1},{"city":"b","aqi":2}]}"#,
                    headers: HTTPAnswerHeaders(etag: "\"x\""))
            }
            return .answer(request.headers == ["If-None-Match: \"x\""] ? 304 : 500, "")
        }
        #expect(feed.data.count == 2 && feed.errors.isEmpty && feed.state == .ok)
        #expect(feed.latencies.count == feed.calls.count && feed.calls.count >= 5)
    }

    @Test func manySourcesBeginSpread() async throws {
        let begun = try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(after: .milliseconds(1)) }
            let polls = PollRequests(on: loop)
            let start = loop.clock.now
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    let source = HTTPSource(
                        SourceDescription(name: "source-\(number)", type: "fact"),
                        request: HTTPRequest(url: "http://cats.test/\(number)"), every: .seconds(10))
                    let poller = HTTPPoller(
                        source, store: store, polls: polls, transport: transport, on: loop, wall: wall,
                        spread: PollSchedule.spread(of: 100))
                    group.addTask { try? await poller.run() }
                }
                try? await loop.sleep(for: .seconds(1))
                #expect(await store.counts.data == 100)
                #expect(await polls.isOnTime)
                group.cancelAll()
            }
            return await transport.calls.map { start.duration(to: $0.began) }
        }
        #expect(begun.count == 100 && begun.allSatisfy { $0 < .milliseconds(198) })
        #expect(Set(begun.map { Int($0 / .milliseconds(20)) }).count >= 9)
    }
}
