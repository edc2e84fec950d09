internal import Feed
internal import Journal
internal import Reactor

/// Finds out which lines are missing between those that are read, as the journal let go of them before.
struct LogHoles {
    /// What was found.
    enum Finding: Equatable {
        case lines(Int)
        /// Where a run begins, it is not known how many.
        case some
    }

    /// Where the next line of the run is.
    private var next: JournalPlace?
    private var found: Finding?

    /// Looks at a row, whether it is asked for or not.
    mutating func pass(_ row: JournalRows.Row, of scan: JournalRows) throws(SQLiteFault) {
        let place = row.place
        if let next, next != place {
            if next.run == place.run {
                let count = Int(place.id - next.id)
                if case .lines(let before) = found {
                    found = .lines(before + count)
                } else {
                    found = found ?? .lines(count)
                }
            } else {
                let hasBegun = try (scan.gone(of: place.run) ?? 0) > 0
                if try hasBegun ? true : isCutShort(next, scan) { found = .some }
            }
        }
        next = place.next
        guard row.type.elementsEqual("gap".utf8),
            case .gap(let gap)? = (try? LineDecoder.decode(Array(row.line)[...]))?.body,
            gap.to > gap.from
        else { return }
        // It stands for all of these.
        let width = Int64(gap.to.subtractingSaturated(gap.from))
        next = JournalPlace(id: min(place.id.addingSaturated(width).addingSaturated(1), place.id | JournalPlace.most))
    }

    /// Whether a run had more than was read of it.
    private func isCutShort(_ next: JournalPlace, _ scan: JournalRows) throws(SQLiteFault) -> Bool {
        guard let run = try scan.run(next.run), let gone = try scan.gone(of: next.run) else { return false }
        return gone >= run.base.addingSaturated(Int(next.offset))
    }

    /// Another journal comes.
    mutating func beginAnew() { next = nil }

    /// What was found since the last time, in words; nil for nothing.
    mutating func take() -> String? {
        switch found.take() {
        case nil: nil
        case .lines(1): "a line was let go of before it could be read"
        case .lines(let count): "\(count) lines were let go of before they could be read"
        case .some: "lines were let go of before they could be read"
        }
    }
}
