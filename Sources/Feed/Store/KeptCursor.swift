internal import Reactor

/// What a reader has yet to get of the kept lines: first the windows of each series, then the lines without a number here in
/// the order in which they came, then those with one.
package struct KeptCursor: Sendable, Equatable {
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

    /// Whether windows come before lines. Where there is room for some lines only, values are worth more.
    var windowsComeFirst = true

    /// Wants no kept lines.
    init() {}

    /// - Parameters:
    ///   - after: it has the lines up to this number: 0 for none, nil if it wants no kept lines.
    ///   - sequence: its next line, from which on it gets the log's.
    init(after: Int?, before sequence: Int, of log: borrowing LineLog) {
        (self.after, end) = (after, max(sequence, log.firstSequence))
        guard let after else { return }
        nextArrival = log.kept.arrival(after: after)
        numbers = min(after.addingSaturated(1), end)..<end
        // One that resumes and has missed no lines has them.
        nextWindows = after == 0 || after < end - 1 ? 0 : nil
    }

    /// It has the lines with numbers from a journal, which has no others.
    ///
    /// - Parameter sequence: the number of the last line of this run that it had before; 0 if it has none of this run.
    mutating func oweUnnumbered(after sequence: Int, of kept: borrowing KeptLines) {
        nextArrival = kept.arrival(after: sequence)
        if sequence == 0 { nextWindows = 0 }
    }

    /// Whether there may be more to return.
    func mayHaveMore(of kept: borrowing KeptLines) -> Bool {
        numbers != nil || nextWindows != nil || !newWindows.isEmpty || nextArrival ?? .max < kept.nextArrival
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
    package struct Limit: Equatable {
        // Kept lines made for a reader at once: 64 KiB, or one line; rest once these are written.
        package var bytes = 64 << 10
        package var lines = Int.max
        /// Whether to return windows and lines without a number: these may be of sources that the reader does not know yet.
        let includesNews: Bool

        package init(includesNews: Bool = true) { self.includesNews = includesNews }
    }

    /// The `kept` lines of one call.
    private struct Batch {
        let run: String
        let moment: (wall: Timestamp, feed: Timestamp)
        let limit: Limit
        var lines: [UInt8] = []
        var count = 0

        /// Adds a `kept` line; false when there is no more room.
        mutating func add(_ line: [UInt8]) -> Bool {
            guard count == 0 || count < limit.lines && lines.count + line.count <= limit.bytes else { return false }
            lines += line
            count += 1
            return true
        }

        /// Adds the newest line of a series if it still says something; false when there is no more room.
        mutating func add(_ line: [UInt8], of index: Int, _ sequence: Int, in state: borrowing FeedState) -> Bool {
            guard state.tables.isCurrent(index, sequence, at: moment.feed, of: line) else { return true }
            return add(ControlLine.kept(time: moment.wall, run: run, line: line))
        }
    }

    /// Returns the next kept lines, each with its newline, and their number; no lines when there are no more for now.
    ///
    /// - Parameters:
    ///   - run: the run of the feed.
    ///   - moment: now, by the clock of the store and by that of the agent that the feed belongs to.
    mutating func next(
        of state: borrowing FeedState, _ run: String, at moment: (wall: Timestamp, feed: Timestamp), atMost limit: Limit
    ) -> (lines: [UInt8], count: Int) {
        var batch = Batch(run: run, moment: moment, limit: limit)
        let hasRoom = (!windowsComeFirst || addWindows(of: state, to: &batch)) && addUnnumbered(of: state, to: &batch)
        if hasRoom, addNumbered(of: state, to: &batch), !windowsComeFirst { _ = addWindows(of: state, to: &batch) }
        return (batch.lines, batch.count)
    }

    /// - Returns: whether there is more room, as for the others.
    private mutating func addWindows(of state: borrowing FeedState, to batch: inout Batch) -> Bool {
        guard batch.limit.includesNews else { return true }
        func add(_ index: Int) -> Bool {
            state.tables.windowsLine(of: index, in: batch.run, at: batch.moment, tail: state.fleet.tail)
                .map { batch.add($0) } ?? true
        }
        while let index = nextWindows {
            guard add(index) else { return false }
            nextWindows = index + 1 < state.tables.series.indices.count ? index + 1 : nil
        }
        for index in newWindows.sorted() {
            guard add(index) else { return false }
            newWindows.remove(index)
        }
        return true
    }

    private mutating func addUnnumbered(of state: borrowing FeedState, to batch: inout Batch) -> Bool {
        guard batch.limit.includesNews, let first = nextArrival, first < state.log.kept.nextArrival else { return true }
        var next = state.log.kept.nextArrival
        state.log.kept.forEachArrival(from: first) { arrival, index, line in
            if batch.add(line, of: index, 0, in: state) { return true }
            next = arrival
            return false
        }
        nextArrival = next
        return next == state.log.kept.nextArrival
    }

    private mutating func addNumbered(of state: borrowing FeedState, to batch: inout Batch) -> Bool {
        guard let numbers else { return true }
        var rest: (numbers: Range<Int>, series: Int)?
        state.log.forEachNewest(in: numbers, from: series) { index, sequence, line in
            if batch.add(line, of: index, sequence, in: state) { return true }
            rest = (sequence..<numbers.upperBound, index)
            return false
        }
        (self.numbers, series) = (rest?.numbers, rest?.series)
        return rest == nil
    }
}
