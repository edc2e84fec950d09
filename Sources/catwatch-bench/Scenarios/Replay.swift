internal import Feed
internal import Glibc
internal import Reactor

/// A recording played back at the greatest speed, file to file: events alone, as `catwatch -` writes them, and the mix that an
/// agent that polls has, of whose lines half are no events.
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
            let quoted = LineWriter.bytes(atMost: 29) { writer in
                var time = TimestampText()
                time.write(start + .milliseconds(number), to: &writer)
            }
            text += "{\"seq\":\(number),\"time\":\(String(decoding: quoted, as: UTF8.self)),"
            switch kind {
            case .mixed where number % 2 == 0:
                text +=
                    "\"type\":\"latency\",\"source\":\"s\(number / 2 % 20)\",\"endpoint\":\"GET http://127.0.0.1:80/\(number / 2 % 20)\","
                text +=
                    "\"status\":200,\"ms\":\(number % 90).5,\"dns_ms\":0,\"connect_ms\":0.1,\"tls_ms\":0,\"wait_ms\":0.3,"
                text += "\"receive_ms\":0.01,\"bytes\":130,\"reused\":true,\"late_ms\":0.1}\n"
            default:
                let series = kind == .mixed ? "s\(number / 2 % 20)" : "stdin/City \(number &* 7_919 % 500)"
                text +=
                    "\"type\":\"stdin\",\"source\":\"\(kind == .mixed ? series : "stdin")\",\"series\":\"\(series)\",\"value\":\(number % 500),"
                text +=
                    "\"data\":{\"id\":\(number),\"aqi\":\(number % 500),\"pm25\":0.5,\"note\":\"xxxxxxxxxxxxxxxxxxxxxxxxxx\"}}\n"
            }
        }
        try TextFile.write(text, to: path)
    }
}
