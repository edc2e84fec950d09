internal import Reactor

extension EventStore {
    func cursor(_ start: ReaderStart) -> Int {
        switch start {
        case .oldest: state.log.firstSequence
        case .newest: state.log.nextSequence
        case .after(let sequence): min(max(0, sequence), state.log.nextSequence - 1) + 1
        }
    }

    /// `hello` and `stats` as of now.
    package func greeting(isFiltered: Bool) -> [UInt8] {
        let now = wallTime
        let hello = ControlLine.hello(
            time: now, identity: identity, isFiltered: isFiltered,
            interval: relayed?.interval ?? state.limits.interval,
            history: relayed?.history ?? state.limits.history, firstSequence: state.log.firstSequence,
            nextSequence: state.log.nextSequence)
        let stats = ControlLine.stats(
            time: now, asOf: state.log.nextSequence - 1, endpoints: endpoints, sources: sourceStates)
        return hello + stats
    }

    /// Has every reader get a new `hello` and `stats` next, as after the sources have changed; it goes on where it is.
    package func greetAll() {
        for reader in readers.values where !reader.owesGreeting {
            reader.owesNews = true
            stopWaiting(reader)
            reader.wakeup.signal()
        }
    }

    /// Makes a reader's `next`, the one under way or the one after this, come back with `interrupted`.
    package func interrupt(_ id: ReaderID) {
        guard let reader = readers[id] else { return }
        reader.isInterrupted = true
        stopWaiting(reader)
        reader.wakeup.signal()
    }

    /// Moves a reader; the bytes are the `hello` and `stats` that its connection goes on with.
    ///
    /// - Parameters:
    ///   - start: where to.
    ///   - run: which run that is said of; of another one, the reader gets all there is. Nil for whichever there is.
    /// - Returns: no bytes when the reader is owed a greeting anyway: that comes by `next`.
    package func move(_ id: ReaderID, to start: ReaderStart, of run: String? = nil, isFiltered: Bool) -> [UInt8] {
        guard let reader = readers[id] else { return [] }
        reader.isFiltered = isFiltered
        if let relayed, !relayed.hasBegun {
            reader.wish = (start, run)
            return []
        }
        reader.cursor = cursor(run == nil || run == identity.run ? start : .oldest)
        if reader.owesGreeting { return [] }
        reader.owesNews = false
        return greeting(isFiltered: isFiltered)
    }

    /// Moves a reader back by some bytes, to the start of a line; a reader that has yet to be told of another run stays.
    ///
    /// - Parameters:
    ///   - first: the number that it is not moved back beyond.
    ///   - fallback: where to, when the log has let go of the lines: it gets a gap for those.
    /// - Returns: the number of the line it gets next.
    package func rewind(_ id: ReaderID, bytes: Int, notBefore first: Int, fallback: Int) -> Int {
        guard let reader = readers[id] else { return first }
        guard !reader.owesGreeting else { return reader.cursor }
        let (sequence, isWhole) = state.log.line(bytes, before: reader.cursor)
        reader.cursor = max(first, isWhole ? sequence : min(sequence, fallback))
        return reader.cursor
    }

    /// The number of the line that a reader gets next.
    package func place(of id: ReaderID) -> Int { readers[id]?.cursor ?? state.log.nextSequence }

    /// Counts a reader that was closed because it took nothing.
    package func noteStalledReader() { state.counts.stalledReaders += 1 }

    /// Says in `agent` lines how a reader's output is doing: `ok`, or what is wrong.
    package func setState(_ text: String, of id: ReaderID) { readers[id]?.state = text }

    /// What the store knows of one reader.
    final class Reader {
        let name: String?
        /// The number of the line it gets next.
        var cursor: Int
        let wakeup: Wakeup
        var state = "ok"
        /// Whether `waiting` has it.
        var isWaiting = false
        /// What it has not seen of a run that is over.
        var owedGap: ClosedRange<Int>?
        /// Whether it has yet to be told whose feed it is.
        var owesGreeting = false
        /// Whether it has yet to be told how the sources are now, in a feed that it knows.
        var owesNews = false
        var isFiltered = false
        /// Where it asked to begin before it was known whose feed this is, and of which run.
        var wish: (start: ReaderStart, run: String?)?
        /// Whether somebody wants its next `next` to come back at once.
        var isInterrupted = false

        init(name: String?, cursor: Int, wakeup: Wakeup) {
            self.name = name
            self.cursor = cursor
            self.wakeup = wakeup
        }
    }
}
