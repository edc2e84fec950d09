import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

/// An agent that says whatever it likes, as far as format 1 lets it; `catwatch-bench run hostile-view` has random ones.
@Suite(.limited) struct HostileFeedTests {
    /// Shows all screens after these lines, with keys that change what is shown, on small and large screens.
    private static func look(_ lines: [String], _ sequence: Int = 0) throws {
        let clocks = [Int64(1_772_366_400), 253_402_300_799, -62_167_219_200]
        let sizes = LongRun.isOn ? [(80, 24), (200, 60), (20, 5), (3, 2), (1, 1)] : [(80, 24), (20, 5), (1, 1)]
        for (index, (columns, rows)) in sizes.enumerated() {
            // Each clock at one size, and each size by one clock.
            for local in index == 0 || LongRun.isOn ? clocks : [clocks[index % 3]] {
                var view = TerminalView(size: ScreenSize(columns: columns, rows: rows), connection: .open)
                var now = Timestamp(seconds: local)
                for line in lines {
                    view.apply(try LineDecoder.decode(Bytes(Array(line.utf8))), now: now)
                    now = now + .milliseconds(300)
                }
                for keys in [
                    "1", "2", "L", "y", "y", "L", "[[[", "]]]]", "++++", "-------", "3", "4", "f", "1", "s", "s", "s",
                    "/a",
                ] {
                    for key in keys.unicodeScalars { _ = view.handle(.character(key), now: now) }
                    let grid = view.frame(now: now)
                    #expect(grid.cells.count == columns * rows)
                    if keys == "2" {
                        for key in [Key.left, .left, .left, .end, .home] {
                            _ = view.handle(key, now: now)
                            _ = view.frame(now: now)
                        }
                        _ = view.handle(.escape, now: now)
                        _ = view.handle(.character("2"), now: now)
                    }
                }
            }
        }
    }

    private static func hello(interval: String, history: String, time: String = "9999-12-31T23:59:59.999999Z") -> String
    {
        #"{"type":"hello","time":"\#(time)","format":1,"run":"r","interval_s":\#(interval),"history_s":\#(history),"first_seq":1,"next_seq":1}"#
    }

    private static func data(_ seq: Int, _ time: String, _ value: String) -> String {
        #"{"seq":\#(seq),"time":"\#(time)","type":"a","source":"a","series":"a","value":\#(value)}"#
    }

    @Test(arguments: ["0.000001", "10", "31556952000"], ["0.000001", "31556952000"])
    func windowsOfAnyWidthAtAnyTime(_ interval: String, _ history: String) throws {
        let last = "9999-12-31T23:59:59.999999Z"
        for (first, second) in [
            (last, "9999-12-31T23:59:59.999998Z"), ("0000-01-01T00:00:00Z", last), (last, last),
            ("9999-12-31T23:59:39.999999Z", last),
        ] {
            let window =
                #"{"seq":3,"time":"\#(last)","type":"window","source":"a","series":"a","start":"\#(last)","seconds":\#(interval),"#
                + #""last":1,"last_seq":1,"count":9223372036854775807,"min":-1e308,"max":1e308,"mean":0,"band":"x","trend":"y"}"#
            try Self.look([
                Self.hello(interval: interval, history: history), Self.data(1, first, "1"),
                Self.data(2, second, "-1e308"),
                window, Self.data(4, second, "1e308"),
            ])
        }
    }

    @Test func countsThatCannotBeAddedUp() throws {
        let most = "9223372036854775807"
        try Self.look([
            Self.hello(interval: "10", history: "120", time: "2026-03-01T12:00:00Z"),
            Self.data(1, "2026-03-01T12:00:00Z", "1"),
            #"{"type":"stats","time":"2026-03-01T12:00:00Z","as_of":1,"endpoints":[{"endpoint":"GET x","source":"a","count":\#(most),"errors":\#(most),"last_ms":1e308,"mean_ms":1e308,"min_ms":1e308}],"sources":[],"more_endpoints":\#(most),"more_sources":\#(most)}"#,
            #"{"seq":2,"time":"2026-03-01T12:00:01Z","type":"latency","source":"a","endpoint":"GET x","status":\#(most),"ms":1,"bytes":\#(most)}"#,
            #"{"seq":3,"time":"2026-03-01T12:00:01Z","type":"error","source":"a","code":"dns","message":"","endpoint":"GET x","attempt":\#(most),"retry_in_ms":31556952000000}"#,
            #"{"seq":4,"time":"2026-03-01T12:00:01Z","type":"agent","source":"c","events":\#(most),"readers":\#(most),"gaps":\#(most),"late":\#(most),"series":\#(most),"refused_series":\#(most),"refused_endpoints":\#(most),"loop_lag_ms":1e308,"cpu_ms":1e308,"outputs":[{"output":"o","state":"ok","behind":\#(most)}]}"#,
            #"{"seq":5,"time":"2026-03-01T12:00:01Z","type":"memory","source":"c","rss_bytes":\#(most),"peak_bytes":\#(most),"private_bytes":\#(most)}"#,
            #"{"seq":6,"time":"2026-03-01T12:00:01Z","type":"progress","source":"a","done":\#(most),"total":\#(most),"page":\#(most)}"#,
            #"{"type":"gap","time":"2026-03-01T12:00:01Z","from":1,"to":\#(most)}"#,
        ])
    }
}
