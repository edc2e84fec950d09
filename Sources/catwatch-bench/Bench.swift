internal import Glibc
internal import Reactor

/// `catwatch-bench`: measures the figures in docs/performance.md.
@main
struct Bench {
    static func main() {
        Leftovers.endOnSignals()
        do throws(BenchError) {
            let options = try BenchOptions(Array(CommandLine.arguments.dropFirst()))
            switch options.command {
            case .help: Text.write(BenchOptions.usage, to: 1)
            case .list: list()
            case .feed(let feed): try serve { try FeedProgram.run(feed) }
            case .journalFill(let order): try serve { try JournalFill.run(order) }
            case .run: exit(try run(options) ? 0 : 1)
            }
        } catch {
            Text.say("\(error)")
            exit(2)
        }
    }

    /// Runs as one of the helper programs that scenarios start.
    private static func serve(_ body: () throws -> Void) throws(BenchError) {
        do {
            try body()
        } catch {
            throw BenchError("\(error)")
        }
    }

    private static func list() {
        let width = Catalogue.all.map { $0.name.count }.max() ?? 0
        for scenario in Catalogue.all {
            Text.write("\(Text.cell(scenario.name, width))  \(scenario.summary)\n", to: 1)
        }
    }

    /// Runs scenarios one after the other; a failed one becomes a row, and the others still run.
    private static func run(_ options: BenchOptions) throws(BenchError) -> Bool {
        if let json = options.json { try TextFile.write("", to: json) }  // fail now, not after half an hour
        var report = Report(machine: .current(), time: SystemWallClock().now)
        for scenario in Catalogue.all where options.names.isEmpty || options.names.contains(scenario.name) {
            Text.say("\(scenario.name): \(scenario.summary)")
            let setting = Setting(
                runs: options.runs ?? scenario.defaultRuns, isLong: options.isLong, binary: options.binary)
            var figures: [Figure]
            do {
                figures = try scenario.measure(setting)
            } catch {
                figures = [.missing("-", "\(error)")]
            }
            report.results += figures.map { (scenario.name, $0) }
        }
        Text.write(report.table, to: 1)
        if let json = options.json { try TextFile.write(report.json, to: json) }
        return report.isMet
    }
}
