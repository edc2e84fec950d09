import Nats
import TestSupport
import Testing

@Suite(.limited) struct StreamCursorTests {
    private static func stream(last: UInt64, created: Int64 = 1) -> NatsStream {
        var stream = NatsStream()
        (stream.last, stream.created) = (last, created)
        return stream
    }

    private static func message(_ sequence: UInt64, number: UInt64) -> NatsDelivery {
        NatsDelivery(subject: "s.a", sequence: sequence, number: number, time: 0)
    }

    @Test func aConsumerBeginsAtATimeUntilAMessageIsTaken() {
        var cursor = StreamCursor(from: 5)
        #expect(cursor.begin(on: Self.stream(last: 9), from: 7) == .time(5))
        #expect(!cursor.isOther)
        #expect(cursor.isNext(Self.message(4, number: 1)) == true)
        // It was not taken, and the stream was made anew: nobody misses anything.
        #expect(cursor.begin(on: Self.stream(last: 9, created: 2), from: 7) == .time(5))
        #expect(!cursor.isOther)
        #expect(cursor.isNext(Self.message(4, number: 1)) == true)
        cursor.advance(past: Self.message(4, number: 1))
        #expect(cursor.begin(on: Self.stream(last: 9, created: 2), from: 7) == .sequence(5))
        #expect(!cursor.isOther)
        #expect(cursor.mayBeRepeated(Self.message(9, number: 1)) && !cursor.mayBeRepeated(Self.message(10, number: 2)))
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
        var cursor = StreamCursor(from: 5, after: (1, 2))
        #expect(cursor.begin(on: Self.stream(last: 9), from: 7) == .sequence(3))
        #expect(!cursor.isOther)
        for (sequence, number) in [(3, 1), (8, 2)] as [(UInt64, UInt64)] {
            #expect(cursor.isNext(Self.message(sequence, number: number)) == true)
            cursor.advance(past: Self.message(sequence, number: number))
        }
        #expect(cursor.isNext(Self.message(9, number: 4)) == false)
        #expect(cursor.begin(on: Self.stream(last: 9), from: 7) == .sequence(9))
        #expect(!cursor.isOther)
        // Also the first one may be missing, or one that was taken may come again.
        #expect(cursor.isNext(Self.message(10, number: 2)) == false)
        #expect(cursor.begin(on: Self.stream(last: 9), from: 7) == .sequence(9))
        #expect(!cursor.isOther)
        #expect(cursor.isNext(Self.message(8, number: 1)) == false)
    }

    /// Made anew, set back, and both.
    @Test(arguments: [(last: 90, created: 2), (7, 1), (3, 2), (0, 1)] as [(UInt64, Int64)])
    func anotherStreamIsReadFromATimeOn(last: UInt64, created: Int64) {
        var cursor = StreamCursor(from: 5, after: (1, 8))
        #expect(cursor.begin(on: Self.stream(last: last, created: created), from: 7) == .time(7))
        #expect(cursor.isOther)
        // Also when the first consumer breaks before it has delivered anything, and that is news once.
        #expect(cursor.begin(on: Self.stream(last: last, created: created), from: 9) == .time(7))
        #expect(!cursor.isOther)
        #expect(cursor.isNext(Self.message(1, number: 1)) == true)
        cursor.advance(past: Self.message(1, number: 1))
        #expect(cursor.begin(on: Self.stream(last: max(1, last), created: created), from: 9) == .sequence(2))
        #expect(!cursor.isOther)
    }

    @Test func anEmptiedStreamIsTheSame() {
        var cursor = StreamCursor(from: 5, after: (1, 9))
        #expect(cursor.begin(on: Self.stream(last: 9), from: 7) == .sequence(10))
        #expect(!cursor.isOther)
    }
}
