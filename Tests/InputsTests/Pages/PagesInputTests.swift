import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What comes of listings whose servers behave, in virtual time.
@Suite(.limited) struct PagesInputTests {
    @Test func followsTheLinksOnceAndReturns() async throws {
        let source = try SimulatedListing.source("http://cats.test/breeds?token=x#top") { $0.batch = 30 }
        let feed = try await SimulatedListing.run(source) { number, _ in
            let next = number < 3 ? #""http://cats.test/breeds?page=\#(number + 2)""# : "null"
            return SimulatedListing.page(number * 30..<min(98, number * 30 + 30), total: 98, next: next)
        }
        feed.expectWellFormed()
        #expect(feed.returned == .zero && feed.errors.isEmpty && feed.state == .ok)
        #expect(feed.keys == (0..<98).map { "\($0)" })
        #expect(
            feed.urls == [
                "http://cats.test/breeds?token=x&limit=30", "http://cats.test/breeds?page=2&limit=30",
                "http://cats.test/breeds?page=3&limit=30", "http://cats.test/breeds?page=4&limit=30",
            ])
        #expect(feed.progress.map(\.done) == [30, 60, 90, 98] && feed.progress.map(\.page) == [1, 2, 3, 4])
        #expect(feed.progress.allSatisfy { $0.total == 98 })
        #expect(feed.latencies.count == 4)
        #expect(feed.latencies.allSatisfy { $0.endpoint == "GET http://cats.test/breeds" && $0.late == 0 })
    }

    @Test func aLinkIsOfThePlaceThatARedirectLedTo() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source()) { number, _ in
            let links = [#""https://cats.test/v2/breeds?page=2""#, #""three""#, "null"]
            var reply = SimulatedListing.page([number], total: 3, next: links[number])
            // Only the first one is asked for by its old name.
            if number == 0, case .success(var answer) = reply.outcome {
                answer.location = "https://cats.test/v2/breeds"
                reply.outcome = .success(answer)
            }
            return reply
        }
        #expect(feed.errors.isEmpty)
        #expect(feed.urls.dropFirst() == ["https://cats.test/v2/breeds?page=2", "https://cats.test/v2/three"])
    }

    @Test func aBatchSizeThatALinkHasStays() async throws {
        let source = try SimulatedListing.source { $0.batch = 30 }
        let feed = try await SimulatedListing.run(source) { number, _ in
            SimulatedListing.page([number], next: number == 0 ? #""?limit=7&page=2""# : #""""#)
        }
        #expect(feed.urls == ["http://cats.test/breeds?limit=30", "http://cats.test/breeds?limit=7&page=2"])
    }

    @Test(arguments: [0, 1])
    func countsUntilAnEmptyPage(first: Int) async throws {
        let source = try SimulatedListing.source(
            "http://cats.test/breeds?p=9&q=%20", paging: .counted(parameter: "p", first: first)
        ) {
            $0.batch = 2
            $0.batchParameter = "size"
            $0.total = nil
        }
        let feed = try await SimulatedListing.run(source) { number, _ in
            SimulatedListing.page(number < 3 ? number * 2..<number * 2 + 2 : 0..<0)
        }
        #expect(feed.urls == (first..<first + 4).map { "http://cats.test/breeds?p=\($0)&q=%20&size=2" })
        #expect(feed.keys == (0..<6).map { "\($0)" } && feed.errors.isEmpty && feed.returned != nil)
        #expect(feed.progress.map(\.done) == [2, 4, 6, 6] && feed.progress.allSatisfy { $0.total == nil })
    }

    @Test func anEmptyListingIsWell() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source()) { _, _ in
            SimulatedListing.page([], total: 0)
        }
        #expect(feed.calls.count == 1 && feed.data.isEmpty && feed.errors.isEmpty)
        #expect(feed.state == .ok && feed.progress == [Progress(done: 0, total: 0, page: 1)])
    }

    @Test func waitsBetweenTheEndOfAPageAndTheNext() async throws {
        let source = try SimulatedListing.source { $0.pause = .seconds(3) }
        let feed = try await SimulatedListing.run(source) { number, _ in
            var reply = SimulatedListing.page([number], next: number < 2 ? "\"?\(number)\"" : "null")
            reply.after = .milliseconds(500)
            return reply
        }
        #expect(feed.begun == [.zero, .milliseconds(3_500), .seconds(7)])
        #expect(feed.returned == .milliseconds(7_500) && feed.latencies.allSatisfy { $0.late == 0 })
    }

    @Test func runsAgainOnItsTicksAndSkipsThoseThatItIsTooSlowFor() async throws {
        for (slow, gap) in [(false, Duration.seconds(10)), (true, .seconds(20))] {
            let source = try SimulatedListing.source(every: .seconds(10))
            let feed = try await SimulatedListing.run(source, for: .seconds(200)) { number, _ in
                var reply = SimulatedListing.page(
                    [number % 2], total: 2, next: number % 2 == 0 ? #""?page=2""# : "null")
                reply.after = slow ? .seconds(7) : .milliseconds(1)
                return reply
            }
            feed.expectWellFormed()
            let runs = stride(from: 0, to: feed.begun.count, by: 2).map { feed.begun[$0] }
            #expect(runs.first == .zero && feed.returned == nil && feed.errors.isEmpty)
            let gaps = zip(runs.dropFirst(2), runs.dropFirst(3)).map { $1 - $0 }
            #expect(gaps.count >= 6 && gaps.allSatisfy { $0 == gap })
            #expect(feed.urls.enumerated().allSatisfy { $1.hasSuffix("page=2") == ($0 % 2 == 1) })
        }
    }

    @Test(arguments: [nil, Duration.seconds(4)])
    func aListingThatComesAgainWaitsForTheOutputsUntilItsNextRun(every: Duration?) async throws {
        let source = try SimulatedListing.source(every: every)
        let (during, after) = try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            var limits = FeedState.Limits()
            limits.logCapacity = 64 << 10
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity, limits: limits)
            let polls = PollRequests(on: loop)
            let transport = ScriptedTransport(on: loop) { number, _ in
                SimulatedListing.page(0..<1_200, next: number % 10 < 9 ? "\"?\(number)\"" : "null")
            }
            // An output that must get everything, and reads nothing.
            let (reader, _) = await store.open("file", holdsInputs: true)
            let input = PagesInput(source, store: store, polls: polls, transport: transport, on: loop, wall: wall)
            return await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                try? await loop.sleep(for: .seconds(1))
                let soon = await transport.calls.count
                #expect(soon < 3)
                try? await loop.sleep(for: .seconds(6))
                let during = await transport.calls.count
                #expect(await polls.isOnTime)
                try? await loop.sleep(for: every == nil ? .seconds(30) : .seconds(8))
                #expect(await polls.isOnTime)
                await store.close(reader)
                try? await loop.sleep(for: .seconds(5))
                group.cancelAll()
                return (during, await transport.calls.count)
            }
        }
        #expect(every == nil ? after == 10 : after > 10)
        #expect(every == nil ? during < 3 : during >= 10)
    }

    @Test func aReaderMayAskForARun() async throws {
        let source = try SimulatedListing.source(every: .seconds(3_600))
        let feed = try await SimulatedFeed.run(for: .seconds(60)) { _, _ in
            SimulatedListing.page([1], total: 1)
        } input: { place in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let input = PagesInput(
                    source, store: place.store, polls: place.polls, transport: place.transport, on: place.loop,
                    wall: place.wall)
                group.addTask { try await input.run() }
                try await place.loop.sleep(for: .seconds(20))
                for _ in 0..<5 { #expect(await place.polls.requestPoll(of: "breeds") == nil) }
                try await place.loop.sleep(for: .milliseconds(200))
                #expect(await place.polls.requestPoll(of: "breeds") == nil)
                try await group.next()
            }
        }
        // Those of the first moment are one request more, and so is the late one.
        #expect(feed.begun == [.zero, .seconds(20), .seconds(21), .seconds(22)])
        #expect(feed.latencies.allSatisfy { $0.late == 0 })
    }
}
