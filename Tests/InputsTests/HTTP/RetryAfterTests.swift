import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
    static let now = Timestamp(seconds: 784_111_777)

    @Test(
        arguments: [
            ("0", 0), ("1", 1), ("007", 7), ("120", 120), ("299", 299), ("300", 300), ("301", 300), ("86401", 300),
            ("9223372036854775807", 300), ("9223372036854775808", 300), ("99999999999999999999999999", 300),
        ] as [(String, Int)])
    func secondsAreTakenUpToFiveMinutes(text: String, seconds: Int) {
        #expect(RetryAfter.delay(text, now: Self.now) == .seconds(seconds))
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun Nov  6 08:50:37 1994", 60), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:36 GMT", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:54:37 GMT", 300), ("Sun, 06 Nov 1994 08:54:38 GMT", 300),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ] as [(String, Int)])
    func allThreeFormsOfDatesAreTakenUpToFiveMinutes(text: String, seconds: Int) {
        #expect(RetryAfter.delay(text, now: Self.now) == .seconds(seconds))
    }

    @Test func partsOfASecondCount() {
        let now = Self.now + .milliseconds(250)
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 08:49:39 GMT", now: now) == .milliseconds(1_750))
    }

    @Test(arguments: [
        "", " ", "-1", "-120", "+5", "1.5", "1e3", "0x10", "5 s", "120, 60", "soon", "Sunday", "null", "NaN", "１２",
        "Wed, 99 Nov 2030 08:49:37 GMT", "Wed, 06 Nov 2030 25:49:37 GMT", "\0", "10\0", "<b>",
        "Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:50:37 GMT",
        "1 Jan 400000 00:00:00 GMT", "Sun, 06 Nov 2147483647 08:49:37 GMT", "1 Jan 9223372036854775807 00:00:00 GMT",
    ])
    func whatIsNeitherSaysNothing(text: String) {
        #expect(RetryAfter.delay(text, now: Self.now) == nil)
    }

    @Test func nothingThatIsSentCanMakeUsWaitLongerOrHarmUs() {
        var random = SeededGenerator(seed: 31)
        let pieces = [
            "Sun", ",", " ", "06", "Nov", "1994", "08:49:37", "GMT", "-", "94", "99999999999", "+0200", "\u{e9}", "\n",
            ":",
            "300", "Dec", "9999", "23:59:60", "31", "PST", "\0",
        ]
        for _ in 0..<LongRun.rounds(short: 5_000, long: 1_000_000) {
            let text = (0..<Int.random(in: 0...12, using: &random))
                .compactMap { _ in pieces.randomElement(using: &random) }.joined()
            for now in [Self.now, Timestamp(seconds: 0), Timestamp(seconds: 253_402_300_799)] {
                guard let delay = RetryAfter.delay(text, now: now) else { continue }
                #expect(delay >= .zero && delay <= RetryAfter.longest, "\(text.debugDescription), seed \(random.seed)")
            }
        }
    }

    @Test(arguments: ["Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994"])
    func noPrefixOfADateDoesHarm(text: String) {
        for length in 0...text.count {
            let delay = RetryAfter.delay(String(text.prefix(length)), now: Self.now)
            #expect(delay == nil || (delay ?? .zero) <= RetryAfter.longest)
        }
    }
}
