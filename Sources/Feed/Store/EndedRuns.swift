internal import Reactor

/// The runs of an attached agent that have ended: a reader is told which of their lines it did not get.
struct EndedRuns {
    struct Run {
        let identity: AgentIdentity
        let isFleet: Bool
        let interval: Duration
        let history: Duration
        /// How many sources it had.
        let sources: Int
        /// The sequence numbers of its lines.
        let numbers: Range<Int>

        /// The `hello` and `stats` that come before a `gap` for these lines.
        func greeting(for missing: ClosedRange<Int>, isFiltered: Bool, at time: Timestamp) -> [UInt8] {
            ControlLine.hello(
                time: time, identity: identity, isFiltered: isFiltered, interval: interval, history: history,
                firstSequence: missing.lowerBound, nextSequence: numbers.upperBound, isFleet: isFleet)
                + ControlLine.stats(
                    time: time, asOf: missing.lowerBound - 1, endpoints: [], sources: [], moreSources: sources)
        }
    }

    /// Lines that a reader did not get.
    struct Missing {
        let numbers: ClosedRange<Int>
        /// The ended run that they belong to; nil for the feed's.
        var run: Run?
        /// Whether the reader was greeted for their run, if that has ended.
        var isGreeted = true
    }

    // Bound: ended runs of an attached agent that a reader is told of | 16 | the oldest are not named
    static let most = 16
    private var runs: [Run] = []
    /// The sequence number of the first line of the feed's run.
    var feedFirst = 1

    /// Adds the run that ends.
    mutating func add(_ run: Run) { runs = runs.suffix(Self.most - 1) + [run] }

    /// The number behind the last line of an ended run; nil when it is not among these.
    func end(of run: String) -> Int? { runs.last { $0.identity.run == run }?.numbers.upperBound }

    /// The lines from this one on, run by run; nil when it is not known to be of an ended run.
    ///
    /// - Parameter current: the feed's run, which may have the name of an ended one.
    func missing(from line: LineID, before current: String) -> [Missing]? {
        if line.run == current, line.sequence >= feedFirst { return nil }
        let isItsRun = { (run: Run) in run.identity.run == line.run }
        guard
            let start = runs.firstIndex(where: { isItsRun($0) && line.sequence < $0.numbers.upperBound })
                ?? runs.lastIndex(where: isItsRun)
        else { return nil }
        return runs.indices[start...].compactMap { index in
            // Of its own run also lines that never came here: the agent had let go of them.
            let first = index == start ? max(1, line.sequence) : runs[index].numbers.lowerBound
            return Missing(from: first, of: runs[index], isGreeted: false)
        }
    }
}

extension EndedRuns.Missing {
    /// The lines of a run from this one on; nil when it has none.
    init?(from first: Int, of run: EndedRuns.Run, isGreeted: Bool) {
        guard first < run.numbers.upperBound else { return nil }
        self.init(numbers: first...(run.numbers.upperBound - 1), run: run, isGreeted: isGreeted)
    }
}
