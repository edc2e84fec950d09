package import Feed
internal import Reactor

/// The alerts that a recording comes to: what an agent with these rules would have told, run after run.
package struct PastAlerts: Sendable {
    private let rules: [AlertRule]
    private var book: AlertBook
    private var sieve = LineSieve()
    /// The run whose first line has not come, and the sources that there are then.
    private var next: (hello: Line.Hello, sources: [SourceStatus]?)?
    private var run: String?

    package init(_ rules: [AlertRule]) {
        self.rules = rules
        book = AlertBook(rules, run: "", interval: .seconds(10), from: nil)
    }

    /// The longest time that a condition looks back.
    package var memory: Duration { book.memory }

    /// The number of times that a series found no room.
    package var refused: Int { book.refused }

    /// Whether a rule is about anything in the recording.
    package func hasSubject(_ rule: Int) -> Bool { book.hasSubject(rule) }

    /// Applies the next line.
    package mutating func apply(_ line: RecordedLine) {
        guard case .other(let relayed) = line else { return applyNumbered(line) }
        switch relayed.line.body {
        case .hello(let hello):
            guard hello.run != run else { return }
            run = hello.run
            next = (hello, nil)
        case .stats(let stats):
            if next != nil {
                next?.sources = stats.sources
            } else {
                sieve.interrupt()
                book.list(stats)
            }
        case .bye, .refusal: return
        case .kept:
            begin(at: relayed.line.time)
            sieve.interrupt()
            book.apply(relayed.line)
        default: applyNumbered(line)
        }
    }

    private mutating func applyNumbered(_ line: RecordedLine) {
        if next != nil { begin(at: line.time) }
        sieve.show(line, to: &book)
    }

    /// Goes on with the next run as an agent does that has its journal.
    private mutating func begin(at time: Timestamp) {
        guard let (hello, sources) = next.take() else { return }
        sieve.interrupt()
        let old = book
        book = AlertBook(rules, run: hello.run, interval: hello.interval, from: nil)
        // Of a run whose beginning is missing nobody knows when it was.
        let started = hello.firstSeq == 1 ? hello.app.started : nil
        book.resume(after: old, sources: hello.isFleet ? nil : sources, at: started ?? time)
    }

    /// Removes and returns the next alert, with its source's name.
    package mutating func nextAlert() -> (source: String, alert: Alert)? { book.nextAlert() }
}
