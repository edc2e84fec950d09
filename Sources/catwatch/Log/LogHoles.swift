internal import Feed
internal import Journal
internal import Reactor

/// Finds out which lines are missing between those that are read, as the journal let go of them before.
struct LogHoles {
    /// What was found.
    enum Finding: Equatable {
        case lines(Int)
        /// It is not known how many.
        case unknown
    }

    /// Whether a `gap` stands for lines of which the numbers are known.
    private let areNamed: Bool
    /// Where the next line of the run is.
    private var next: JournalPlace?
    /// What numbers of that run are greater by than its places, and its last place when it was come to.
    private var base = 1
    private var end = JournalPlace.last
    private var found: Finding?

    init(areNamed: Bool) { self.areNamed = areNamed }

    /// Looks at a row, whether it is asked for or not.
    ///
    /// - Returns: the numbers of the run before that went unread, where a `gap` stands for them.
    mutating func pass(_ row: JournalRows.Row, of scan: JournalRows) throws(SQLiteFault) -> ClosedRange<Int>? {
        let place = row.place
        var rest: ClosedRange<Int>?
        if let next, next.run == place.run {
            if !areNamed, place > next { note(Int(place.id - next.id)) }
            // What is said to be missing may be there all the same, in a file that somebody has made up.
            self.next = max(next, place.next)
        } else {
            if let next { rest = try leave(next, for: place, scan) }
            base = try scan.run(place.run)?.base ?? 1
            end = try scan.end(of: place.run)
            next = place.next
        }
        guard row.type.elementsEqual("gap".utf8), let gap = Line.Gap(Bytes(row.line)), gap.to > gap.from else {
            return rest
        }
        // It stands for all of these.
        let width = Int64(gap.to.subtractingSaturated(gap.from))
        let behind = JournalPlace(
            id: min(place.id.addingSaturated(width).addingSaturated(1), place.id | JournalPlace.most))
        next = next.map { max($0, behind) }
        return rest
    }

    /// Finds out what went of a run behind what was read of it, and between it and the one that comes now.
    private mutating func leave(
        _ next: JournalPlace, for place: JournalPlace, _ scan: JournalRows
    ) throws(SQLiteFault) -> ClosedRange<Int>? {
        let hasBegun = try (scan.gone(of: place.run) ?? 0) > 0
        // Runs are numbered one after the other.
        if hasBegun || place.run > next.run + 1 { found = .unknown }
        let last: Int
        if let gone = try scan.gone(of: next.run) {
            last = gone
        } else if next > end {
            return nil
        } else if end.offset < JournalPlace.most {
            // Where a run went with all its lines, its row did too.
            last = base.addingSaturated(Int(end.offset))
        } else {
            found = .unknown
            return nil
        }
        let first = base.addingSaturated(Int(next.offset))
        guard first <= last else { return nil }
        if areNamed { return first...last }
        note(last.subtractingSaturated(first).addingSaturated(1))
        return nil
    }

    private mutating func note(_ count: Int) {
        switch found {
        case nil: found = .lines(count)
        case .lines(let before): found = .lines(before.addingSaturated(count))
        case .unknown: break
        }
    }

    /// Another journal comes.
    ///
    /// - Parameter run: the run whose lines were read last, as that journal has it; nil when it does not.
    mutating func goOn(in run: JournalRun?) {
        guard let run, let last = next, let place = run.place(of: base.addingSaturated(Int(last.offset))) else {
            next = nil
            return
        }
        (next, base, end) = (place, run.base, JournalPlace(id: place.id | JournalPlace.most))
    }

    /// What was found since the last time, in words; nil for nothing.
    mutating func take() -> String? {
        switch found.take() {
        case nil: nil
        case .lines(1): "a line was let go of before it could be read"
        case .lines(let count): "\(count) lines were let go of before they could be read"
        case .unknown: "lines were let go of before they could be read"
        }
    }
}
