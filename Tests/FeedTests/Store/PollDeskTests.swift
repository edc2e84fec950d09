import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct PollDeskTests {
    @Test func nothingIsExpectedOfAReleasedSource() async throws {
        try await withLoop(virtual: true) { loop in
            let desk = PollDesk(on: loop)
            let soon = loop.clock.now.advanced(by: .seconds(5))
            await desk.allowPolling(of: "fact") { _ in nil }
            await desk.expect("fact", by: soon)
            #expect(await desk.requestPoll(of: "fact") == nil)
            await desk.release("fact")
            // What ran for it was told to end, and says something all the same.
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { await desk.expect("fact", by: soon) }
            }
            try await loop.sleep(for: .seconds(60))
            #expect(await desk.isOnTime)
            #expect(await desk.requestPoll(of: "fact")?.reason.hasPrefix("there is no source") == true)

            await desk.expect("fact", by: soon)
            #expect(await desk.isOnTime == false)
            await desk.expect("fact", by: nil)
            #expect(await desk.isOnTime)
        }
    }

    @Test func aPollCarriesItsParametersAndMayBeRefused() async throws {
        try await withLoop(virtual: true) { loop in
            let desk = PollDesk(on: loop)
            await desk.allowPolling(of: "fibonacci") { request in
                (request.n ?? 0) > 500 ? PollRefusal("too far") : nil
            }
            await desk.allowPolling(of: "fact") { $0.refusal(by: "fact") }
            #expect(await desk.requestPoll(of: "fibonacci", PollRequest(n: 500)) == nil)
            #expect(await desk.requestPoll(of: "fibonacci", PollRequest(n: 501)) == PollRefusal("too far"))
            #expect(await desk.requestPoll(of: "fact") == nil)
            #expect(await desk.requestPoll(of: "fact", PollRequest(n: 1))?.reason.hasSuffix("\"n\"") == true)
        }
    }

    @Test func aForwarderAnswersForEverySource() async throws {
        try await withLoop(virtual: true) { loop in
            let desk = PollDesk(on: loop)
            await desk.allowPolling(of: "fact") { _ in PollRefusal("not this one") }
            await desk.forwardPolls { source, request in PollRefusal("\(source) \(request.n ?? 0)") }
            #expect(await desk.requestPoll(of: "fact", PollRequest(n: 3)) == PollRefusal("fact 3"))
            #expect(await desk.requestPoll(of: "other") == PollRefusal("other 0"))
        }
    }
}
