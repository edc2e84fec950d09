internal import Feed
internal import Journal
internal import Reactor

/// Finds lines that the journal deleted before they were read.
struct LogHoles {
    /// The lines that were found missing.
    enum Finding: Equatable {
        case lines(Int)
        /// An unknown number of lines.
        case unknown
    }

    /// Whether a `gap` line reports missing lines whose sequence numbers are known.
    private let areNamed: Bool
    /// The row id of the run's next line.
    private var next: JournalPlace?
    /// The sequence number at the run's offset 0, and the run's last row id when reading reached the run.
    private var base = 1
    private var end = JournalPlace.last
    private var found: Finding?

    init(areNamed: Bool) { self.areNamed = areNamed }

    /// Checks a row, whether the filter admits it or not.
    ///
    /// - Returns: the numbers deleted unread at the previous run's end; nil if no `gap` reports them.
    mutating func pass(_ row: JournalRows.Row, of scan: JournalRows) throws(JournalFault) -> ClosedRange<Int>? {
        let rowID = row.rowID
        var rest: ClosedRange<Int>?
        if let next, next.run == rowID.run {
            if !areNamed, rowID > next { addMissing(Int(rowID.id - next.id)) }
            // In a forged file, lines may exist although a `gap` says that they are missing.
            self.next = max(next, rowID.next)
        } else {
            if let next { rest = try leave(next, for: rowID, scan) }
            base = try scan.run(rowID.run)?.base ?? 1
            end = try scan.end(of: rowID.run)
            next = rowID.next
        }
        guard row.type.elementsEqual("gap".utf8), let gap = Line.Gap(Bytes(row.line)), gap.to > gap.from else {
            return rest
        }
        // A `gap` line stands for all of these.
        let width = Int64(gap.to.subtractingSaturated(gap.from))
        let behind = JournalPlace(
            id: min(rowID.id.addingSaturated(width).addingSaturated(1), rowID.id | JournalPlace.most))
        next = next.map { max($0, behind) }
        return rest
    }

    /// Finds the lines that were deleted at the end of a run, and between that run and the next one.
    private mutating func leave(
        _ next: JournalPlace, for rowID: JournalPlace, _ scan: JournalRows
    ) throws(JournalFault) -> ClosedRange<Int>? {
        let hasBegun = try (scan.gone(of: rowID.run) ?? 0) > 0
        // Runs are numbered consecutively.
        if hasBegun || rowID.run > next.run + 1 { found = .unknown }
        let last: Int
        if let gone = try scan.gone(of: next.run) {
            last = gone
        } else if next > end {
            return nil
        } else if end.offset < JournalPlace.most {
            // A run whose lines were all deleted has lost its own row too.
            last = base.addingSaturated(Int(end.offset))
        } else {
            found = .unknown
            return nil
        }
        let first = base.addingSaturated(Int(next.offset))
        guard first <= last else { return nil }
        if areNamed { return first...last }
        addMissing(last.subtractingSaturated(first).addingSaturated(1))
        return nil
    }

    private mutating func addMissing(_ count: Int) {
        switch found {
        case nil: found = .lines(count)
        case .lines(let before): found = .lines(before.addingSaturated(count))
        case .unknown: break
        }
    }

    /// Continues in another journal.
    ///
    /// - Parameter run: the run of the last lines read, as the new journal has it; nil when it does not.
    mutating func goOn(in run: JournalRun?) {
        guard let run, let last = next, let rowID = run.rowID(of: base.addingSaturated(Int(last.offset))) else {
            next = nil
            return
        }
        (next, base, end) = (rowID, run.base, JournalPlace(id: rowID.id | JournalPlace.most))
    }

    /// Returns a sentence about the lines found missing since the last call; nil for none.
    mutating func report() -> String? {
        switch found.take() {
        case nil: nil
        case .lines(1): "a line was let go of before it could be read"
        case .lines(let count): "\(count) lines were let go of before they could be read"
        case .unknown: "lines were let go of before they could be read"
        }
    }
}
