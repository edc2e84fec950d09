import Reactor
import TestSupport
import Testing

@Suite(.limited) struct TimestampTests {
    private static let first = Timestamp(microseconds: .min)
    private static let last = Timestamp(microseconds: .max)

    @Test func isCountedWith() {
        let time = Timestamp(seconds: 10)
        #expect(time + .milliseconds(1) == Timestamp(microseconds: 10_001_000))
        #expect(time - .seconds(11) == Timestamp(seconds: -1))
        #expect(time - Timestamp(seconds: 7) == .seconds(3) && Timestamp(seconds: 7) - time == .seconds(-3))
    }

    /// Times and durations come from other agents, which may say anything.
    @Test func staysWithinWhatItCanSay() {
        #expect(Self.last + .microseconds(1) == Self.last && Self.first + .microseconds(-1) == Self.first)
        #expect(Self.first - .microseconds(1) == Self.first && Self.last - .microseconds(-1) == Self.last)
        #expect(
            Self.last - Self.first == .microseconds(Int64.max) && Self.first - Self.last == .microseconds(Int64.min))
        #expect(Int.max.addingSaturated(1) == .max && Int.min.addingSaturated(-1) == .min)
        #expect(Int.min.subtractingSaturated(1) == .min && Int.max.subtractingSaturated(-1) == .max)
        #expect(3.addingSaturated(-5) == -2 && 3.subtractingSaturated(5) == -2)
    }
}
