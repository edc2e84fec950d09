internal import CatAPI
internal import Feed
internal import Glibc
internal import Reactor

/// A file whose lines are documents of a million items each: the lines that stdout and `--output-file` lose, and how
/// late the polls of another source are meanwhile.
enum LargeDocuments: Scenario {
    static let name = "large-documents"
    static let summary = "documents of 1 million items: lines lost by slow outputs, and lateness of polls beside them"
    static let defaultRuns = 3

    private static let items = 1_000_000
    private static let patience = Duration.seconds(300)
    /// A source that accepts longer lines than the default.
    private static let stdin = #"{"name":"stdin","kind":"stdin","items":"","max_line":"64MiB"}"#

    static func measure(_ setting: Setting) throws -> [Figure] {
        try setting.withFolder { folder in
            let input = "\(folder)/in.ndjson"
            let document = "[" + (0..<items).lazy.map(String.init).joined(separator: ",") + "]\n"
            try TextFile.write(document + document, to: input)
            try TextFile.write("{\"sources\":[\(stdin)]}", to: "\(folder)/one.json")
            var figures: [Figure] = []
            for (size, bytes) in [("1 MiB", 1 << 20), ("8 MiB", 8 << 20)] {
                var stdout = Figure(name: "lines lost by stdout, \(size) log", unit: "", runs: [], limit: .atMost(0))
                var file = Figure(name: "lines lost by the file, \(size) log", unit: "", runs: [], limit: .atMost(0))
                for _ in 0..<setting.runs {
                    let (ofStdout, ofFile) = try lost(reading: input, log: bytes, setting, folder)
                    stdout.runs.append(Double(ofStdout))
                    file.runs.append(Double(ofFile))
                }
                stdout.statistic = .most
                file.statistic = .most
                figures += [stdout, file]
            }
            var p99 = Figure(name: "late_ms of polls beside it, p99", unit: "ms", runs: [], limit: .atMost(20))
            var most = Figure(name: "late_ms of polls beside it, most", unit: "ms", runs: [], limit: .atMost(20))
            for _ in 0..<setting.runs {
                let late = try lateness(beside: input, setting, folder)
                p99.runs.append(late.percentile(99))
                most.runs.append(late.max() ?? 0)
            }
            return figures + [p99, most]
        }
    }

    /// Reads the file once, with a slow reader of stdout; returns the numbers of lines lost there and in the file.
    private static func lost(
        reading input: String, log: Int, _ setting: Setting, _ folder: String
    ) throws -> (stdout: Int, file: Int) {
        let file = "\(folder)/out.ndjson"
        unlink(file)
        let source = try Descriptor.open(input, flags: O_RDONLY)
        let catwatch = try ChildProcess(
            setting.binary,
            ["-c", "\(folder)/one.json", "--log-bytes", "\(log)", "-o", "ndjson", "--output-file", file],
            folder: folder, input: source.number)
        defer { catwatch.end() }
        var count = LineCount()
        var left = 200
        let end = catwatch.read(until: .now + patience) { bytes in
            count.add(bytes)
            // Slow at first, so that the log stays full for a while.
            if left > 0 { usleep(5_000) }
            left -= 1
            return false
        }
        guard end == .endOfOutput, count.events > 0 else { throw catwatch.failure("did not read it all") }
        var written = LineCount()
        written.add(TextFile.bytes(file)[...])
        return (2 * items - count.events, 2 * items - written.events)
    }

    /// Counts the data lines of the source `stdin`, by their type.
    private struct LineCount {
        private var splitter = LineSplitter()
        private(set) var events = 0

        mutating func add(_ bytes: Bytes) {
            splitter.push(bytes)
            while case .line(let line)? = splitter.next() {
                if String(decoding: line.prefix(100), as: UTF8.self).contains("\"type\":\"stdin\"") { events += 1 }
            }
        }
    }

    /// Polls another source every 10 ms while the file is read repeatedly; returns the polls' lateness in ms.
    private static func lateness(beside input: String, _ setting: Setting, _ folder: String) throws -> [Double] {
        let loop = try EventLoop()
        let thread = try LoopThread(name: "server")
        defer { thread.stop() }
        let server = try loop.run {
            try await loop.offload(to: thread.loop) { try CatAPIServer(loop: thread.loop, seed: 1) }
        }
        defer { try? loop.run { await server.stop() } }
        // Writes the same file again and again.
        let pipe = try Descriptor.pipe(nonblocking: false)
        let writer = try LoopThread(name: "writer")
        signal(SIGPIPE, SIG_IGN)
        let fact = "{\"name\":\"fact\",\"url\":\"\(server.origin)/fact\",\"every\":\"10ms\"}"
        try TextFile.write("{\"sources\":[\(stdin),\(fact)]}", to: "\(folder)/two.json")
        let catwatch = try ChildProcess(
            setting.binary,
            ["-c", "\(folder)/two.json", "-o", "ndjson"],
            folder: folder, input: pipe.read.number)
        defer {
            catwatch.end()
            writer.stop()
        }
        let number = try pipe.write.duplicate().release()
        _ = consume pipe  // only the program keeps the read end
        let document = TextFile.bytes(input)
        writer.loop.post {
            var isTaken = true
            while isTaken {
                var rest = document[...]
                while isTaken, !rest.isEmpty {
                    let count = rest.withUnsafeBytes { write(number, $0.baseAddress, min($0.count, 1 << 16)) }
                    isTaken = count > 0
                    rest = rest.dropFirst(max(0, count))
                }
            }
            close(number)
        }
        var late: [Double] = []
        var events = 0
        let marker = Array("\"type\":\"latency\"".utf8)
        var splitter = LineSplitter()
        catwatch.read(until: .now + .seconds(setting.isLong ? 60 : 15)) { bytes in
            splitter.push(bytes)
            while case .line(let bytes)? = splitter.next() {
                events += 1
                // Most of the lines, which are millions, are not decoded.
                guard bytes.dropFirst(40).prefix(60).firstRange(of: marker) != nil,
                    let line = try? LineDecoder.decode(bytes), case .latency(let sample) = line.body
                else { continue }
                late.append(sample.late)
            }
            return false
        }
        guard late.count >= 100, events > items / 10 else {
            throw catwatch.failure("made \(late.count) polls beside \(events) lines")
        }
        return late
    }
}
