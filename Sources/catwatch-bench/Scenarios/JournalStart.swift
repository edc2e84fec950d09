import Glibc
import Reactor

/// The time to the first data line with a journal of the maximum size.
enum JournalStart: Scenario {
    static let name = "journal-start"
    static let summary = "wall time from the start to the first data line, with a journal of 256 MiB"
    static let defaultRuns = 30

    private static let least = 240 << 20

    static func measure(_ setting: Setting) throws -> [Figure] {
        var times: [Double] = []
        var size = 0
        try setting.withNginx { nginx, folder in
            let journal = "\(folder)/journal"
            let input = "\(folder)/in.ndjson"
            try StdinThroughput.writeInput(to: input)
            let run = try TimedRun(
                setting.binary,
                ["-", "--output", "none", "--key", "/city", "--value", "/aqi", "--journal", journal],
                input: input, output: "/dev/null")
            guard run.status == 0 else { throw BenchError("catwatch ended with \(run.status)") }
            unlink(input)
            for _ in 0..<setting.runs {
                size = try forget(journal)
                guard size >= least else { throw BenchError("the journal has \(size) bytes only") }
                times.append(
                    try StartTime.firstLine(setting, nginx, folder: folder, options: ["--journal", journal]))
            }
        }
        let note = "\(size >> 20) MiB, not in the page cache"
        let limit = Figure.Limit.atMost(100)
        return [
            Figure(name: "first data line, median", unit: "ms", runs: times, limit: limit, note: note),
            Figure(name: "first data line, p90", unit: "ms", runs: times, statistic: .p90, limit: limit, note: note),
        ]
    }

    /// Drops a file from the page cache, as after a restart of the machine; returns its size.
    private static func forget(_ path: String) throws -> Int {
        let file = try Descriptor.open(path, flags: O_RDONLY)
        fsync(file.number)
        posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
        return Int(lseek(file.number, 0, SEEK_END))
    }
}
