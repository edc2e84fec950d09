internal import Reactor

/// What a reader has yet to get of the kept lines: first the windows of each series, then the lines by their numbers, then
/// those without a number here, in the order in which they came.
package struct KeptCursor: Sendable {
    /// The reader has the lines up to this number, and wants those above it: 0 for all, nil for none.
    private(set) var after: Int?
    /// The number below which it gets kept lines instead of those of the log.
    private var end = 1
    /// The numbers of the lines that it has yet to get; nil when it has them all.
    private var numbers: Range<Int>?
    /// The series that the first of these is of; nil if unknown.
    private var series: Int?
    /// The next line without a number; nil if it wants none.
    private var nextArrival: Int?
    /// The first series whose windows it has yet to get; nil when it has them all, but for those of `newWindows`.
    private var nextWindows: Int?
    /// Series whose windows came since, from another agent or an earlier run.
    private var newWindows: Set<Int> = []

    /// Wants no kept lines.
    init() {}

    /// - Parameters:
    ///   - after: it has the lines up to this number: 0 for none, nil if it wants no kept lines.
    ///   - end: it gets the others from the log from this number on.
    ///   - kept: the kept lines.
    init(after: Int?, before end: Int, of kept: borrowing KeptLines) {
        (self.after, self.end) = (after, end)
        guard let after else { return }
        nextArrival = kept.arrival(after: after)
        numbers = min(after.addingSaturated(1), end)..<end
        // One that resumes and has missed no lines has them.
        nextWindows = after == 0 || after < end - 1 ? 0 : nil
    }

    /// It has the numbered lines from elsewhere, which has no others and no windows.
    ///
    /// - Parameter after: the number of the last line that it had before.
    mutating func oweUnnumbered(after sequence: Int, of kept: borrowing KeptLines) {
        nextArrival = kept.arrival(after: sequence)
        nextWindows = 0
    }

    mutating func skipWindows() { (nextWindows, newWindows) = (nil, []) }

    /// A line with a number below those of the log came from another agent.
    mutating func owe(_ sequence: Int) {
        guard let after, sequence > after, sequence < end else { return }
        numbers = min(numbers?.lowerBound ?? sequence, sequence)..<end
    }

    /// Windows of a series came.
    mutating func oweWindows(of index: Int) {
        guard nextArrival != nil, nextWindows.map({ $0 <= index }) != true else { return }
        newWindows.insert(index)
    }

    // MARK: Reading

    /// How much to return at once.
    package struct Most {
        // Bound: kept lines made for a reader at once | 64 KiB, or one line | the others are made when these are written
        package var bytes = 64 << 10
        package var lines = Int.max
        /// Whether to return lines without a number and windows: these may be of sources that the reader does not know yet.
        package var withArrivals = true

        package init() {}
    }

    /// Returns the next kept lines, each with its newline, and their number; no lines when there are no more for now.
    ///
    /// - Parameters:
    ///   - run: the run of the feed.
    ///   - moment: now, by the clock of the store and by that of the agent that the feed belongs to.
    mutating func next(
        of state: borrowing FeedState, _ run: String, at moment: (wall: Timestamp, feed: Timestamp), atMost most: Most
    ) -> (lines: [UInt8], count: Int) {
        var (lines, count): ([UInt8], Int) = ([], 0)
        /// Adds a line; false when there is no more room.
        func add(_ line: [UInt8]) -> Bool {
            guard count == 0 || count < most.lines && lines.count + line.count <= most.bytes else { return false }
            lines += line
            count += 1
            return true
        }
        if most.withArrivals {
            while let index = nextWindows {
                if let line = state.windowsLine(of: index, in: run, at: moment), !add(line) { return (lines, count) }
                nextWindows = index + 1 < state.seriesCount ? index + 1 : nil
            }
            for index in newWindows.sorted() {
                if let line = state.windowsLine(of: index, in: run, at: moment), !add(line) { return (lines, count) }
                newWindows.remove(index)
            }
        }
        if let numbers {
            let start = series
            (self.numbers, series) = (nil, nil)
            state.log.forEachNewest(in: numbers, from: start) { index, sequence, line in
                guard state.isCurrent(index, sequence, at: moment.feed, of: line) else { return true }
                if add(ControlLine.kept(time: moment.wall, run: run, line: line)) { return true }
                (self.numbers, series) = (sequence..<numbers.upperBound, index)
                return false
            }
            if self.numbers != nil { return (lines, count) }
        }
        if most.withArrivals, let first = nextArrival, first < state.log.kept.nextArrival {
            nextArrival = state.log.kept.nextArrival
            state.log.kept.forEachArrival(from: first) { arrival, index, line in
                guard state.isCurrent(index, 0, at: moment.feed, of: line) else { return true }
                if add(ControlLine.kept(time: moment.wall, run: run, line: line)) { return true }
                nextArrival = arrival
                return false
            }
        }
        return (lines, count)
    }
}
