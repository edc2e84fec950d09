import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct RetriesTests {
    /// The longest of many pauses after many failures.
    private func longest(
        every: Duration?, most: Duration? = nil, _ code: Failure.Code = .connect, retryAfter: Duration? = nil
    ) -> Duration {
        var longest = Duration.zero
        var retries = Retries(every: every, most: most, random: SeededGenerator(seed: 31))
        for _ in 0..<2_000 {
            longest = max(longest, retries.fail(code, at: LoopInstant(nanoseconds: 0), retryAfter: retryAfter))
        }
        return longest
    }

    @Test(
        arguments: [
            (.milliseconds(10), nil, 2_000), (.milliseconds(500), nil, 2_000), (.milliseconds(501), nil, 2_004),
            (.seconds(2), nil, 8_000), (.milliseconds(7_499), nil, 29_996), (.milliseconds(7_501), nil, 30_000),
            (.seconds(600), nil, 30_000), (nil, nil, 30_000), (.seconds(2), .seconds(120), 120_000),
            (.seconds(2), .milliseconds(100), 100), (nil, .milliseconds(700), 700),
        ] as [(Duration?, Duration?, Int)])
    func thePauseGrowsToFourPeriodsOrToWhatIsSaid(every: Duration?, most: Duration?, milliseconds: Int) {
        let longest = longest(every: every, most: most)
        let bound = Duration.milliseconds(milliseconds)
        #expect(longest <= bound && longest > bound * 0.99)
    }

    @Test(
        arguments: [
            (.milliseconds(500), .milliseconds(200), 30), (.seconds(600), .milliseconds(200), 600),
            (.seconds(2), .seconds(600), 600), (nil, .seconds(120), 120), (.seconds(60), .seconds(45), 60),
        ] as [(Duration?, Duration, Int)])
    func whoAsksForFewerRequestsIsLetAloneForLonger(every: Duration?, most: Duration, seconds: Int) {
        let longest = longest(every: every, most: most, .rateLimited)
        #expect(longest <= .seconds(seconds) && longest > .seconds(seconds) * 0.99)
    }

    @Test func whatTheUpstreamAsksForIsTheLeast() {
        #expect(longest(every: .seconds(1), most: .milliseconds(200), retryAfter: .seconds(90)) == .seconds(90))
        #expect(longest(every: .seconds(1), retryAfter: .milliseconds(1)) > .seconds(3))
        var retries = Retries(every: nil, most: nil, random: SeededGenerator(seed: 32))
        func at(_ seconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }
        _ = retries.fail(.status, at: at(5), retryAfter: .seconds(10))
        #expect(retries.allowed(at: at(7)) == at(15) && retries.allowed(at: at(16)) == at(16))
    }

    @Test func anOutageIsFromItsFirstFailureToTheAnswer() {
        var retries = Retries(every: nil, most: nil, random: SeededGenerator(seed: 33))
        func at(_ seconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }
        #expect(retries.answer(at: at(1)) == nil)
        for second in [2, 3, 5] as [Int64] { _ = retries.fail(.connect, at: at(second), retryAfter: nil) }
        // A WebSocket's pauses begin anew later than that.
        #expect(retries.answer(at: at(9)) == Recovery(down: .seconds(7), attempts: 3) && retries.attempt == 3)
        #expect(retries.answer(at: at(10)) == nil)
        _ = retries.fail(.closed, at: at(11), retryAfter: nil)
        #expect(retries.attempt == 4)
        retries.startOver()
        #expect(retries.attempt == 0)
        #expect(retries.answer(at: at(12)) == Recovery(down: .seconds(1), attempts: 1))
    }
}
