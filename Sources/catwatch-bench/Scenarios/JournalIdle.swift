import Reactor

/// The cost of a journal at one poll a second, compared with the same program beside it without a journal.
enum JournalIdle: Scenario {
    static let name = "journal-idle"
    static let summary = "CPU and memory of a journal at one poll a second: 60 s, or 10 minutes with --long"
    static let defaultRuns = 1

    private static let mebibyte = 1_048_576.0

    static func measure(_ setting: Setting) throws -> [Figure] {
        let seconds = setting.isLong ? 600 : 60
        var share = Figure(name: "one poll a second, more CPU", unit: "% of a core", runs: [], limit: .atMost(0.2))
        var without = Figure(name: "the same without a journal", unit: "% of a core", runs: [])
        var resident = Figure(name: "more resident", unit: "MiB", runs: [], limit: .atMost(2))
        for _ in 0..<setting.runs {
            try setting.withNginx { nginx, folder in
                let journal = ["--journal", "\(folder)/journal"]
                let programs = try [[], journal].map {
                    try setting.startCatwatch(polling: nginx.url, every: .seconds(1), folder: folder, options: $0)
                }
                defer { for program in programs { program.end() } }
                func readAll(until deadline: ContinuousClock.Instant) {
                    for program in programs { program.read(until: deadline) }
                    // Keep both pipes from filling up.
                    for program in programs { program.read(until: .now + .milliseconds(1)) }
                }
                readAll(until: .now + .seconds(3))
                let startCount = nginx.requestCount
                let startTimes = try programs.map { try $0.processorTime }
                let start = ContinuousClock.now
                var held: [[Double]] = [[], []]
                for second in 1...seconds {
                    readAll(until: start + .seconds(second))
                    for (index, program) in programs.enumerated() { held[index].append(try program.memory("VmRSS")) }
                }
                let span = start.duration(to: .now)
                let shares = try zip(programs, startTimes).map { try ($0.processorTime - $1) / span * 100 }
                guard Double(nginx.requestCount - startCount) > 1.8 * span.seconds else {
                    throw programs[1].failure("does not poll")
                }
                share.runs.append(shares[1] - shares[0])
                without.runs.append(shares[0])
                let ends = held.map { Array($0.suffix(seconds / 4)).mean / mebibyte }
                resident.runs.append(ends[1] - ends[0])
            }
        }
        return [share, without, resident]
    }
}
