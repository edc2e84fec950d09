import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct FaultTallyTests {
    private static func at(_ seconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }
    private static func fault(_ message: String) -> Failure { Failure(.notJSON, message) }

    @Test func tellsTheFirstAtOnceAndTheOthersTogetherASecondLater() {
        var tally = FaultTally { $0 == 1 ? "one: " : "\($0): " }
        #expect(tally.due == nil && tally.report(at: Self.at(5)) == nil)
        tally.add(Self.fault("a"))
        #expect(tally.report(at: Self.at(5))?.message == "one: a")
        tally.add(Self.fault("b"))
        tally.add(Self.fault("c"))
        #expect(tally.due == Self.at(6))
        #expect(tally.report(at: Self.at(5)) == nil)
        #expect(tally.report(at: Self.at(6))?.message == "2: b")
        #expect(tally.due == nil)
    }

    @Test func theLastReportIsNeverTooEarly() {
        var tally = FaultTally { "\($0): " }
        tally.add(Self.fault("a"))
        _ = tally.report(at: Self.at(5))
        #expect(tally.report(at: Self.at(5), isLast: true) == nil)
        tally.add(Self.fault("b"))
        #expect(tally.report(at: Self.at(5), isLast: true)?.message == "1: b")
    }
}
