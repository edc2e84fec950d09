internal import Feed
internal import Glibc
internal import Reactor

/// A recording played back at maximum speed, file to file: only events, as `catwatch -` writes them; and the lines of
/// an agent that polls 20 sources twice in each window, a third each events, latencies and windows, besides its own.
enum Replay: Scenario {
    static let name = "replay"
    static let summary = "1 million recorded lines, --replay FILE --speed max, file to file"

    private static let lines = 1_000_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        try setting.withFolder { folder in
            try [("events of 500 series", Kind.events, 1.0), ("a polling agent's lines", .mixed, 1.0)].map {
                title, kind, limit in
                let input = "\(folder)/in.ndjson"
                try write(kind, to: input)
                var rate = Figure(
                    name: "\(title), a second of processor time", unit: "million lines/s", runs: [],
                    limit: .atLeast(limit))
                for _ in 0..<setting.runs {
                    let output = "\(folder)/out.ndjson"
                    unlink(output)
                    let run = try TimedRun(
                        setting.binary, ["--replay", input, "--speed", "max", "--output", "ndjson"], input: "/dev/null",
                        output: output)
                    let bytes = TextFile.bytes(output)
                    let count = bytes.withUnsafeBufferPointer { $0.reduce(into: 0) { $0 += $1 == 0x0A ? 1 : 0 } }
                    guard run.status == 0, count >= lines + 3 else {
                        throw BenchError("\(count) lines came out of \(lines), status \(run.status)")
                    }
                    rate.runs.append(1 / (run.processorTime / .seconds(1)))
                }
                return rate
            }
        }
    }

    private enum Kind { case events, mixed }

    private static func write(_ kind: Kind, to path: String) throws {
        var text = """
            {"type":"hello","time":"2026-01-01T00:00:00.000000Z","format":1,"run":"bench","filtered":false,"interval_s":10,\
            "history_s":120,"first_seq":1,"next_seq":1,"host":{"name":"bench"},"app":{"name":"catwatch"}}

            """
        text.reserveCapacity(lines * 230)
        let start = Timestamp(seconds: 1_767_225_600)
        for number in 1...lines {
            text += "{\"seq\":\(number),\"time\":\(quoted(start + .milliseconds(number))),"
            text +=
                kind == .events ? event(number, "stdin", "stdin/City \(number &* 7_919 % 500)") : mixed(number, start)
        }
        try TextFile.write(text, to: path)
    }

    private static func quoted(_ time: Timestamp) -> String {
        let bytes = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(time, to: &writer)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func event(_ number: Int, _ source: String, _ series: String) -> String {
        "\"type\":\"stdin\",\"source\":\"\(source)\",\"series\":\"\(series)\",\"value\":\(number % 500),"
            + "\"data\":{\"id\":\(number),\"aqi\":\(number % 500),\"pm25\":0.5,\"note\":\"xxxxxxxxxxxxxxxxxxxxxxxxxx\"}}\n"
    }

    /// The lines of one window and those after it, repeated.
    private static func mixed(_ number: Int, _ start: Timestamp) -> String {
        let place = number % 123
        switch place {
        case 0:
            return
                "\"type\":\"memory\",\"source\":\"catwatch\",\"rss_bytes\":\(number),\"peak_bytes\":20000000,\"private_bytes\":5000000}\n"
        case 1:
            return
                "\"type\":\"agent\",\"source\":\"catwatch\",\"events\":\(number),\"readers\":2,\"gaps\":0,\"stalled\":0,\"late\":0,"
                + "\"future\":0,\"series\":41,\"refused_series\":0,\"loop_lag_ms\":0.3,\"cpu_ms\":41,\"outputs\":[{\"output\":\"stdout\","
                + "\"state\":\"ok\",\"behind\":0}]}\n"
        case 2..<43:
            let source = place == 2 ? "catwatch" : "s\(place / 2 % 20)"
            let series = place == 2 ? "memory:catwatch" : place % 2 == 0 ? source : "latency:" + source
            return
                "\"type\":\"window\",\"source\":\"\(source)\",\"series\":\"\(series)\",\"start\":\(quoted(start)),\"seconds\":10,"
                + "\"last\":\(number % 500).5,\"last_seq\":\(number - 1),\"count\":2,\"min\":\(number % 90),\"max\":\(number % 500).5,"
                + "\"mean\":98.125,\"band\":\"long\",\"trend\":\"improving\"}\n"
        default:
            let source = "s\(place / 2 % 20)"
            if place % 2 == 0 { return event(number, source, source) }
            return
                "\"type\":\"latency\",\"source\":\"\(source)\",\"endpoint\":\"GET http://127.0.0.1:80/\(source)\",\"status\":200,"
                + "\"ms\":\(number % 90).5,\"dns_ms\":0,\"connect_ms\":0.1,\"tls_ms\":0,\"wait_ms\":0.3,\"receive_ms\":0.01,"
                + "\"bytes\":130,\"reused\":true,\"late_ms\":0.1}\n"
        }
    }
}
