internal import Feed
internal import Glibc
internal import Journal
internal import Reactor
internal import Settings
internal import Terminal

/// `catwatch log`: prints the lines of a journal, or a summary table.
///
/// It is no agent and has no event loop: it blocks for its reader, and a signal ends it at once. It never holds a
/// transaction while it writes.
struct LogCommand {
    private let journal: String
    private let options: Options
    private let output: Int32
    private let filter: LogFilter
    private let isTerminal: Bool
    private let bar: JournalProgress?
    private let complain: (String) -> Void
    /// The time between two checks for new lines, in milliseconds.
    private let pause: Int32

    // Text that `catwatch log` gathers before it writes: 64 KiB and the line beyond; rest in the next transaction.
    private static let pieceSize = 64 << 10
    /// How many lines `--follow` begins with by default.
    private static let usualLimit = 10

    /// - Parameters:
    ///   - now: the time that `-1h` and `today` refer to.
    ///   - isTerminal: whether `output` is a terminal.
    ///   - complain: prints whole lines on standard error.
    init(
        _ journal: String, _ options: Options, now: Timestamp = SystemWallClock().now, to output: Int32 = STDOUT_FILENO,
        isTerminal: Bool, bar: JournalProgress? = nil, pause: Int32 = 100, complain: @escaping (String) -> Void
    ) {
        self.journal = journal
        self.options = options
        self.output = output
        self.isTerminal = isTerminal
        self.bar = bar
        self.pause = pause
        self.complain = complain
        func time(_ word: TimeWord?) -> Timestamp? { word?.time(now: now) { LocalTime.offset(at: $0) } }
        filter = LogFilter(
            from: time(options[\.since]), until: time(options[\.until]), types: options[\.logTypes],
            sources: options[\.logSources], series: options[\.logSeries])
    }

    /// Prints the lines or the table.
    ///
    /// - Returns: the exit status: 0 when something was printed or nobody reads any more; 1 when there is nothing; 2
    ///   when the journal cannot be read or output cannot be written, which was reported.
    func run() -> Int32 {
        JournalReading.status(of: journal, complain: complain) {
            defer { bar?.end() }
            if options[\.logAlerts] { return try printAlerts() }
            return try options[\.summary] ? summarise() : print()
        }
    }

    // MARK: Lines

    private func print() throws -> Int32 {
        let scan = try JournalRows(path: journal)
        var printer = LogPrinter(
            options[\.format], isTerminal: isTerminal, isReversed: options[\.reverse], filter: filter)
        let isFollowing = options[\.follow]
        var limit = options[\.limit] ?? (isFollowing && filter.from == nil ? Self.usualLimit : nil)
        // Without `--follow`, lines that are added meanwhile are ignored: they may arrive faster than we read.
        var rowIDs = try rowIDs(in: scan)
        if isFollowing { rowIDs = try (rowIDs?.lowerBound ?? end(of: scan))...(.max) }
        var wasReplaced = false
        if options[\.reverse] {
            if let rowIDs { try printBackwards(rowIDs, &limit, &printer, scan) }
        } else {
            if let all = rowIDs, let last = limit {
                rowIDs = try first(of: last, in: all, scan).map { $0...all.upperBound }
            }
            if let rowIDs { wasReplaced = try printForwards(rowIDs, isFollowing, &printer, scan) }
        }
        try flush(&printer)
        if printer.isEmpty, !isFollowing {
            for text in try LogNames.missing(options, in: scan) { notice(text) }
        }
        return printer.isEmpty || wasReplaced ? 1 : 0
    }

    /// The row ids of the lines with the requested times; nil for none.
    private func rowIDs(in scan: JournalRows) throws(JournalFault) -> ClosedRange<RowID>? {
        guard let all = try scan.ends(of: 0...(.max)) else { return nil }
        return try scan.rowIDs(from: filter.from, until: filter.until)?.clamped(to: all)
    }

    /// The row id behind the newest line.
    private func end(of scan: JournalRows) throws(JournalFault) -> RowID {
        try scan.ends(of: 0...(.max))?.upperBound.addingSaturated(1) ?? 0
    }

    /// The row id of the first of the newest `count` lines that match; nil when there are none.
    private func first(of count: Int, in rowIDs: ClosedRange<RowID>, _ scan: JournalRows) throws -> RowID? {
        var left = count
        // With `--limit 0` and `--follow`: the row id behind the newest line.
        guard left > 0 else { return options[\.follow] ? try end(of: scan) : nil }
        var found: RowID?
        try scan.pieces(in: rowIDs, isReversed: true) { row in
            guard filter.admits(row) else { return true }
            left -= 1
            if left == 0 { found = row.rowID }
            return left > 0
        } piece: { _ in
            found == nil
        }
        return found ?? rowIDs.lowerBound
    }

    /// - Returns: whether the journal that is followed was replaced, which was reported.
    private func printForwards(
        _ rowIDs: ClosedRange<RowID>, _ isFollowing: Bool, _ printer: inout LogPrinter, _ scan: JournalRows
    ) throws -> Bool {
        var next = rowIDs.lowerBound
        while true {
            var last: RowID?
            do throws(JournalFault) {
                _ = try scan.rows(in: next...rowIDs.upperBound) { row throws(JournalFault) in
                    if filter.admits(row) { try printer.add(row, of: scan) }
                    last = row.rowID
                    return printer.count < Self.pieceSize
                }
            } catch {
                // Whoever follows waits for a writer that holds its lock for longer than SQLite waits.
                guard isFollowing, error.kind == .held else { throw error }
            }
            try flush(&printer)
            if let last {
                if !isFollowing { show(last - rowIDs.lowerBound, of: rowIDs) }
                guard last < rowIDs.upperBound else { return false }
                next = last + 1
            } else {
                guard isFollowing else { return false }
                if scan.hasMoved {
                    notice("the journal was moved or replaced, so this ends; follow the new one with the same command")
                    return true
                }
                try waitForMore()
            }
        }
    }

    private func show(_ done: RowID, of rowIDs: ClosedRange<RowID>) {
        bar?.show(Int(done).addingSaturated(1), of: Int(rowIDs.upperBound - rowIDs.lowerBound).addingSaturated(1))
    }

    private func notice(_ text: String) {
        if options.verbosity > .quiet { complain("catwatch: \(text)\n") }
    }

    private func printBackwards(
        _ rowIDs: ClosedRange<RowID>, _ limit: inout Int?, _ printer: inout LogPrinter, _ scan: JournalRows
    ) throws {
        guard limit != 0 else { return }
        try scan.pieces(in: rowIDs, isReversed: true) { row throws(JournalFault) in
            guard filter.admits(row) else { return true }
            try printer.add(row, of: scan)
            if let left = limit { limit = left - 1 }
            return limit != 0 && printer.count < Self.pieceSize
        } piece: { last in
            try flush(&printer)
            show(rowIDs.upperBound - last, of: rowIDs)
            return limit != 0
        }
    }

    private func flush(_ printer: inout LogPrinter) throws(SystemError) {
        try printer.flush { bytes throws(SystemError) in try Descriptor.write(bytes, to: output) }
    }

    /// - Throws: `EPIPE` as soon as nobody reads any more, even when no lines come.
    private func waitForMore() throws(SystemError) {
        var entry = pollfd(fd: output, events: 0, revents: 0)
        try systemCall("poll") { poll(&entry, 1, pause) }
        if entry.revents != 0 { throw SystemError(code: EPIPE, call: "poll") }
    }

    // MARK: Summary table

    private func summarise() throws -> Int32 {
        let scan = try JournalRows(path: journal)
        var summary = JournalSummary()
        if let rowIDs = try rowIDs(in: scan) {
            let takesAll = filter.takesAll
            try scan.pieces(in: rowIDs) { row in
                if takesAll || filter.admits(row) { summary.add(row) }
                return true
            } piece: { last in
                show(last - rowIDs.lowerBound, of: rowIDs)
                return last < rowIDs.upperBound
            }
        }
        bar?.end()
        guard summary.lines > 0 else { return 1 }
        try Descriptor.write(SummaryTable.text(summary), to: output)
        return 0
    }

    // MARK: Alerts

    /// Prints the episodes of alerts that are over, then those that fire.
    private func printAlerts() throws -> Int32 {
        let scan = try JournalRows(path: journal)
        var printer = EpisodePrinter(options.alertFormat, isTerminal: isTerminal)
        var (episodes, badLines, isEmpty) = (AlertEpisodes(), 0, true)
        func print(_ episode: AlertEpisode) throws(SystemError) {
            printer.add(episode)
            isEmpty = false
            if printer.count >= Self.pieceSize { try Descriptor.write(printer.removeText(), to: output) }
        }
        if let rowIDs = try rowIDs(in: scan) {
            var ended: [AlertEpisode] = []
            try scan.pieces(in: rowIDs, onlyAlerts: true) { row in
                guard filter.admits(row) else { return true }
                guard let line = try? LineDecoder.decode(Array(row.line)[...]), case .alert(let alert) = line.body
                else {
                    badLines += 1
                    return true
                }
                if let last = episodes.add(alert, of: line.source ?? "", agent: line.agent) { ended.append(last) }
                return ended.count < 1_000
            } piece: { last in
                for episode in ended { try print(episode) }
                ended = []
                return last < rowIDs.upperBound
            }
        }
        for episode in episodes.firing { try print(episode) }
        try Descriptor.write(printer.removeText(), to: output)
        if badLines > 0 { notice("\(badLines) alert line\(badLines == 1 ? "" : "s") cannot be read") }
        if episodes.leftOut > 0 { notice("\(episodes.leftOut) alerts were left out: too many fire at once") }
        return isEmpty ? 1 : 0
    }
}
