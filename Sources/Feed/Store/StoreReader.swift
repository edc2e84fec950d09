internal import Reactor

/// The store's state of one reader.
final class StoreReader {
    /// Whether it waits to be called when there is more.
    enum Waiting: Equatable {
        case no
        /// Yes, at this index among the waiting ones.
        case at(Int)
        /// There is more, and its call is pending.
        case called
    }

    /// Its name in `agent` lines; nil to leave it out.
    var name: String?
    /// Called when there is more.
    let call: () -> Void
    /// The wakeup of the task that reads by `next`; nil for a reader that is called.
    let wakeup: Wakeup?
    var waits = Waiting.no
    /// The sequence number of its next line.
    var cursor: Int
    /// The last sequence number that survives the process, for an output that reports it; later lines are kept for it.
    var durable: Int?
    /// The state of its output, for `agent` lines.
    var state = "ok"
    /// What it has yet to get of the kept lines.
    var kept = KeptCursor()
    /// Whether it is to be greeted soon, because of new sources; it gets kept lines that came since after that.
    var awaitsNews = false
    /// Lines of an ended run that it has missed.
    var owedGap: ClosedRange<Int>?
    /// Whether it has yet to get the first greeting, or that of another run.
    var owesGreeting = false
    /// Whether it has yet to get a new greeting for changed sources.
    var owesNews = false
    /// The `bye` that it has yet to get of a run that it has read, if it keeps runs.
    var farewell: [UInt8]?
    var isFiltered = false
    /// Whether it reads lines older than the log elsewhere, and gets nothing here until it is back.
    var isAway = false
    /// The start that it asked for before the feed's run was known.
    var pendingStart: PendingStart?
    /// The first sequence number to hold for it, which also limits inputs.
    var held: Int { durable.map { $0 + 1 } ?? cursor }
    /// Set by `interrupt`: the next call of `next` returns at once.
    var isInterrupted = false

    init(name: String?, cursor: Int, on loop: EventLoop, call: (() -> Void)?) {
        self.name = name
        self.cursor = cursor
        let wakeup = call == nil ? Wakeup(loop: loop) : nil
        self.wakeup = wakeup
        self.call = call ?? { wakeup?.signal() }
    }
}

/// A reader's requested start, and its run (nil for any): in another run it gets all lines.
struct PendingStart {
    var start: ReaderStart
    var run: String?

    /// Whether it is a start in this run.
    func isOf(_ name: String) -> Bool { run == nil || run == name }

    /// The sequence number of its first line in the run of this `hello`.
    func cursor(in hello: Line.Hello) -> Int {
        guard isOf(hello.run) else { return hello.firstSeq }
        // A relayed feed's lines arrive one by one, from the oldest.
        return max(
            hello.firstSeq, start.cursor(first: hello.firstSeq, next: hello.nextSeq, asOf: hello.nextSeq - 1))
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
    /// After this sequence number.
    case after(Int)

    /// The sequence number of the first line, in a feed that has these lines.
    ///
    /// - Parameter asOf: the last number that the feed has given, as far as it is known.
    func cursor(first: Int, next: Int, asOf: Int) -> Int {
        switch self {
        case .oldest: first
        case .newest: next
        case .after(let sequence): min(max(0, sequence), asOf).addingSaturated(1)
        }
    }
}

/// The next item for a reader.
package enum Delivery: Sendable {
    /// Whole lines, in the log's own memory.
    case lines(LineSpan)
    /// `kept` lines.
    case kept([UInt8])
    /// A `gap` line that names the lines that the reader has missed.
    case gap([UInt8])
    /// A new `hello` and `stats`: from here on the feed is of another run, or its sources have changed.
    case greeting([UInt8])
    /// Nothing new; `interrupt` was called.
    case interrupted
    /// The `bye` line, which is the last.
    case end([UInt8])
}
