import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct RecordedTimeTests {
    private static let start = Timestamp(seconds: 1_780_000_000)

    @Test func goesOnWithTheLines() {
        var time = RecordedTime()
        #expect(time.advance(to: Self.start).now == RecordedTime.start)
        #expect(time.advance(to: Self.start + .seconds(5)).now == RecordedTime.start.advanced(by: .seconds(5)))
        // An event may be older.
        #expect(time.advance(to: Self.start + .seconds(1)).now == RecordedTime.start.advanced(by: .seconds(5)))
        let set = time.advance(to: Self.start + .seconds(3_606), ClockChange(step: .seconds(3_600), slept: .zero))
        #expect(set.now == RecordedTime.start.advanced(by: .seconds(6)))
        #expect(set.wall == Self.start + .seconds(3_606))
        time.beginRun()
        #expect(time.advance(to: Self.start + .seconds(90_000)).now == set.now, "nobody was there")
    }

    @Test func endsBeforeAClockDoes() {
        var time = RecordedTime()
        _ = time.advance(to: Timestamp(microseconds: .min))
        let end = time.advance(to: Timestamp(microseconds: .max))
        #expect(end.now < LoopInstant(nanoseconds: .max / 2))
        #expect(
            time.advance(to: Timestamp(microseconds: .max), ClockChange(step: .seconds(1), slept: .zero)).now == end.now
        )
    }
}
