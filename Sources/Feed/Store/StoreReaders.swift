internal import Reactor

/// The readers of one store: calls those that wait, decides when all get a new greeting, and lets inputs wait for
/// lossless outputs.
final class StoreReaders {
    private let loop: EventLoop
    let wakes: ReaderWakes
    private var readers: [ReaderID: StoreReader] = [:]
    private var opened = 0
    /// Readers of lossless outputs.
    private var holders: [StoreReader] = []
    /// The inputs that wait for them.
    private var inputs: [Wakeup] = []
    /// The greeting for readers that owe one at this next sequence number.
    private var sharedGreeting: (next: Int, lines: [UInt8])?
    /// The time when readers were last greeted because of changed sources, and when they next will be.
    private var lastNews: LoopInstant?
    private var news: (timer: LoopTimer, due: LoopInstant)?

    init(on loop: EventLoop) {
        self.loop = loop
        wakes = ReaderWakes(on: loop)
    }

    var count: Int { readers.count }

    subscript(id: ReaderID) -> StoreReader? { readers[id] }

    /// Those that are not away.
    var present: some Sequence<StoreReader> { readers.values.lazy.filter { !$0.isAway } }

    /// Those that keep runs.
    var keepers: some Sequence<StoreReader> { readers.values.lazy.filter { $0.durable != nil } }

    func add(_ reader: StoreReader) -> ReaderID {
        defer { opened += 1 }
        let id = ReaderID(index: opened)
        readers[id] = reader
        return id
    }

    /// Removes a reader; nothing waits for it any more.
    func remove(_ id: ReaderID) {
        guard let reader = readers.removeValue(forKey: id) else { return }
        wakes.forget(reader)
        setHolding(false, reader)
        reader.wakeup?.signal()  // a task in `next` finds it closed
    }

    /// Calls all readers and inputs that wait, because the feed is over.
    func finish() {
        if let news { loop.cancel(news.timer) }
        wakes.callAll()
        resumeInputs()
    }

    /// The outputs, for `agent` lines.
    func outputs(before next: Int) -> [Line.Output] {
        readers.sorted { $0.key.index < $1.key.index }.compactMap { _, reader in
            reader.name.map {
                Line.Output(output: $0, state: reader.state, behind: next - reader.cursor, durable: reader.durable)
            }
        }
    }

    // MARK: Greetings

    /// Sends every reader a new greeting next.
    func greetAll() {
        oweNews()
        wakes.callAll()
    }

    func oweNews() {
        sharedGreeting = nil
        for reader in readers.values { reader.oweNews() }
    }

    /// Greets readers because the sources have changed, at most once a second: a thousand agents may start at once.
    ///
    /// - Parameter time: the time to do so; nil for as soon as possible.
    func greetSoon(at time: LoopInstant?) {
        let now = loop.clock.now
        let due = max(time ?? now, lastNews.map { $0.advanced(by: .seconds(1)) } ?? now, now)
        if let news {
            guard due < news.due else { return }
            loop.cancel(news.timer)
        }
        // Even the first is scheduled: more changes may follow in a moment.
        let timer = loop.schedule(at: due) { [weak self] in
            guard let self else { return }
            (news, lastNews) = (nil, loop.clock.now)
            greetAll()
        }
        news = (timer, due)
        guard due <= now.advanced(by: .seconds(1)) else { return }
        for reader in readers.values { reader.awaitsNews = true }
    }

    /// Returns the greeting that a reader owes; readers that get it one after the other share it, as long as no line is
    /// added in between.
    ///
    /// - Parameter next: the next line's sequence number.
    func greeting(for reader: StoreReader, at next: Int, _ make: (_ isFiltered: Bool) -> [UInt8]) -> [UInt8] {
        defer { reader.owedGreeting = .none }
        guard !reader.isFiltered, reader.owedGreeting == .news else { return make(reader.isFiltered) }
        let lines = sharedGreeting.flatMap { $0.next == next ? $0.lines : nil } ?? make(false)
        let isLast = !readers.values.contains { $0.owedGreeting == .news && $0 !== reader }
        sharedGreeting = isLast ? nil : (next, lines)
        return lines
    }

    // MARK: Backpressure

    func setHolding(_ holds: Bool, _ reader: StoreReader) {
        holders.removeAll { $0 === reader }
        if holds { holders.append(reader) }
    }

    /// Whether a lossless output is more than half a log behind.
    func areHeldBack(by log: borrowing LineLog) -> Bool {
        let half = log.capacity / 2
        for reader in holders where log.memoryBehind(reader.held) > half { return true }
        return false
    }

    /// The first line that some lossless output has not seen. It is kept, however old it is: while its reader stands
    /// still, lines must not expire.
    var heldFrom: Int {
        var first = Int.max
        for reader in holders { first = min(first, reader.held) }
        return first
    }

    /// Whether a lossless output has yet to get a line below this number, or the `bye` of a run.
    func lacksLines(below next: Int) -> Bool { heldFrom < next || holders.contains { $0.farewell != nil } }

    func add(_ input: Wakeup) { inputs.append(input) }
    func remove(_ input: Wakeup) { inputs.removeAll { $0 === input } }

    /// Lets inputs go on, unless a lossless output is more than half a log behind.
    func resumeInputs(_ log: borrowing LineLog) { if !inputs.isEmpty, !areHeldBack(by: log) { resumeInputs() } }

    private func resumeInputs() {
        for input in inputs { input.signal() }
        inputs = []
    }
}
