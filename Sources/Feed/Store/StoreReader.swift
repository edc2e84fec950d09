internal import Reactor

/// One reader of the store: its position, and what else it has yet to get.
final class StoreReader {
    /// Whether it waits to be called when there is more.
    enum Waiting: Equatable {
        case no
        /// Yes, at this index among the waiting ones.
        case at(Int)
        /// There is more, and its call is pending.
        case called
    }

    /// Where its lines come from.
    private enum Position {
        /// From the log, at `cursor`.
        case log
        /// From elsewhere, as they are older than the log: it gets nothing here until it is back.
        case away
        /// From this start in the log, once the feed's run is known.
        case pending(ReaderStart)
    }

    /// The `hello` and `stats` that it has yet to get.
    enum Greeting {
        case none
        /// New ones for changed sources.
        case news
        /// The first, or those of another run.
        case run
    }

    /// Its name in `agent` lines; nil to leave it out.
    var name: String?
    /// Called when there is more.
    let call: () -> Void
    /// The wakeup of the task that reads by `next`; nil for a reader that is called.
    let wakeup: Wakeup?
    var waits = Waiting.no
    private var position = Position.log
    /// The sequence number of its next line.
    private(set) var cursor = 1
    /// The last sequence number that survives the process, for an output that reports it; later lines are kept for it.
    var durable: Int?
    /// The state of its output, for `agent` lines.
    var state = "ok"
    /// What it has yet to get of the kept lines.
    var kept = KeptCursor()
    /// Whether it is to be greeted soon, because of new sources; it gets kept lines that came since after that.
    var awaitsNews = false
    /// Lines that it has missed, and is not told of yet.
    private var missing: [EndedRuns.Missing] = []
    var owedGreeting = Greeting.none
    /// The `bye` that it has yet to get of a run that it has read, if it keeps runs.
    var farewell: [UInt8]?
    var isFiltered = false
    /// Set by `interrupt`: the next call of `next` returns at once.
    var isInterrupted = false

    init(name: String?, on loop: EventLoop, call: (() -> Void)?) {
        self.name = name
        let wakeup = call == nil ? Wakeup(loop: loop) : nil
        self.wakeup = wakeup
        self.call = call ?? { wakeup?.signal() }
    }

    /// The first sequence number to hold for it, which also limits inputs.
    var held: Int { durable.map { $0 + 1 } ?? cursor }

    var isAway: Bool { if case .away = position { true } else { false } }

    /// Moves to a position in the log, or to one that it takes once the feed's run is known.
    ///
    /// - Parameters:
    ///   - first: the first line to replay. If it asked for older ones by sequence number, a gap names those.
    ///   - keptAfter: it first gets the kept lines above this number; nil for none.
    ///   - ended: if it asked for lines of one of these runs, gaps name those, and those of the runs since.
    func move(
        to start: ReaderStart, from first: Int, keptAfter: Int?, in run: String, of state: borrowing FeedState,
        behind ended: EndedRuns
    ) {
        guard state.hasBegun else {
            position = .pending(start)
            kept = KeptCursor(after: keptAfter, before: 0, of: state.log)
            return
        }
        let line = start.line(in: run)
        let endedLines = line.flatMap { ended.missing(from: $0, before: run) }
        // A relayed feed's `stats` may count lines that are still to arrive.
        let next =
            endedLines != nil
            ? ended.feedFirst
            : start.cursor(
                in: run, first: state.log.firstSequence, next: state.log.nextSequence, asOf: state.asOf)
        goOn(at: max(next, first), isOfRun: start.isOf(run), keptAfter: keptAfter, in: state.log)
        if case .at(_, let asked) = start {
            owedGreeting = .none
            if let asked { kept.oweUnnumbered(after: asked.run == run ? asked.sequence : 0, of: state.log.kept) }
        }
        guard line != nil else { return }
        missing = endedLines ?? []
        if !missing.isEmpty { owedGreeting = .run }
        if case .after = start, endedLines != nil || start.isOf(run), next < first {
            missing.append(.init(numbers: next...(first - 1)))
        }
    }

    /// What it is to be told next of lines that it has missed. Of an ended run that it was not greeted for, the greeting
    /// comes first; the same lines are next again.
    func nextMissing() -> EndedRuns.Missing? {
        guard let next = missing.first, next.run != nil || owedGreeting != .run else { return nil }
        if next.isGreeted { missing.removeFirst() } else { missing[0].isGreeted = true }
        return next
    }

    /// The first line that it did not get, and is not told of.
    ///
    /// - Parameter current: the feed's run.
    func nextLine(in current: String) -> LineID {
        guard let missing = missing.first else { return LineID(current, cursor) }
        return LineID(missing.run?.identity.run ?? current, missing.numbers.lowerBound)
    }

    /// Whether it was greeted for the feed's run, and told of all lines that it missed before.
    var isCurrent: Bool { missing.isEmpty && owedGreeting != .run }

    /// - Parameter isOfRun: whether it asked for a position in this run: numbers of another one say nothing of this one's
    ///   lines.
    private func goOn(at sequence: Int, isOfRun: Bool, keptAfter: Int?, in log: borrowing LineLog) {
        (position, cursor) = (.log, sequence)
        kept = KeptCursor(after: isOfRun ? keptAfter : keptAfter.map { _ in 0 }, before: sequence, of: log)
    }

    func sendAway() { position = .away }

    func oweNews() {
        awaitsNews = false
        if owedGreeting == .none { owedGreeting = .news }
    }

    /// Goes on in a run that begins.
    ///
    /// - Parameter old: the run before; nil for the feed's first run.
    func begin(_ hello: Line.Hello, after old: EndedRuns.Run?, in log: borrowing LineLog) {
        if let old {
            var isGreeted = owedGreeting != .run
            if let last = missing.indices.last, missing[last].run == nil {
                (missing[last].run, missing[last].isGreeted) = (old, isGreeted)
                isGreeted = true
            }
            if let rest = EndedRuns.Missing(from: cursor, of: old, isGreeted: isGreeted) {
                // The run that it is in the middle of is named in any case.
                if missing.count == EndedRuns.most { missing.remove(at: missing[0].isGreeted ? 1 : 0) }
                missing.append(rest)
            }
            owedGreeting = .run
        }
        let start = if case .pending(let start) = position { start } else { ReaderStart.oldest }
        // A relayed feed's lines arrive one by one, from the oldest.
        let next = start.cursor(in: hello.run, first: hello.firstSeq, next: hello.nextSeq, asOf: hello.nextSeq - 1)
        goOn(
            at: max(hello.firstSeq, next), isOfRun: old == nil && start.isOf(hello.run), keptAfter: kept.after, in: log)
        if durable != nil { durable = cursor - 1 }
    }

    /// Reads the next lines of the log.
    func read(_ log: borrowing LineLog) -> LineLog.Reading {
        let reading = log.read(from: cursor)
        switch reading {
        case .lines(let span): cursor = span.sequences.upperBound + 1
        case .gap(let missing, _): cursor = missing.upperBound + 1
        case .nothing: break
        }
        return reading
    }
}

/// A reader of one store.
package struct ReaderID: Sendable, Hashable {
    let index: Int
}

/// The position at which a reader starts.
package enum ReaderStart: Sendable {
    /// At the oldest line in the log.
    case oldest
    /// At the next line that is added.
    case newest
    /// After this sequence number of this run (nil: any); in another run, at its oldest line.
    case after(Int, run: String? = nil)
    /// At this line, which may be ahead of the log; in another run, at its first. A `gap` names lines that the log
    /// lacks, once the run is known.
    ///
    /// - Parameter asked: the line behind which the reader, which has read older lines elsewhere, asked for some, if it
    ///   wants kept lines: those without a number are in no journal.
    case at(LineID, asked: LineID? = nil)

    /// Whether it is a start in this run.
    func isOf(_ name: String) -> Bool {
        switch self {
        case .oldest, .newest, .after(_, nil): true
        case .after(_, let run?): run == name
        case .at(let line, _): line.run == name
        }
    }

    /// The first line asked for, if by its number.
    ///
    /// - Parameter current: the run of the line if it names none.
    func line(in current: String) -> LineID? {
        switch self {
        case .oldest, .newest: nil
        case .after(let sequence, let run): LineID(run ?? current, sequence.addingSaturated(1))
        case .at(let line, _): line
        }
    }

    /// The sequence number of the first line, in a feed that has these lines.
    ///
    /// - Parameter asOf: the last number that the feed has given, as far as it is known.
    func cursor(in run: String, first: Int, next: Int, asOf: Int) -> Int {
        switch self {
        case .newest: return next
        case .after(let sequence, _) where isOf(run): return min(max(0, sequence), asOf).addingSaturated(1)
        case .at(let line, _): return isOf(run) ? line.sequence : 1
        case .oldest, .after: return first
        }
    }
}
