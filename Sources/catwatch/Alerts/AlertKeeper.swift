internal import Conditions
internal import Feed
internal import Inputs
internal import Journal
internal import Outputs
internal import Reactor

/// Has the store decide alerts: after a start from where a journal's newest lines left them, after a reload from where they are.
actor AlertKeeper {
    private let store: EventStore
    private let loop: EventLoop
    private var rules: [AlertRule]
    private var hasBegun = false
    private let begun: Wakeup
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ rules: [AlertRule], store: EventStore, on loop: EventLoop) {
        (self.rules, self.store, self.loop) = (rules, store, loop)
        begun = Wakeup(loop: loop)
    }

    /// Waits until alerts are decided, or it is known that they will not be.
    func waitUntilBegun(until deadline: LoopInstant) async throws(CancellationError) {
        try await begun.wait(until: deadline)
    }

    /// Begins without a journal.
    func begin() { install([], lines: [], of: "") }

    /// Begins with the alerts of a journal.
    ///
    /// - Returns: why it could not be read: then alerts of earlier runs are unknown.
    func begin(after history: JournalQueue) async throws(CancellationError) -> JournalFault? {
        let run = await store.run
        var reading = PastReading(from: .alerts(before: run), nil, as: .lines)
        switch try await history.step(&reading) {
        case .last(let bytes), .bytes(let bytes):
            install(Self.stored(in: bytes), lines: bytes, of: run)
            return nil
        case .end(let fault):
            install([], lines: [], of: run)
            return rules.isEmpty ? nil : fault
        }
    }

    /// - Parameter lines: the `kept` lines of what is stored.
    private func install(_ stored: [AlertEngine.Stored], lines: [UInt8], of run: String) {
        hasBegun = true
        begun.open()
        guard !rules.isEmpty || !stored.isEmpty else { return }
        let rules = rules
        store.assumeIsolated { store in
            let moment = store.moment
            store.restore(RecordedState.lines(in: lines, of: run, at: moment.wall))
            var engine = AlertEngine(rules, run: store.run, window: store.limits.interval, at: moment)
            for status in store.sourceStates { engine.describe(status, at: moment) }
            engine.restore(stored, isFleet: store.isOfFleet, at: moment)
            // Some may be gone since: the next complete answer of their sources says so.
            store.expect(engine.series)
            // What came while the journal was read counts as well.
            store.setObserver(engine, readsLog: true)
        }
    }

    /// The alerts of `kept` lines, whose time is that of the newest line before this run.
    private static func stored(in bytes: [UInt8]) -> [AlertEngine.Stored] {
        var stored: [AlertEngine.Stored] = []
        bytes.withUnsafeBytes { bytes in
            bytes.forEachLine { line in
                guard let line = try? LineDecoder.decode(Bytes(line)), case .kept(let kept) = line.body,
                    kept.line.agent == nil, case .alert(let alert) = kept.line.body
                else { return }
                stored.append(.init(alert, of: kept.line.source ?? EventStore.ownName, age: line.time - kept.line.time))
            }
        }
        return stored
    }

    /// Decides other alerts from now on.
    func replace(with new: [AlertRule]) {
        guard new != rules else { return }
        rules = new
        guard hasBegun else { return }
        store.assumeIsolated { store in
            let (old, moment) = (store.takeObserver() as? AlertEngine, store.moment)
            guard old != nil || !new.isEmpty else { return }
            var engine = AlertEngine(new, run: store.run, window: store.limits.interval, at: moment)
            for status in store.sourceStates { engine.describe(status, at: moment) }
            if let old { engine.replace(old, at: moment) }
            store.setObserver(engine)
        }
    }
}
