internal import CatAPI
internal import Feed
internal import Reactor

/// Compares `ms` of catwatch's latency lines with delays that a server really made.
///
/// The server runs in this process, on its own event loop and thread, and measures each delay itself: from reading the
/// request to queueing the answer. `ms` also contains the network time, and the error.
enum LatencyAccuracy: Scenario {
    static let name = "latency-accuracy"
    static let summary = "ms of 200 polls against the 0 to 500 ms that the server took, by the server's clock"
    static let defaultRuns = 1

    private static let requests = 200
    private static let limit = Figure.Limit.atMost(1)

    static func measure(_ setting: Setting) throws -> [Figure] {
        var errors: [Double] = []
        for run in 0..<setting.runs { errors += try errorsOfOneRun(setting, seed: UInt64(run)) }
        let unit = "ms"
        return [
            Figure(name: "error, p50", unit: unit, runs: errors),
            Figure(name: "error, p99", unit: unit, runs: errors, statistic: .p99, limit: limit),
            Figure(name: "error, most", unit: unit, runs: errors, statistic: .most),
            Figure(name: "error, least", unit: unit, runs: errors, statistic: .least),
        ]
    }

    private static func errorsOfOneRun(_ setting: Setting, seed: UInt64) throws -> [Double] {
        let loop = try EventLoop()
        let thread = try LoopThread(name: "server")
        defer { thread.stop() }
        let server = try loop.run {
            try await loop.offload(to: thread.loop) { try CatAPIServer(loop: thread.loop, faults: true, seed: seed) }
        }
        defer { try? loop.run { await server.stop() } }

        let measured = try setting.withFolder { folder in
            let url = "\(server.origin)/fault/delay/fact?delay=0-500"
            let catwatch = try setting.startCatwatch(polling: url, every: .milliseconds(10), folder: folder)
            defer { catwatch.end() }
            var measured: [Double] = []
            catwatch.readLines(until: .now + .seconds(requests)) { line in
                if case .latency(let sample) = line.body, sample.status == 200 { measured.append(sample.ms) }
                return measured.count == requests
            }
            guard measured.count == requests else { throw catwatch.failure("made \(measured.count) polls") }
            return measured
        }
        // Requests do not overlap, so both are in the same order. The server may have answered one more.
        let made = try loop.run { await server.servedDelays }
        guard made.count >= requests else { throw BenchError("the server made only \(made.count) delays") }
        return zip(measured, made).map { $0 - $1.milliseconds }
    }
}
