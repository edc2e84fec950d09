import Reactor
import Settings
import TestSupport
import Testing

@Suite(.limited) struct DurationTextTests {
    private static let all = Duration.zero...Duration.seconds(Int64.max / 1_000_000_000)

    @Test(arguments: [
        ("500ms", Duration.milliseconds(500)), ("10s", .seconds(10)), ("2m", .seconds(120)), ("1h", .seconds(3_600)),
        ("1.5s", .milliseconds(1_500)), ("7d", .seconds(604_800)), ("10", .seconds(10)), ("0.25", .milliseconds(250)),
        ("0", .zero), ("007s", .seconds(7)), ("1.50m", .seconds(90)), ("0.000000001s", .nanoseconds(1)),
        ("0.000001ms", .nanoseconds(1)), ("1.000000000000000000000s", .seconds(1)), ("0.0625d", .seconds(5_400)),
        ("9223372036s", .seconds(9_223_372_036)),
    ])
    func readsWhatPeopleWrite(_ text: String, _ expected: Duration) throws {
        #expect(try DurationText.parse(text, in: Self.all) == expected)
    }

    @Test(arguments: [
        "", "s", "ms", " 1s", "1 s", "1s ", "+1s", "-1s", "1,5s", ".5s", "1.s", "1.", "1..5", "1e3", "0x10", "1S",
        "10sec",
        "1m30s", "1us", "inf", "nan", "١s", "1\u{0}s", "s1",
    ])
    func refusesWhatIsNoDuration(_ text: String) {
        let message = message(text, Self.all)
        #expect(message?.contains("is not a duration; write 500ms, 10s, 2m, 1h, or bare seconds") == true, "\(text)")
    }

    @Test(arguments: [
        "9223372037s", "9223372036.9", "99999999999999999999999999999999h", "106752d", "1.0000000001s", "0.0000001ms",
        "0.1234567890123456789s", "9223372036854775807d", "9223372036854775808",
    ])
    func refusesWhatDoesNotFit(_ text: String) {
        #expect(message(text, Self.all)?.contains("is out of range") == true, "\(text)")
    }

    @Test func keepsToTheRangeOfTheOption() throws {
        let range = Duration.milliseconds(10)...Duration.seconds(90)
        #expect(try DurationText.parse("10ms", in: range) == .milliseconds(10))
        #expect(try DurationText.parse("1.5m", in: range) == .seconds(90))
        #expect(message("9.999ms", range) == "'9.999ms' is out of range; write 10ms to 90s")
        #expect(message("91", range) == "'91' is out of range; write 10ms to 90s")
    }

    @Test(arguments: [
        (Duration.seconds(120), "2m"), (.seconds(90), "90s"), (.seconds(86_400), "1d"), (.milliseconds(500), "500ms"),
        (.milliseconds(1_500), "1.5s"), (.zero, "0s"), (.nanoseconds(1), "0.000000001s"),
        (.microseconds(1_500), "0.0015s"), (.seconds(7_200), "2h"),
    ])
    func writesTheShortestFormAndReadsItBack(_ duration: Duration, _ text: String) throws {
        #expect(DurationText.format(duration) == text)
        #expect(try DurationText.parse(text, in: Self.all) == duration)
    }

    /// Every prefix of an example is either refused or the number it shows; none traps.
    @Test(arguments: ["123.456ms", "99999999999999999999.5h", "1.999999999999999999d"])
    func survivesEveryPrefix(_ text: String) {
        var accepted = 0
        for length in 0...text.count where message(String(text.prefix(length)), Self.all) == nil { accepted += 1 }
        #expect(accepted > 0)
    }

    private func message(_ text: String, _ range: ClosedRange<Duration>) -> String? {
        do throws(UsageError) {
            _ = try DurationText.parse(text, in: range)
            return nil
        } catch { return error.message }
    }
}
