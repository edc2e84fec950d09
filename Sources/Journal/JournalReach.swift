internal import Reactor

/// Which places there are between two of them, run by run: places say in which run a line is, so that there are none for long
/// between the last of one run and the first of the next.
package struct JournalReach: Sendable {
    private var runs: [(places: ClosedRange<Int64>, before: Int)] = []
    /// How many places there are; nil when there are more runs than are counted.
    package private(set) var total: Int? = 0

    /// So many runs are counted at the most: 320 KiB.
    private static let mostRuns = 10_000

    /// Adds the next run.
    ///
    /// - Returns: false when there are too many.
    mutating func add(_ places: ClosedRange<Int64>) -> Bool {
        guard let total, runs.count < Self.mostRuns else {
            self.total = nil
            return false
        }
        runs.append((places, total))
        self.total = total.addingSaturated(Int(places.upperBound - places.lowerBound).addingSaturated(1))
        return true
    }

    /// How many of them come before a place; 0 without a total.
    package func count(before place: JournalPlace) -> Int {
        guard total != nil else { return 0 }
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].places.lowerBound <= place.id { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let run = runs[low - 1]
        return run.before + Int(min(place.id, run.places.upperBound) - run.places.lowerBound)
    }
}
