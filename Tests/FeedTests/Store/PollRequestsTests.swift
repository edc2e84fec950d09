import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct PollRequestsTests {
    @Test func nothingIsExpectedOfAReleasedSource() async throws {
        try await withLoop(virtual: true) { loop in
            let polls = PollRequests(on: loop)
            let soon = loop.clock.now.advanced(by: .seconds(5))
            await polls.allowPolling(of: "fact") { _ in nil }
            await polls.expect("fact", by: soon)
            #expect(await polls.requestPoll(of: "fact") == nil)
            await polls.release("fact")
            // What ran for it was told to end, and says something all the same.
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { await polls.expect("fact", by: soon) }
            }
            try await loop.sleep(for: .seconds(60))
            #expect(await polls.isOnTime)
            #expect(await polls.requestPoll(of: "fact")?.reason.hasPrefix("there is no source") == true)

            await polls.expect("fact", by: soon)
            #expect(await polls.isOnTime == false)
            await polls.expect("fact", by: nil)
            #expect(await polls.isOnTime)
        }
    }

    @Test func aPollCarriesItsParametersAndMayBeRefused() async throws {
        try await withLoop(virtual: true) { loop in
            let polls = PollRequests(on: loop)
            await polls.allowPolling(of: "fibonacci") { request in
                (request.n ?? 0) > 500 ? PollRefusal("too far") : nil
            }
            await polls.allowPolling(of: "fact") { $0.refusal(by: "fact") }
            #expect(await polls.requestPoll(of: "fibonacci", PollRequest(n: 500)) == nil)
            #expect(await polls.requestPoll(of: "fibonacci", PollRequest(n: 501)) == PollRefusal("too far"))
            #expect(await polls.requestPoll(of: "fact") == nil)
            #expect(await polls.requestPoll(of: "fact", PollRequest(n: 1))?.reason.hasSuffix("\"n\"") == true)
        }
    }

    @Test func aForwarderAnswersForEverySource() async throws {
        try await withLoop(virtual: true) { loop in
            let polls = PollRequests(on: loop)
            await polls.allowPolling(of: "fact") { _ in PollRefusal("not this one") }
            await polls.forwardPolls { source, request in PollRefusal("\(source) \(request.n ?? 0)") }
            #expect(await polls.requestPoll(of: "fact", PollRequest(n: 3)) == PollRefusal("fact 3"))
            #expect(await polls.requestPoll(of: "other") == PollRefusal("other 0"))
        }
    }
}
