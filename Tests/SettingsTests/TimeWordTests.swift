import Feed
import Reactor
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct TimeWordTests {
    /// 2026-11-22T08:25:34.5Z
    private static let now = Timestamp(microseconds: 1_795_335_934_500_000)

    private static func time(_ text: String, hoursAhead: Int = 0) throws -> String {
        let time = try TimeWord(text).time(now: now) { _ in hoursAhead * 3_600 }
        let quoted = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(time, to: &writer)
        }
        return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
    }

    @Test(arguments: [
        ("now", "2026-11-22T08:25:34.500000Z"), ("2026-11-22T08:00:00Z", "2026-11-22T08:00:00.000000Z"),
        ("2026-11-22 08:00:00.25+02:00", "2026-11-22T06:00:00.250000Z"), ("-1h", "2026-11-22T07:25:34.500000Z"),
        ("1h", "2026-11-22T07:25:34.500000Z"), ("-1.5s", "2026-11-22T08:25:33.000000Z"),
        ("7d", "2026-11-15T08:25:34.500000Z"), ("today", "2026-11-22T00:00:00.000000Z"),
        ("yesterday", "2026-11-21T00:00:00.000000Z"), ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
        ("2026-11-20 07:08", "2026-11-20T07:08:00.000000Z"), ("2026-11-20T07:08:09", "2026-11-20T07:08:09.000000Z"),
        ("2026-11-20 07:08:09.5", "2026-11-20T07:08:09.500000Z"), ("08:25", "2026-11-22T08:25:00.000000Z"),
        ("08:25:34.5", "2026-11-22T08:25:34.500000Z"),
        // Not in the time to come.
        ("08:26", "2026-11-21T08:26:00.000000Z"), ("00:00:00", "2026-11-22T00:00:00.000000Z"),
        ("today 08:26", "2026-11-22T08:26:00.000000Z"), ("yesterday 07:08:09", "2026-11-21T07:08:09.000000Z"),
        ("5m ago", "2026-11-22T08:20:34.500000Z"),
    ])
    func readsWhatPeopleSay(text: String, expected: String) throws { #expect(try Self.time(text) == expected) }

    @Test func whatHasNoOffsetIsHere() throws {
        #expect(try Self.time("2026-11-20 07:08", hoursAhead: 5) == "2026-11-20T02:08:00.000000Z")
        #expect(try Self.time("2026-11-20", hoursAhead: -5) == "2026-11-20T05:00:00.000000Z")
        #expect(try Self.time("2026-11-20T07:08:00Z", hoursAhead: 5) == "2026-11-20T07:08:00.000000Z")
        // Here it is tomorrow already, or yesterday still.
        #expect(try Self.time("today", hoursAhead: 16) == "2026-11-22T08:00:00.000000Z")
        #expect(try Self.time("today", hoursAhead: -9) == "2026-11-21T09:00:00.000000Z")
        #expect(try Self.time("00:10", hoursAhead: 16) == "2026-11-22T08:10:00.000000Z")
        #expect(try Self.time("00:30", hoursAhead: 16) == "2026-11-21T08:30:00.000000Z")
        #expect(try Self.time("yesterday 00:10", hoursAhead: 16) == "2026-11-21T08:10:00.000000Z")
    }

    @Test func beforeTheEpochDaysBeginAsWell() throws {
        let now = Timestamp(seconds: -1)
        #expect(try TimeWord("today").time(now: now) { _ in 0 } == Timestamp(seconds: -86_400))
        #expect(try TimeWord("-1h").time(now: Timestamp(microseconds: .min)) { _ in 0 }.microseconds == .min)
    }

    @Test(arguments: [
        "", "-", "10", "-10", "--1h", "1x", "tomorrow", "2026", "2026-13-01", "2026-11-31", "2026-11-22T", "08:",
        "2026-11-22T25:00", "-1h ", "101y", "-1h ago", "5 ago", " ago", "24:01",
        "8:00", "tomorrow 08:00", "today 8", "yesterday  08:00", "today 2026-11-22", "99999999999999999999h",
        "2026-11-22  08:00", "\u{1b}[2J",
    ])
    func refusesTheRest(text: String) {
        #expect(throws: UsageError.self) { try TimeWord(text) }
    }
}
