internal import Feed
internal import Glibc
internal import Reactor

/// A file of NDJSON through catwatch and through jq, each into a file: processor time per line. jq selects two members
/// of each line; catwatch validates all of it, puts the value into its window, numbers and times the line.
enum StdinThroughput: Scenario {
    static let name = "stdin-throughput"
    static let summary = "1 million lines of 119 bytes and 500 series, stdin to stdout, CPU compared with jq"

    private static let lines = 1_000_000
    private static let series = 500
    private static let lineLength = 119

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard access("/usr/bin/jq", X_OK) == 0 else { return [.noPeer("ratio to jq")] }
        return try setting.withFolder { folder in
            let input = "\(folder)/in.ndjson"
            try writeInput(to: input)
            let arguments = ["-", "--output", "ndjson", "--key", "/city", "--value", "/aqi"]
            var ratio = Figure(name: "ratio to jq's processor time", unit: "", runs: [], limit: .atMost(0.125))
            var ours = Figure(name: "catwatch -", unit: "µs a line", runs: [])
            var theirs = Figure(name: "jq -c '{city,aqi}'", unit: "µs a line", runs: [])
            for _ in 0..<setting.runs {
                // New files: truncating an old one would count as the work of the program that opens it.
                let output = "\(folder)/out.ndjson"
                unlink(output)
                let jq = try TimedRun("/usr/bin/jq", ["-c", "{city,aqi}"], input: input, output: output)
                try check(jq, wrote: lines, to: output, end: "}\n")
                unlink(output)
                let run = try TimedRun(setting.binary, arguments, input: input, output: output)
                try check(run, wrote: lines, to: output, end: "\"reason\":\"end\"}\n")
                ratio.runs.append(run.processorTime / jq.processorTime)
                ours.runs.append(run.processorTime / .microseconds(lines))
                theirs.runs.append(jq.processorTime / .microseconds(lines))
            }
            return [ratio, ours, theirs]
        }
    }

    /// Writes a million lines of 119 bytes.
    static func writeInput(to path: String) throws {
        var random: UInt64 = 42
        var text = ""
        text.reserveCapacity(lines * lineLength)
        for number in 0..<lines {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let city = Int(random >> 33) % series
            let aqi = Int(random >> 40) % 500
            var line = "{\"id\":\(number),\"city\":\"City \(city)\",\"aqi\":\(aqi),\"pm25\":\(aqi / 3).\(city % 10),"
            line += "\"station\":{\"name\":\"S-\(city)\"},\"note\":\""
            line += String(repeating: "x", count: lineLength - 3 - line.utf8.count)
            text += line + "\"}\n"
        }
        try TextFile.write(text, to: path)
    }

    /// Checks that a program succeeded and wrote at least a line for each line of input.
    private static func check(_ run: TimedRun, wrote lines: Int, to path: String, end: String) throws {
        guard run.status == 0 else { throw BenchError("a program ended with \(run.status)") }
        let bytes = TextFile.bytes(path)
        let count = bytes.withUnsafeBufferPointer { $0.reduce(into: 0) { $0 += $1 == 0x0A ? 1 : 0 } }
        guard count >= lines, bytes.suffix(end.utf8.count).elementsEqual(end.utf8) else {
            throw BenchError("\(count) lines came out of \(lines)")
        }
    }
}
