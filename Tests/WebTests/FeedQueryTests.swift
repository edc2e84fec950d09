import Feed
import Outputs
import TestSupport
import Testing
import Web

@Suite(.limited) struct FeedQueryTests {
    static let good: [(String, String)] = [
        ("", "{}"), ("since=0", #"{"since":0}"#), ("since=41&run=ab-12", #"{"since":41,"run":"ab-12"}"#),
        ("run=a&since=9223372036854775807", #"{"since":9223372036854775807,"run":"a"}"#),
        ("replay=false", #"{"replay":false}"#), ("replay=true&types=a", #"{"replay":true,"types":["a"]}"#),
        ("kept=1&since=3", #"{"kept":true,"since":3}"#), ("kept=false", #"{"kept":false}"#),
        ("types=latency&sources=fact,dog", #"{"types":["latency"],"sources":["fact","dog"]}"#),
        ("types=latency%2Cerror", #"{"types":["latency","error"]}"#), ("&types=a&&", #"{"types":["a"]}"#),
        ("from=2026-11-22T08:30:00Z&types=a", #"{"from":"2026-11-22T08:30:00Z","types":["a"]}"#),
        ("until=2026-11-22T08:30:00+01:00", #"{"until":"2026-11-22T07:30:00Z"}"#),
        ("until=2026-11-22T08:30:00%2B01:00", #"{"until":"2026-11-22T07:30:00Z"}"#),
        (
            "from=2026-11-22T08:30:00Z&until=2026-11-22T08:40:00Z&sources=s&series=s/a,b%20c&width=60",
            #"{"from":"2026-11-22T08:30:00Z","until":"2026-11-22T08:40:00Z","sources":["s"],"series":"s/a,b c","width":60}"#
        ),
        ("%74ypes=gr%C3%BCn+%22", #"{"types":["grün \""]}"#), ("sources=a%3Db=c", #"{"sources":["a=b=c"]}"#),
    ]

    @Test(arguments: good) func asksForTheSameAsARequest(query: String, request: String) throws {
        let terms = try FeedQuery.terms(query[...])
        guard request != "{}" else {
            #expect(terms == ReaderRequest.Terms())
            return
        }
        #expect(try ReaderRequest.parse(Array(request.utf8)[...]) == .terms(terms))
    }

    @Test(
        arguments: [
            ("since", "whole number"), ("since=", "whole number"), ("since=-1", "whole number"),
            ("since=+1", "whole number"), ("since=1.5", "whole number"), ("since=1e3", "whole number"),
            ("since=9223372036854775808", "whole number"), ("since=%31%", "hexadecimal"), ("since=1%2", "hexadecimal"),
            ("since=%3g", "hexadecimal"), ("types=%ff", "UTF-8"), ("types=%-1", "hexadecimal"), ("run=a", "without"),
            ("since=1&run=a%20b", "letters"), ("since=1&run=", "letters"), ("since=1&since=1", "twice"),
            ("since=1&s%69nce=2", "twice"), ("replay=2", "true or false"), ("kept=yes", "true or false"),
            ("replay", "true or false"),
            ("since=1&replay=false", "exclude"), ("types=", "names"), ("sources=a,,b", "names"), ("types=a,", "names"),
            ("sinse=1", "sinse"), ("poll=fact", "poll"), ("=", "no \"\""), ("%1B%5B31m=1", "no \""),
            ("width=", "seconds from 1 to 31622400"), ("width=-1", "seconds from 1 to 31622400"),
            ("width=1e400", "seconds from 1 to 31622400"),
            ("width=x", "seconds from 1 to 31622400"), ("width=99999999999999999999", "seconds from 1 to 31622400"),
            ("width=1.5", "seconds from 1 to 31622400"),
            ("width=60", "go together"), ("series=s", "go together"),
            ("since=1&width=60&series=s&sources=s", "go together"),
            (
                "from=2026-11-22T08:30:00Z&until=2026-11-22T08:40:00Z&sources=s&series=s&width=0", "from 1 to 31622400"
            ),
            (
                "from=2026-11-22T08:30:00Z&until=2026-11-23T08:40:00Z&sources=s&series=s&width=1", "2000 columns"
            ),
            ("from=", "2026"), ("until=yesterday", "2026"), ("from=2026-11-22T08:30:00Z&since=1", "neither"),
            ("until=\(String(repeating: "9", count: 5_000))", "2026"), ("from=%1B", "2026"),
            ("types=\(String(repeating: "a", count: 257))", "256"),
            ("types=\(Array(repeating: "a", count: 1_001).joined(separator: ","))", "1000"),
            (
                "types=\(Array(repeating: String(repeating: "a", count: 250), count: 66).joined(separator: ","))",
                "16384"
            ),
        ])
    func refuses(query: String, word: String) throws {
        let failure = try #require(throws: Failure.self) { try FeedQuery.terms(query[...]) }
        #expect(failure.code == .protocol && failure.message.contains(word), "\(failure.message)")
        #expect(failure.message.utf8.count < 200 && !failure.message.contains("\u{1B}"))
    }

    @Test func takesAsManyNamesAndAsLongOnesAsARequest() throws {
        _ = try FeedQuery.terms("types=\(Array(repeating: "a", count: 1_000).joined(separator: ","))")
        _ = try FeedQuery.terms("types=\(String(repeating: "a", count: 256))")
    }

    @Test(
        arguments: [
            ("ab12-41", ReaderRequest.Start.after(41, run: "ab12")), ("a-b-0", .after(0, run: "a-b")), ("", nil),
            ("ab12", nil), ("-5", nil), ("ab12-", nil), ("ab12-+5", nil), ("ab12--5", .after(5, run: "ab12-")),
            ("a b-5", nil), ("a-5 ", nil), ("a-9223372036854775808", nil), ("a-5, b-6", nil), ("ü-5", nil),
            ("\(String(repeating: "a", count: 64))-5", .after(5, run: String(repeating: "a", count: 64))),
            ("\(String(repeating: "a", count: 65))-5", nil),
        ])
    func readsTheIDOfAnEvent(id: String, start: ReaderRequest.Start?) {
        #expect(FeedQuery.start(behind: id) == start)
    }
}
