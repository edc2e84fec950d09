internal import Reactor

/// Counts the row ids in a range, run by run. A row id contains its run, so most row ids between two runs do not exist.
package struct JournalReach: Sendable {
    private var runs: [(rowIDs: ClosedRange<Int64>, before: Int)] = []
    /// The number of row ids; nil when there are too many runs to count.
    package private(set) var total: Int? = 0

    // Bound: runs for the progress bar of `catwatch log` | 10,000 (320 KiB) | no bar, only the lines read
    private static let mostRuns = 10_000

    /// Adds the next run.
    ///
    /// - Returns: false when there are too many.
    mutating func add(_ rowIDs: ClosedRange<Int64>) -> Bool {
        guard let total, runs.count < Self.mostRuns else {
            self.total = nil
            return false
        }
        runs.append((rowIDs, total))
        self.total = total.addingSaturated(Int(rowIDs.upperBound - rowIDs.lowerBound).addingSaturated(1))
        return true
    }

    /// The number of row ids before this one; 0 without a total.
    package func count(before rowID: JournalPlace) -> Int {
        guard total != nil else { return 0 }
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].rowIDs.lowerBound <= rowID.id { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let run = runs[low - 1]
        return run.before + Int(min(rowID.id, run.rowIDs.upperBound) - run.rowIDs.lowerBound)
    }
}
