import Feed
import Journal
import Outputs
import TestSupport
import Testing

@Suite(.limited) struct ReaderRequestTests {
    private static func parse(_ text: String) throws(Failure) -> ReaderRequest {
        try ReaderRequest.parse(Array(text.utf8)[...])
    }

    private static func terms(
        _ start: ReaderRequest.Start, types: [String]? = nil, sources: [String]? = nil
    ) -> ReaderRequest {
        var terms = ReaderRequest.Terms()
        terms.start = start
        if types != nil || sources != nil { terms.filter = LineFilter(types: types, sources: sources) }
        return .terms(terms)
    }

    private static func times(_ from: String?, _ until: String?) -> ReaderRequest {
        var terms = ReaderRequest.Terms()
        let (from, until) = (
            from.flatMap { RFC3339.parse(Array($0.utf8)[...]) }, until.flatMap { RFC3339.parse(Array($0.utf8)[...]) }
        )
        (terms.start, terms.until) = (.time(from), until)
        terms.filter = LineFilter(types: nil, sources: nil, from: from, until: until)
        return .terms(terms)
    }

    private static func columns(_ series: String, _ source: String, width seconds: Int64) -> ReaderRequest {
        guard case .terms(var terms) = times("2026-11-22T08:30:00Z", "2026-11-22T08:40:00Z"), let until = terms.until,
            case .time(let from?) = terms.start
        else { return .forget(agent: "") }
        terms.filter = LineFilter(types: nil, sources: [source], from: from, until: until)
        terms.columns = ColumnQuery(
            of: series, source: source, width: seconds * 1_000_000, from: from, until: until)
        return .terms(terms)
    }

    /// A request for columns of ten minutes with these members.
    private static func asked(_ members: String) -> String {
        #"{"from":"2026-11-22T08:30:00Z","until":"2026-11-22T08:40:00Z"\#(members)}"#
    }

    static let good: [(String, ReaderRequest)] = [
        (asked(#","sources":["s"],"series":"s/é","width":1"#), columns("s/é", "s", width: 1)),
        (
            asked(#","sources":["s"],"series":"latency:s","width":31622400"#),
            columns("latency:s", "s", width: 31_622_400)
        ),
        (
            asked(#","sources":["s"],"series":"\#(String(repeating: "x", count: 2_048))","width":60"#),
            columns(String(repeating: "x", count: 2_048), "s", width: 60)
        ),
        (#"{"since":0}"#, terms(.after(0, run: nil))),
        (#"{"since":9223372036854775807}"#, terms(.after(.max, run: nil))),
        (#"{"since":41,"run":"ab12"}"#, terms(.after(41, run: "ab12"))),
        (#" { "run" : "ab12" , "since" : 41 } "#, terms(.after(41, run: "ab12"))),
        (#"{"since":41,"replay":true}"#, terms(.after(41, run: nil))),
        (#"{"replay":false}"#, terms(.newest)),
        (#"{"replay":true}"#, terms(.oldest)),
        (#"{"types":["latency"],"sources":["fact"]}"#, terms(.oldest, types: ["latency"], sources: ["fact"])),
        (#"{"types":[]}"#, terms(.oldest, types: [])),
        (#"{"sources":["a","b"],"since":7}"#, terms(.after(7, run: nil), sources: ["a", "b"])),
        (#"{"types":["gr\u00fcn\n"]}"#, terms(.oldest, types: ["grün\n"])),
        (#"{"s\u0069nce":3}"#, terms(.after(3, run: nil))),
        (#"{"from":"2026-11-22T08:30:00Z"}"#, times("2026-11-22T08:30:00Z", nil)),
        (#"{"until":"2026-11-22T08:30:00.5+01:00"}"#, times(nil, "2026-11-22T07:30:00.5Z")),
        (
            #"{"until":"9999-12-31T23:59:59-23:59","from":"0000-01-01T00:00:00+23:59"}"#,
            times("0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")
        ),
        (#"{"poll":"fact"}"#, .poll(source: "fact", PollRequest())),
        (#"{"poll":"f","n":500}"#, .poll(source: "f", PollRequest(n: 500))),
        (#"{"n":0,"poll":"f"}"#, .poll(source: "f", PollRequest(n: 0))),
        (#"{"poll":"f","n":100000}"#, .poll(source: "f", PollRequest(n: 100_000))),
        (#"{"poll":""}"#, .poll(source: "", PollRequest())),
        (#"{"forget":"web1"}"#, .forget(agent: "web1")),
    ]

    /// What is kept of a reader has a bound in bytes, however the names are spelled.
    @Test func namesOfAFilterHaveABoundTogether() throws {
        func request(_ count: Int, _ name: String) -> String {
            let names = Array(repeating: "\"\(name)\"", count: count).joined(separator: ",")
            return "{\"types\":[\(names)],\"sources\":[\(names)]}"
        }
        // 16 bytes each with their quotes, 2 × 512 of them.
        guard case .terms(let terms) = try Self.parse(request(512, "abcdefghijklmn")) else {
            Issue.record("no terms")
            return
        }
        #expect(terms.filter?.bytes == 16_384)
        for text in [request(513, "abcdefghijklmn"), request(200, #"\u0001\u0001\u0001\u0001\u0001\u0001\u0001"#)] {
            #expect(throws: Failure(.protocol, "\"types\" and \"sources\" have more than 16384 bytes together")) {
                try Self.parse(text)
            }
        }
    }

    @Test(arguments: [
        (#"{"replay":true}"#, 0), (#"{"types":["a"]}"#, 0), (#"{"since":3}"#, 3), (#"{"replay":false}"#, nil),
        (#"{"from":"2026-11-22T08:30:00Z"}"#, nil), (#"{"until":"2026-11-22T08:30:00Z"}"#, nil),
        (#"{"since":3,"kept":true}"#, 0), (#"{"replay":false,"kept":true}"#, 0), (#"{"kept":false}"#, nil),
    ])
    func whoAsksForEverythingGetsKeptLines(text: String, after: Int?) throws {
        guard case .terms(let terms) = try Self.parse(text) else {
            Issue.record("no terms")
            return
        }
        #expect(terms.keptAfter == after)
    }

    @Test(arguments: good)
    func reads(text: String, request: ReaderRequest) throws {
        #expect(try Self.parse(text) == request)
    }

    @Test(
        arguments: [
            ("", "JSON"), ("{", "JSON"), ("nonsense", "JSON"), ("[]", "object"), ("7", "object"), ("{}", "nothing"),
            (#"{"since":-1}"#, "since"), (#"{"since":1.5}"#, "since"), (#"{"since":null}"#, "since"),
            (#"{"since":9223372036854775808}"#, "since"), (#"{"since":"1"}"#, "since"), (#"{"run":"r"}"#, "since"),
            (#"{"since":1,"run":7}"#, "run"), (#"{"since":1,"run":"a b"}"#, "letters"),
            (#"{"since":1,"run":""}"#, "letters"), (#"{"since":1,"replay":false}"#, "exclude"),
            (#"{"replay":0}"#, "replay"), (#"{"kept":1}"#, "kept"), (#"{"types":"fact"}"#, "types"),
            (#"{"types":[1]}"#, "types"),
            (#"{"sources":{}}"#, "sources"), (#"{"sources":[null]}"#, "sources"), (#"{"poll":1}"#, "poll"),
            (#"{"poll":"a","since":1}"#, "alone"), (#"{"poll":"a","poll":"b"}"#, "alone"), (#"{"sinse":1}"#, "sinse"),
            (#"{"since":1}{"since":2}"#, "JSON"), (#"{"n":5}"#, "without"), (#"{"n":5,"since":1}"#, "without"),
            (#"{"poll":"a","n":1,"since":1}"#, "alone"), (#"{"poll":"a","n":1,"n":1}"#, "alone"),
            (#"{"poll":"a","n":100001}"#, "100000"), (#"{"poll":"a","n":-1}"#, "digits"),
            (#"{"poll":"a","n":1e2}"#, "digits"),
            (#"{"poll":"a","n":5.0}"#, "digits"), (#"{"poll":"a","n":"5"}"#, "digits"),
            (#"{"poll":"a","n":null}"#, "digits"),
            (#"{"poll":"a","n":99999999999999999999}"#, "digits"),
            (#"{"poll":"\#(String(repeating: "a", count: 257))"}"#, "256"),
            (#"{"types":[\#(Array(repeating: "\"a\"", count: 1_001).joined(separator: ","))]}"#, "1000"),
            (String(repeating: "[", count: 5_000), "JSON"), (#"{"from":1}"#, "from"), (#"{"from":"-1h"}"#, "2026"),
            (#"{"until":""}"#, "2026"), (#"{"until":null}"#, "until"), (#"{"from":"2026-02-30T00:00:00Z"}"#, "2026"),
            (#"{"from":"2026-11-22T08:30:00Z","since":1}"#, "neither"),
            (#"{"until":"2026-11-22T08:30:00Z","kept":true}"#, "neither"),
            (#"{"until":"2026-11-22T08:30:00Z","replay":false}"#, "neither"),
            (#"{"from":"2026-11-22T08:30:00Z","until":"2026-11-22T08:30:00Z"}"#, "later"),
            (#"{"from":"\#(String(repeating: "2", count: 300))"}"#, "256"),
            (asked(#","sources":["s"],"series":"s","width":0"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":31622401"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":9223372036854775807"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":-1"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":1.5"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":1e400"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":"60""#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s","width":null"#), "from 1 to 31622400"),
            (asked(#","sources":["s"],"series":"s""#), "go together"),
            (asked(#","sources":["s"],"width":60"#), "go together"),
            (asked(#","series":"s","width":60"#), "go together"),
            (asked(#","sources":["s","t"],"series":"s","width":60"#), "go together"),
            (asked(#","sources":[],"series":"s","width":60"#), "go together"),
            (asked(#","sources":["s"],"types":["s"],"series":"s","width":60"#), "go together"),
            (asked(#","sources":["s"],"series":7,"width":60"#), "series"),
            (asked(#","sources":["s"],"series":"latency:t","width":60"#), "not of the source"),
            (asked(#","sources":["s"],"series":"s","width":60,"since":1"#), "neither"),
            (asked(#","sources":["s"],"series":"s","width":60,"kept":true"#), "neither"),
            (asked(#","sources":["s"],"series":"\#(String(repeating: "x", count: 2_049))","width":60"#), "2048"),
            (#"{"sources":["s"],"series":"s","width":60}"#, "go together"),
            (#"{"since":1,"sources":["s"],"series":"s","width":60}"#, "go together"),
            (#"{"from":"2026-11-22T08:30:00Z","sources":["s"],"series":"s","width":60}"#, "go together"),
            (#"{"until":"2026-11-22T08:30:00Z","sources":["s"],"series":"s","width":60}"#, "go together"),
            (
                #"{"from":"2026-11-22T08:30:00Z","until":"2026-11-22T09:03:20.000001Z","sources":["s"],"series":"s","width":1}"#,
                "2000 columns"
            ),
            (
                #"{"from":"0000-01-01T00:00:00Z","until":"9999-12-31T23:59:59Z","sources":["s"],"series":"s","width":31622400}"#,
                "2000 columns"
            ),
            (#"{"poll":"s","width":1}"#, "alone"), (#"{"forget":"s","width":1}"#, "alone"),
        ])
    func refuses(text: String, word: String) throws {
        let failure = try #require(throws: Failure.self) { try Self.parse(text) }
        #expect(failure.code == .protocol && failure.message.contains(word), "\(failure.message)")
        #expect(failure.message.utf8.count < 500)
    }

    /// As many as there may be, however they lie.
    @Test func takesTwoThousandColumns() throws {
        for (from, until) in [
            ("08:30:00", "09:03:20"), ("08:30:00.5", "09:03:19.5"), ("08:30:00.999999", "09:03:19.000001"),
        ] {
            let request =
                #"{"from":"2026-11-22T\#(from)Z","until":"2026-11-22T\#(until)Z","sources":["s"],"series":"s","width":1}"#
            _ = try Self.parse(request)
        }
    }

    @Test(arguments: good)
    func refusesEveryPrefix(text: String, request: ReaderRequest) {
        let bytes = Array(text.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: "}")) ?? 0
        for length in 0...end {
            #expect(throws: Failure.self, "\(length) bytes of \(text)") {
                try ReaderRequest.parse(bytes[..<length])
            }
        }
    }

    @Test func survivesEveryMutation() {
        let seed: UInt64 = 81
        var random = SeededGenerator(seed: seed)
        let pieces = ["\"", "{", "}", "[", "]", ",", ":", "\\", "0", "-", "1e9", "null", "\u{0}", "since", "poll"]
        var good = 0
        var bad = 0
        for round in 0..<LongRun.rounds(short: 3_000, long: 300_000) {
            var bytes = Array(Self.good[round % Self.good.count].0.utf8)
            for _ in 0...random.next() % 3 {
                let place = Int(random.next() % UInt64(max(1, bytes.count)))
                switch random.next() % 4 {
                case 0 where !bytes.isEmpty: bytes.remove(at: place)
                case 1 where !bytes.isEmpty: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 2: bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
                default: bytes.swapAt(place, Int(random.next() % UInt64(max(1, bytes.count))))
                }
            }
            do throws(Failure) {
                _ = try ReaderRequest.parse(bytes[...])
                good += 1
            } catch {
                bad += 1
                #expect(error.code == .protocol && error.message.utf8.count < 1_000, "seed \(seed), round \(round)")
            }
        }
        #expect(good > 50 && bad > 500, "seed \(seed): \(good) good, \(bad) bad")
    }
}
