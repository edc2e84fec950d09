internal import Reactor

/// The series of which a watcher need not see further events, as long as their values stay between two limits: a line that changes
/// nothing costs a comparison.
struct CalmSeries: Sendable {
    private struct Entry {
        var low = Double.infinity
        var high = -Double.infinity
        var round = 0
        /// The newest event that was left out.
        var newest: Timestamp?
    }

    private var entries: [Entry] = []
    /// Entries of other rounds say nothing: something came since that may have changed anything.
    private var round = 1

    /// Whether a watcher need not see an event; then it is left out.
    ///
    /// - Parameter series: −1 for none.
    @inline(__always)
    mutating func leavesOut(_ value: Double, at time: Timestamp, in series: Int) -> Bool {
        guard entries.indices ~= series, entries[series].round == round, value > entries[series].low,
            value < entries[series].high
        else { return false }
        if let newest = entries[series].newest, newest > time { return true }
        entries[series].newest = time
        return true
    }

    /// The newest event that was left out of a series.
    func newest(of series: Int) -> Timestamp? { series < entries.count ? entries[series].newest : nil }

    mutating func set(_ range: (low: Double, high: Double)?, of series: Int) {
        if series >= entries.count {
            guard range != nil else { return }
            entries.append(contentsOf: repeatElement(Entry(), count: series - entries.count + 1))
        }
        entries[series] = Entry(low: range?.low ?? .infinity, high: range?.high ?? -.infinity, round: round)
    }

    /// Something else has happened.
    mutating func interrupt() { round += 1 }
}
