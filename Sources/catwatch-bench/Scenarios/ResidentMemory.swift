/// The memory of catwatch at one poll a second, and whether it grows.
enum ResidentMemory: Scenario {
    static let name = "rss"
    static let summary = "resident memory at one poll a second: 60 s, or 10 minutes with --long"
    static let defaultRuns = 1

    private static let limit = 18.0
    private static let mostGrowth = 256.0
    private static let mebibyte = 1_048_576.0

    static func measure(_ setting: Setting) throws -> [Figure] {
        let samples = setting.isLong ? 600 : 60
        // Compares the second part of the time with the last one: minutes of ten, or quarters of one minute.
        let part = samples / (setting.isLong ? 10 : 4)
        var latest: [Double] = []
        var peaks: [Double] = []
        var growth: [Double] = []
        for _ in 0..<setting.runs {
            try setting.withNginx { nginx, folder in
                let catwatch = try setting.startCatwatch(polling: nginx.url, every: .seconds(1), folder: folder)
                defer { catwatch.end() }
                let start = ContinuousClock.now
                var resident: [Double] = []
                for second in 1...samples {
                    catwatch.read(until: start + .seconds(second))
                    resident.append(try catwatch.memory("VmRSS"))
                }
                guard nginx.requestCount > samples * 9 / 10 else { throw catwatch.failure("does not poll") }
                latest.append(Array(resident.suffix(part)).mean / mebibyte)
                peaks.append(try catwatch.memory("VmHWM") / mebibyte)
                let second = Array(resident[part..<2 * part]).mean
                growth.append((Array(resident.suffix(part)).mean - second) / 1_024)
            }
        }
        let span = setting.isLong ? "10 min" : "60 s"
        let piece = setting.isLong ? "minute" : "15 s"
        return [
            Figure(
                name: "resident at the end of \(span)", unit: "MiB", runs: latest, statistic: .most,
                limit: .atMost(limit)),
            Figure(name: "resident at most", unit: "MiB", runs: peaks, statistic: .most),
            Figure(
                name: "last \(piece) over second \(piece)", unit: "KiB", runs: growth, statistic: .most,
                limit: setting.isLong ? .atMost(mostGrowth) : nil),
        ]
    }
}
