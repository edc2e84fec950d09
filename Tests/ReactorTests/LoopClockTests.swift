import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LoopInstantTests {
    @Test func saturatesInBothDirections() {
        let zero = LoopInstant(nanoseconds: 0)
        let last = LoopInstant(nanoseconds: .max)
        let first = LoopInstant(nanoseconds: .min)
        #expect(last.advanced(by: .nanoseconds(1)) == last)
        #expect(first.advanced(by: .nanoseconds(-1)) == first)
        #expect(zero.advanced(by: .seconds(Int64.max)) == last)
        #expect(zero.advanced(by: .seconds(Int64.min)) == first)
    }

    @Test func measuresAnyTwoInstants() {
        let last = LoopInstant(nanoseconds: .max)
        let first = LoopInstant(nanoseconds: .min)
        #expect(first.duration(to: last) == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
        #expect(last.duration(to: first) == .nanoseconds(Int64.min) - .nanoseconds(Int64.max))
    }
}

@Suite(.limited) struct SteppedWallClockTests {
    @Test func followsItsLoopAndTakesStepsInBothDirections() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_000))
            try await loop.sleep(for: .seconds(2))
            #expect(wall.now == Timestamp(seconds: 1_002))
            wall.step(by: .seconds(-500))
            #expect(wall.now == Timestamp(seconds: 502))
        }
    }
}
