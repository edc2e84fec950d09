import Nats
import TestSupport
import Testing

@Suite(.limited) struct StreamCursorTests {
    private static func stream(last: UInt64, created: Int64 = 1) -> NatsStream {
        var stream = NatsStream()
        (stream.last, stream.created) = (last, created)
        return stream
    }

    private static func message(_ sequence: UInt64, number: UInt64, time: Int64 = 0) -> NatsDelivery {
        NatsDelivery(subject: "s.a", sequence: sequence, number: number, time: time)
    }

    @Test func aConsumerBeginsWhereItIsToldUntilAMessageIsTaken() {
        var cursor = StreamCursor(from: .time(5))
        #expect(cursor.begin(on: Self.stream(last: 9)) == .time(5))
        #expect(cursor.see(Self.message(4, number: 1)) == .next)
        // It was not taken.
        #expect(cursor.begin(on: Self.stream(last: 9)) == .time(5))
        #expect(cursor.see(Self.message(4, number: 1)) == .next)
        cursor.advance(past: Self.message(4, number: 1))
        #expect(cursor.begin(on: Self.stream(last: 9)) == .sequence(4))
    }

    @Test(
        arguments: [
            (1_794_000_000_012_345_000, 1_794_000_000_000_000_000),
            (1_794_000_000_000_000_000, 1_794_000_000_000_000_000),
            (999_999_999, 1_000_000_000), (-5, 1_000_000_000), (.max, 9_223_372_036_000_000_000),
        ] as [(Int64, Int64)])
    func aTimeToBeginAtIsAWholeSecond(_ time: Int64, _ second: Int64) {
        #expect(NatsStart.second(of: time) == second)
    }

    @Test func aHoleInAConsumersNumbersIsSeenAndOneInTheStreamsIsNone() {
        var cursor = StreamCursor(from: .sequence(1))
        _ = cursor.begin(on: Self.stream(last: 9))
        #expect(cursor.see(Self.message(3, number: 1)) == .next)
        cursor.advance(past: Self.message(3, number: 1))
        #expect(cursor.see(Self.message(8, number: 2)) == .next)
        cursor.advance(past: Self.message(8, number: 2))
        #expect(cursor.see(Self.message(9, number: 4)) == .hole)
        #expect(cursor.begin(on: Self.stream(last: 9)) == .sequence(8))
        // Also the first one may be missing.
        #expect(cursor.see(Self.message(10, number: 2)) == .hole)
    }

    @Test func whatComesAgainIsKnown() {
        var cursor = StreamCursor(from: .sequence(1))
        _ = cursor.begin(on: Self.stream(last: 9))
        cursor.advance(past: Self.message(3, number: 1))
        #expect(cursor.see(Self.message(3, number: 1)) == .known)
        #expect(cursor.see(Self.message(4, number: 2)) == .next)
    }

    @Test(arguments: [(last: 3, created: 2), (3, 1), (90, 2)] as [(UInt64, Int64)])
    func anotherStreamIsReadFromTheTimeOfTheLastMessageOn(last: UInt64, created: Int64) {
        let minute: Int64 = 60_000_000_000
        var cursor = StreamCursor(from: .sequence(8))
        _ = cursor.begin(on: Self.stream(last: 9))
        cursor.advance(past: Self.message(8, number: 1, time: 10 * minute))
        // Also when the first consumer breaks before it has delivered anything.
        for _ in 0..<2 { #expect(cursor.begin(on: Self.stream(last: last, created: created)) == .time(8 * minute)) }
        // Its numbers have nothing to do with those before.
        #expect(cursor.see(Self.message(1, number: 1)) == .next)
        cursor.advance(past: Self.message(1, number: 1, time: 9 * minute))
        #expect(cursor.begin(on: Self.stream(last: last, created: created)) == .sequence(1))
    }

    @Test func anEmptiedStreamIsTheSame() {
        var cursor = StreamCursor(from: .sequence(1))
        _ = cursor.begin(on: Self.stream(last: 9))
        cursor.advance(past: Self.message(9, number: 1))
        #expect(cursor.begin(on: Self.stream(last: 9)) == .sequence(9))
    }
}
