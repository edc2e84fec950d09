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
