internal import Conditions
internal import Feed
internal import Inputs
internal import Journal
internal import Outputs
internal import Reactor

/// Has the store compute alerts: after a start with the state that the journal tells of, after a reload with that of before.
actor AlertKeeper {
    private let store: EventStore
    private let loop: EventLoop
    private let started: Timestamp
    private var rules: [AlertRule]
    private var hasBegun = false
    private let begun: Wakeup
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    // Bound: lines of a journal that alerts are computed from again | the newest 64 MiB, of the longest time in a condition
    //   and of the time that kept lines are restored from | older ones left out
    private static let mostRead = 64 << 20
    // Bound: how often more of a journal is read, as the clock went ahead in what was read | 8 | older lines left out
    private static let mostTries = 8

    init(_ rules: [AlertRule], store: EventStore, on loop: EventLoop, started: Timestamp) {
        (self.rules, self.store, self.loop, self.started) = (rules, store, loop, started)
        begun = Wakeup(loop: loop)
    }

    /// Waits until alerts are computed, or it is known that they will not be.
    func waitUntilBegun(until deadline: LoopInstant) async throws(CancellationError) {
        try await begun.wait(until: deadline)
    }

    /// Begins without a journal.
    func begin() {
        hasBegun = true
        begun.open()
        guard !rules.isEmpty else { return }
        let (rules, started) = (rules, started)
        store.assumeIsolated { store in
            let book = AlertBook(rules, run: store.run, interval: store.limits.interval, from: started)
            store.setWatcher(book, from: 1)
        }
    }

    /// Begins with what a journal has of earlier runs; lines that have come meanwhile count as well.
    ///
    /// - Returns: why the journal could not be read, if that matters: then alerts of earlier runs are unknown.
    func begin(after history: JournalQueue) async throws(CancellationError) -> JournalFault? {
        defer { begun.open() }
        let run = await store.run
        var fault: JournalFault?
        var firing: [RelayedLine] = []
        var reading = PastReading(from: .alerts, nil, as: .lines)
        switch try await history.step(&reading) {
        case .last(let bytes), .bytes(let bytes):
            firing = RecordedState.lines(in: bytes, of: run, at: started)
        case .end(let found): fault = found
        }
        guard !rules.isEmpty || !firing.isEmpty else {
            hasBegun = true
            return nil
        }
        let told = firing.compactMap(Self.told)
        var past = PastAlerts(rules)
        var skipped = Duration.zero
        // What fires since before what is read.
        var older: [(alert: Alert, source: String)] = []
        for _ in 0..<Self.mostTries where fault == nil && !rules.isEmpty {
            past = PastAlerts(rules, firing: older)
            var begun: Set<String> = []
            // Sets need the newest lines of all their series.
            let span = max(past.memory, await store.lookback)
            fault = try await read(history, since: started - span - skipped, of: run, into: &past, &begun)
            let rest = told.filter { !begun.contains($0.alert.id) }
            // Where the clock went ahead, lines are older than their time says.
            guard past.skipped > skipped || rest.count != older.count else { break }
            (skipped, older) = (past.skipped, rest)
        }
        install(past, told, kept: firing)
        return fault
    }

    /// Computes alerts from the lines of runs before `run`, and adds the ids of those that begin there to `begun`.
    private func read(
        _ history: JournalQueue, since time: Timestamp, of run: String, into past: inout PastAlerts,
        _ begun: inout Set<String>
    ) async throws(CancellationError) -> JournalFault? {
        var reading = PastReading(
            from: .time(time, until: nil), nil, as: .lines, atMost: Self.mostRead, includesStats: true)
        while true {
            switch try await history.step(&reading) {
            case .end(let found): return found
            case .bytes(let bytes) where reading.next?.run != run:
                bytes.withUnsafeBytes { bytes in
                    bytes.forEachLine { line in
                        guard let line = RecordedLine(line.bindMemory(to: UInt8.self)) else { return }
                        past.apply(line)
                        if case .other(let relayed) = line, case .alert(let alert) = relayed.line.body,
                            alert.state == .firing, relayed.line.agent == nil
                        {
                            begun.insert(alert.id)
                        }
                        // They were told in their time.
                        while past.nextAlert() != nil {}
                    }
                }
            case .bytes, .last: return nil
            }
        }
    }

    /// The alert in a `kept` line, and its source.
    private static func told(_ relayed: RelayedLine) -> (alert: Alert, source: String)? {
        guard case .kept(let kept) = relayed.line.body, kept.line.agent == nil,
            case .alert(let alert) = kept.line.body, alert.state != .resolved
        else { return nil }
        return (alert, kept.line.source ?? EventStore.ownName)
    }

    /// Has the store compute alerts after what a journal tells of earlier runs.
    ///
    /// - Parameters:
    ///   - told: the alerts that fire.
    ///   - lines: their `kept` lines.
    private func install(_ past: PastAlerts, _ told: [(alert: Alert, source: String)], kept lines: [RelayedLine]) {
        hasBegun = true
        let (rules, started) = (rules, started)
        store.assumeIsolated { store in
            // The configuration may have been read again meanwhile.
            var book = past.book(of: store.run, with: rules, interval: store.limits.interval)
            book.resume(told, sources: store.sourceStates, isAll: !store.isOfFleet, at: started)
            store.restore(lines)
            // Some may have gone while no agent ran, for longer than the store remembers.
            store.expect(book.openSeries)
            store.setWatcher(book, from: 1)
        }
    }

    /// Computes other alerts from now on.
    func replace(with new: [AlertRule]) {
        guard new != rules else { return }
        rules = new
        guard hasBegun else { return }
        store.assumeIsolated { store in
            let old = store.takeWatcher() as? AlertBook
            guard old != nil || !new.isEmpty else { return }
            let known = Set(old?.rules.flatMap(\.conditions).map(\.text) ?? [])
            let isKnown = new.allSatisfy { rule in rule.conditions.allSatisfy { known.contains($0.text) } }
            let newest = isKnown ? [] : store.newestOfEach ?? []
            let kept = newest.flatMap { Self.lines(in: $0) }.filter { line in
                if case .kept(let kept) = line.body { !store.isGone(kept.line) } else { true }
            }
            var book = AlertBook(
                new, run: store.run, interval: store.limits.interval, from: old == nil ? store.wallTime : nil)
            let (sources, now) = (store.sourceStates, store.wallTime)
            if let old {
                book.replace(old, sources, kept: kept, at: now)
            } else {
                book.begin(sources, kept: kept)
            }
            store.setWatcher(book, from: store.nextSequence)
        }
    }

    private static func lines(in piece: [UInt8]) -> [Line] {
        var lines: [Line] = []
        piece.withUnsafeBytes { piece in
            piece.forEachLine { if let line = try? LineDecoder.decode(Bytes($0)) { lines.append(line) } }
        }
        return lines
    }
}
