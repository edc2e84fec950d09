internal import Reactor

/// What the store knows of one reader.
final class StoreReader {
    /// Whether it is to be called when there is more.
    enum Waiting: Equatable {
        case no
        /// Yes; it has this place among those that wait.
        case at(Int)
        /// There is more, and its turn to be called has yet to come.
        case called
    }

    /// What the `agent` line calls it; nil leaves it out there.
    var name: String?
    /// Tells it that there is more.
    let call: () -> Void
    /// What the task waits at that reads by `next`; nil for a reader that is called.
    let wakeup: Wakeup?
    var waits = Waiting.no
    /// The number of the line it gets next.
    var cursor: Int
    /// Up to which number lines outlive the process, for an output that says so: it holds what comes behind that.
    var durable: Int?
    /// How its output is doing, as the `agent` line says it.
    var state = "ok"
    /// What it has not seen of a run that is over.
    var owedGap: ClosedRange<Int>?
    /// Whether it has yet to be told whose feed it is.
    var owesGreeting = false
    /// Whether it has yet to be told how the sources are now, in a feed that it knows.
    var owesNews = false
    /// The `bye` of the run that it has lines of, and has yet to get, if it keeps runs.
    var farewell: [UInt8]?
    var isFiltered = false
    /// Whether it reads what is older than the log somewhere else, and gets nothing here until it is back.
    var isAway = false
    /// Where it asked to begin before it was known whose feed this is.
    var wish: ReaderWish?
    /// The number of the first line that is to be kept for it, and that inputs wait by.
    var kept: Int { durable.map { $0 + 1 } ?? cursor }
    /// Whether somebody wants its next `next` to come back at once.
    var isInterrupted = false

    init(name: String?, cursor: Int, on loop: EventLoop, call: (() -> Void)?) {
        self.name = name
        self.cursor = cursor
        let wakeup = call == nil ? Wakeup(loop: loop) : nil
        self.wakeup = wakeup
        self.call = call ?? { wakeup?.signal() }
    }
}

/// Where a reader wants to begin, and of which run: of another one it gets all there is. Nil for whichever there is.
struct ReaderWish {
    var start: ReaderStart
    var run: String?

    /// The number of its first line in the run that says this.
    func cursor(in hello: Line.Hello) -> Int {
        guard run == nil || run == hello.run else { return hello.firstSeq }
        switch start {
        case .oldest: return hello.firstSeq
        case .newest: return hello.nextSeq
        // Its lines come by and by, from the oldest on.
        case .after(let sequence): return max(hello.firstSeq, min(max(0, sequence), hello.nextSeq - 1) + 1)
        }
    }
}
