internal import Feed
internal import Journal
internal import Outputs
internal import Reactor
internal import Settings

/// Formats a journal's rows and gathers the text.
struct LogPrinter {
    private let format: LogFormat
    private let isTerminal: Bool
    /// Whether the output is a feed: `hello` and `stats` before each run, and a `gap` for missing lines.
    private let isFeed: Bool
    /// Whether the `hello` lines say that missing sequence numbers have no meaning.
    private let isFiltered: Bool
    private var bytes: [UInt8] = []
    private var run: JournalRun?
    /// The sequence number of the run's next line; nil before the first.
    private var next: Int?
    /// The last row id that was added.
    private var last = RowID(0)
    /// The row id from which a newer greeting holds, as far as is known.
    private var nextGreeting: RowID?
    /// Whether no row was added yet.
    private(set) var isEmpty = true

    init(_ format: LogFormat, isTerminal: Bool, isReversed: Bool, filter: LogFilter) {
        self.format = format
        self.isTerminal = isTerminal
        isFeed = format == .ndjson && !isReversed && filter.takesAnyName
        isFiltered = filter.from != nil || filter.until != nil
    }

    /// The number of gathered bytes.
    var count: Int { bytes.count }

    mutating func add(_ row: JournalRows.Row, of scan: JournalRows) throws(JournalFault) {
        let rowID = row.rowID
        let known = run
        if run?.holds(rowID) != true { run = try scan.run(at: rowID) }
        let isNewRun = run?.first != known?.first || isEmpty
        if isEmpty, format == .csv { bytes += Array("\(LogCSV.head)\r\n".utf8) }
        isEmpty = false
        let sequence = run?.sequence(at: rowID) ?? 0
        switch format {
        case .ndjson:
            if isFeed {
                if isNewRun { next = nil }
                // The writer may have added one since the last piece.
                if bytes.isEmpty, !isNewRun { nextGreeting = try scan.nextGreeting(behind: last) }
                if isNewRun || nextGreeting.map({ $0 <= rowID }) ?? false {
                    begin(at: sequence, try scan.greeting(at: rowID))
                    nextGreeting = try scan.nextGreeting(behind: rowID)
                }
                last = rowID
                close(row, sequence)
            }
            bytes += row.line
            bytes.append(0x0A)
        case .csv:
            let text = LogCSV.record(row, sequence, run: run?.name ?? "")
            bytes += Array((isTerminal ? Sanitizer.visible(text) : text).utf8)
            bytes += [0x0D, 0x0A]
        case .text:
            if isNewRun { bytes += Array("-- run \(Sanitizer.visible(run?.name ?? "?")) --\n".utf8) }
            bytes += Array((LogText.line(row) + "\n").utf8)
        }
    }

    /// Writes the `hello` and `stats` with which a connection begins that gets the run from this line on.
    private mutating func begin(at sequence: Int, _ stored: [UInt8]) {
        let first = max(sequence, 1)
        bytes += run?.greeting(stored, at: nil, isFiltered: isFiltered, from: first, to: first) ?? []
    }

    /// Adds a `gap` for the run's lines that are missing before this one.
    private mutating func close(_ row: JournalRows.Row, _ sequence: Int) {
        if let next, next < sequence, !isFiltered {
            bytes += ControlLine.gap(time: row.time, missing: next...sequence - 1, reason: "retention")
        }
        next = sequence.addingSaturated(1)
        guard row.type.elementsEqual("gap".utf8), let gap = Line.Gap(Bytes(row.line)) else { return }
        next = gap.to.addingSaturated(1)
    }

    /// Writes the gathered text.
    mutating func flush<Failure: Error>(
        _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard !bytes.isEmpty else { return }
        if isTerminal, format == .ndjson, let escaped = bytes.withUnsafeBytes({ TerminalEscaper.escaped($0) }) {
            bytes = escaped
        }
        try bytes.span.bytes.withUnsafeBytes { raw throws(Failure) in try write(raw) }
        bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 20)
    }
}
