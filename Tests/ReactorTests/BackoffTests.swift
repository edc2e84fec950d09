import Reactor
import TestSupport
import Testing

@Suite(.limited) struct BackoffTests {
    @Test func theBoundGrowsAndNeverPassesTheCap() {
        let backoff = Backoff(base: .milliseconds(250), cap: .seconds(100_000), random: SeededGenerator(seed: 20))
        for attempt in 1...100 {
            #expect(backoff.bound(after: attempt) <= backoff.bound(after: attempt + 1))
            #expect(backoff.bound(after: attempt) <= .seconds(100_000))
        }
        #expect(backoff.bound(after: 100) == .seconds(100_000))
    }

    @Test func theJitterIsFullAndWithinItsBound() {
        var backoff = Backoff(random: SeededGenerator(seed: 21))
        for attempt in 1...8 {
            var quarters = [0, 0, 0, 0]
            for _ in 0..<1_000 {
                backoff.succeed()
                for _ in 1..<attempt { _ = backoff.fail() }
                let pause = backoff.fail()
                let bound = backoff.bound(after: attempt)
                #expect(pause >= .zero && pause <= bound, "attempt \(attempt)")
                quarters[min(3, Int(pause / bound * 4))] += 1
            }
            for count in quarters { #expect(count > 180, "attempt \(attempt): \(quarters)") }
        }
    }

    @Test func aSuccessStartsOver() {
        var backoff = Backoff(random: SeededGenerator(seed: 22))
        for attempt in 1...10 {
            _ = backoff.fail()
            #expect(backoff.attempt == attempt)
        }
        backoff.succeed()
        #expect(backoff.attempt == 0)
        #expect(backoff.fail() <= .seconds(1))
        #expect(backoff.attempt == 1)
    }
}
