package import Feed
internal import Reactor

/// The alerts that a recording would have produced: what an agent with these rules would have told, run after run.
package struct PastAlerts: Sendable {
    /// A run whose first numbered line has not come.
    private struct NextRun {
        let hello: Line.Hello
        var sources: [SourceStatus] = []
        /// Whether these are all.
        var isAll = false
        /// Whether its first lines are missing.
        var isCut = false
        /// What fires by the lines before it; nil until the book is that of the run.
        var firing: [(alert: Alert, source: String)]?
    }

    private let rules: [AlertRule]
    private let names: Set<Board.Name>
    private var book: AlertBook
    private var sieve = LineSieve()
    private var next: NextRun?
    private var run: String?
    private var isFleet = false
    /// The newest time by the writer's clock: events have times of their own.
    private var written: Timestamp?
    /// The latest time of a line.
    private var latest: Timestamp?
    private var refusedBefore = 0
    /// What fires where the reading begins.
    private var firingBefore: [(alert: Alert, source: String)]
    /// How far the clock went on within runs while no time passed.
    package private(set) var skipped = Duration.zero

    // Bound: alerts that fire where a recording begins | 100,000 | the others fire anew
    private static let mostFiring = 100_000

    /// - Parameter firing: alerts that fire already where the reading begins.
    package init(_ rules: [AlertRule], firing: [(alert: Alert, source: String)] = []) {
        (self.rules, firingBefore) = (rules, firing)
        names = Set(rules.map { Board.Name($0.name) })
        book = AlertBook(rules, run: "", interval: .seconds(10), from: nil)
    }

    /// The longest time that a condition looks back.
    package var memory: Duration { book.memory }

    /// The number of lines of which the series found no room.
    package var refused: Int { refusedBefore + book.refused }

    /// Whether a rule is about anything in the recording.
    package func hasSubject(_ rule: Int) -> Bool { book.hasSubject(rule) }

    /// Whether there is a rule of that name.
    package func has(rule name: String) -> Bool { names.contains(Board.Name(name)) }

    /// What fires by the newest line.
    package var firing: [(alert: Alert, source: String)] { book.firing }

    /// Whether a rule of that name has a condition with these tests.
    private func has(test: String, of name: String) -> Bool {
        rules.contains { rule in rule.name == name && rule.conditions.contains { $0.body == test } }
    }

    /// Applies the next line.
    package mutating func apply(_ line: RecordedLine) {
        guard case .other(let relayed) = line else { return applyNumbered(line) }
        switch relayed.line.body {
        case .hello(let hello):
            guard hello.run != run else { return }
            (run, isFleet) = (hello.run, hello.isFleet)
            next = NextRun(hello: hello)
        case .gap where next != nil: next?.isCut = true
        case .stats(let stats):
            if next != nil {
                next?.sources = stats.sources
                next?.isAll = stats.moreSources == 0
            } else {
                sieve.interrupt()
                book.list(stats, isAll: !isFleet)
            }
        case .bye, .refusal: return
        case .kept(let kept): recall(kept.line, relayed.line)
        case .clock(let change) where relayed.line.agent == nil:
            skipped += max(.zero, change.step + change.slept)
            applyNumbered(line)
        default: applyNumbered(line)
        }
    }

    private mutating func applyNumbered(_ line: RecordedLine) {
        begin(at: line.time)
        if !line.isData { written = line.time }
        latest = max(latest ?? line.time, line.time)
        sieve.show(line, to: &book)
    }

    /// Reads a line from before the first numbered one.
    private mutating func recall(_ old: Line, _ line: Line) {
        sieve.interrupt()
        if next != nil, next?.firing == nil { prepare(at: line.time) }
        if case .alert(let alert) = old.body {
            guard old.agent == nil, alert.state != .resolved, has(test: alert.test, of: alert.condition),
                let count = next?.firing?.count, count < Self.mostFiring
            else { return }
            next?.firing?.append((alert, old.source ?? EventStore.ownName))
        } else if next == nil {
            book.apply(line)
        } else {
            book.applyPast(line)
        }
    }

    /// Has a book of the next run take over what that of the run before knows, unless an agent would not have read of it again.
    private mutating func prepare(at time: Timestamp) {
        guard let hello = next?.hello else { return }
        sieve.interrupt()
        let old = book
        refusedBefore += old.refused
        let rhythms = next?.sources.map(\.rhythm) ?? []
        let span = max(memory, WindowSpan.lookback(for: rhythms, history: hello.history))
        if let latest, latest < start(of: hello, time) - span {
            book = AlertBook(rules, run: hello.run, interval: hello.interval, from: nil)
        } else {
            book = book(of: hello.run, with: rules, interval: hello.interval)
        }
        next?.firing = old.firing
    }

    /// When a run began: if its beginning is missing, at its first line.
    private func start(of hello: Line.Hello, _ first: Timestamp) -> Timestamp {
        (hello.firstSeq == 1 ? hello.app.started : nil) ?? max(first, written ?? first)
    }

    /// Goes on with the next run as an agent does that has its journal.
    private mutating func begin(at time: Timestamp) {
        guard next != nil else { return }
        if next?.firing == nil { prepare(at: time) }
        guard let run = next.take() else { return }
        let firing = (run.firing ?? []) + firingBefore
        firingBefore = []
        book.resume(
            firing, sources: run.sources, isAll: run.isAll && !run.hello.isFleet,
            isNew: run.hello.firstSeq == 1, at: start(of: run.hello, time))
        if run.isCut { book.miss(1...1) }
    }

    /// The book of a run that begins behind these lines, before `AlertBook.resume`.
    ///
    /// - Parameter rules: which may be others.
    package func book(of run: String, with rules: [AlertRule], interval: Duration) -> AlertBook {
        var next = AlertBook(rules, run: run, interval: interval, from: nil)
        next.adopt(ended: book)
        return next
    }

    /// Removes and returns the next alert, with its source's name.
    package mutating func nextAlert() -> (source: String, alert: Alert)? { book.nextAlert() }
}

extension RecordedLine {
    fileprivate var isData: Bool {
        switch self {
        case .plain(let plain, _): plain.kind == .data
        case .other(let relayed): if case .data = relayed.line.body { true } else { false }
        }
    }
}
