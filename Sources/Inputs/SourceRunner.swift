package import Feed
package import Reactor

/// Runs the inputs of all sources side by side, and replaces some of them while the others continue.
package actor SourceRunner {
    /// The numbers of sources that `replace` changed.
    package struct Changes: Sendable, Equatable {
        package var added = 0
        package var changed = 0
        package var removed = 0
        package var kept = 0

        package init(added: Int = 0, changed: Int = 0, removed: Int = 0, kept: Int = 0) {
            self.added = added
            self.changed = changed
            self.removed = removed
            self.kept = kept
        }
    }

    /// The successive sources of one name.
    private struct Slot {
        /// The source to run; nil when it must end.
        var source: Source?
        /// The running task; nil when its input has ended by itself, or none runs.
        ///
        /// Not a child of a group: one child of a group cannot be cancelled, and a group for each source would be three
        /// tasks instead of one: 30 KiB. `run` cancels it and waits for it, so it never outlives `run`.
        var task: Task<Void, Never>?
        /// Whether its input ended before it had read everything.
        var isCutShort = false
        /// The time in which the name is refused: no input runs, and the store's entry of that name is an agent's.
        var refusal = Outage<Bool>()
        var isRefused: Bool { refusal.since != nil }
    }

    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    private let makeInput: @Sendable (Source, Duration) -> any Input
    /// The time over which first polls are spread, so that many sources do not start at once.
    private var spread = Duration.zero
    private var slots: [String: Slot] = [:]
    private var isRunning = false
    /// Whether `end` was called, which may be before `run` begins.
    private var isEnded = false
    /// Signalled when an input has ended.
    private let news: Wakeup
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter makeInput: creates the input of a source, given the spread of first polls; called on the loop.
    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop,
        makeInput: @escaping @Sendable (Source, Duration) -> any Input
    ) {
        self.store = store
        self.polls = polls
        self.loop = loop
        self.makeInput = makeInput
        news = Wakeup(loop: loop)
    }

    /// Whether an input ended by itself before it had read everything.
    package var isCutShort: Bool { slots.values.contains(where: \.isCutShort) }

    /// Runs the sources, whose names differ, until every input has ended by itself.
    package func run(_ sources: [Source]) async throws(CancellationError) {
        isRunning = !isEnded
        await replace(with: sources)
        do throws(CancellationError) {
            // After `end`, until it is cancelled: they did not end by themselves.
            while !isRunning || !slots.values.allSatisfy({ $0.task == nil }) { try await news.wait() }
            isRunning = false
        } catch {
            end()
            for slot in slots.values { await slot.task?.value }
            throw error
        }
    }

    /// Ends all inputs, without waiting for them.
    package func end() {
        (isRunning, isEnded) = (false, true)
        for slot in slots.values { slot.task?.cancel() }
    }

    /// Ends sources that are not in `sources`, starts new ones, and restarts those that changed under the same name.
    /// Equal sources are not touched: they keep their connections and schedules.
    @discardableResult
    package func replace(with sources: [Source]) async -> Changes {
        var changes = Changes()
        guard isRunning else { return changes }
        spread = PollSchedule.spread(of: sources.count)
        var wanted: Set<String> = []
        var successors: [Source] = []
        for source in sources {
            let name = source.description.name
            wanted.insert(name)
            guard let slot = slots[name] else {
                start(source)
                changes.added += 1
                continue
            }
            if slot.source == source, !slot.isRefused {
                changes.kept += 1
                continue
            }
            // A source that is being removed counts as new again.
            if slot.source == nil { changes.added += 1 } else { changes.changed += 1 }
            slots[name]?.source = source
            guard let task = slot.task else {
                start(source)
                continue
            }
            task.cancel()
            successors.append(source)
        }
        let unwanted = slots.filter { $0.value.source != nil && !wanted.contains($0.key) }.keys
        changes.removed = unwanted.count
        // All at once before the first wait, because inputs may end by themselves meanwhile.
        for name in unwanted {
            slots[name]?.source = nil
            slots[name]?.task?.cancel()
        }
        for name in unwanted {
            if slots[name]?.isRefused == true {
                endRefusal(of: name)
                slots[name] = nil
                continue
            }
            // At once, not only when its input has ended: readers greeted from now on must not see it.
            await store.retire(named: name)
            await polls.release(name)
            if let slot = slots[name], slot.source == nil, slot.task == nil { await remove(name) }
        }
        // Inputs register later too, but whoever asks for the sources from now on must see all.
        for source in successors {
            guard let slot = slots[source.description.name], slot.source == source, slot.task != nil else { continue }
            _ = await store.register(source.description)
        }
        return changes
    }

    /// Registers a source at once, because agents of a fleet take names too; returns false and reports it if an agent
    /// has the name.
    private func claim(_ source: Source) -> Bool {
        let name = source.description.name
        let isFree = store.assumeIsolated { store in
            guard let agent = store.claim(source.description) else { return true }
            let text = "\(name) is not read, as that name is the agent \(agent)'s: choose another one"
            store.sayOfItself(.error(Failure(.config, text)), about: Self.topic(name))
            return false
        }
        guard !isFree else {
            endRefusal(of: name)
            return true
        }
        _ = slots[name]?.refusal.fail(by: true, at: loop.clock.now)
        news.signal()
        return false
    }

    /// Ends the refusal of a source: it is read, or no longer wanted.
    private func endRefusal(of name: String) {
        guard let recovery = slots[name]?.refusal.end(at: loop.clock.now) else { return }
        store.assumeIsolated { $0.sayOfItself(.recovered(recovery), about: Self.topic(name)) }
    }

    private static func topic(_ name: String) -> String { "source \(name)" }

    private func start(_ source: Source) {
        let name = source.description.name
        slots[name] = Slot(source: source, refusal: slots[name]?.refusal ?? Outage())
        guard claim(source) else { return }
        let input = makeInput(source, spread)
        slots[name]?.task = Task(executorPreference: loop) {
            let hasEnded = (try? await input.run()) != nil
            await self.didEnd(source, byItself: hasEnded, isCutShort: input.isCutShort)
        }
    }

    /// Starts the source that has replaced the ended one, if any.
    private func didEnd(_ ended: Source, byItself: Bool, isCutShort: Bool) async {
        let name = ended.description.name
        // The next input may neither be due nor accept polls, and would not report that.
        await polls.release(name)
        slots[name]?.task = nil
        guard isRunning, let slot = slots[name] else { return }
        guard let next = slot.source else { return await remove(name) }
        if next != ended || !byItself {
            start(next)
        } else {
            slots[name]?.isCutShort = isCutShort
            recordEnd(of: name)
            news.signal()
        }
    }

    /// Without waiting, because a reload might start another input of the name meanwhile.
    private func recordEnd(of name: String) { store.assumeIsolated { $0.setEnded(named: name) } }

    private func remove(_ name: String) async {
        slots[name] = nil
        news.signal()
        await store.release(named: name)
    }
}
