import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct OutageTests {
    private static func at(_ second: Int64) -> LoopInstant { LoopInstant(nanoseconds: second * 1_000_000_000) }

    @Test func aCauseIsSaidOnceAndAgainBehindAnother() {
        var outage = Outage<String>()
        #expect(["a", "a", "b", "a"].map { outage.fail(by: $0, at: Self.at(1)) } == [true, false, true, true])
        #expect(outage.end(at: Self.at(5)) == Recovery(down: .seconds(4), attempts: 4))
        #expect(outage.since == nil && outage.end(at: Self.at(6)) == nil)
        let isNews = outage.fail(by: "a", at: Self.at(7))
        #expect(isNews && outage.since == Self.at(7) && outage.attempts == 1)
    }

    @Test func ofWhatNothingWasSaidTheEndIsNotSaidEither() {
        var outage = Outage<String>()
        let said = [false, false].map { _ in outage.fail(by: "a", at: Self.at(1), from: 3) }
        #expect(said == [false, false] && outage.since == Self.at(1))
        #expect(outage.end(at: Self.at(2)) == nil && outage.since == nil)
    }

    @Test func whatMayBeOverByItselfIsNoNewsBehindAnother() {
        var outage = Outage<String>()
        let first = outage.fail(by: "a", at: Self.at(1), from: 2, isBrief: true)
        let second = outage.fail(by: "a", at: Self.at(1), from: 2, isBrief: true)
        let other = outage.fail(by: "b", at: Self.at(1), from: 2, isBrief: true)
        #expect(!first && second && !other)
        let lasting = outage.fail(by: "c", at: Self.at(1))
        #expect(lasting)
    }
}
