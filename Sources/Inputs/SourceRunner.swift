package import Feed
package import Reactor

/// Runs the inputs of all sources side by side, and swaps some of them while the others go on.
package actor SourceRunner {
    /// What `replace` came to.
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

    /// The sources of one name, one after the other.
    private struct Slot {
        /// What is to run; nil when it is to go.
        var source: Source?
        /// What runs. Not a child of a group, since one child of a group cannot be cancelled, and a group for each source
        /// would be three tasks instead of one: 30 KiB. It is ended and waited for by `run`, which nothing outlives.
        var task: Task<Void, Never>?
        /// Whether its input came to its end by itself.
        var isDone = false
        /// Whether there was more that it has not brought.
        var isCutShort = false
        /// Whether the store may not know of it yet.
        var isNew = true
        /// Whether it may not be called so: nothing runs for it, and what the store has of that name is an agent's.
        var isRefused = false
    }

    private let store: EventStore
    private let desk: PollDesk
    private let loop: EventLoop
    private let makeInput: @Sendable (Source, Duration) -> any Input
    /// Over which time first polls are spread, so that those of many sources do not come all at once.
    private var spread = Duration.zero
    private var slots: [String: Slot] = [:]
    /// The times in which sources are refused that may not be called so.
    private var refusals: [String: Outage<Bool>] = [:]
    private var isRunning = false
    /// Told when an input came to its end.
    private let news: Wakeup
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter makeInput: the input of a source, which gets the spread of first polls; called on the loop.
    package init(
        store: EventStore, desk: PollDesk, on loop: EventLoop,
        makeInput: @escaping @Sendable (Source, Duration) -> any Input
    ) {
        self.store = store
        self.desk = desk
        self.loop = loop
        self.makeInput = makeInput
        news = Wakeup(loop: loop)
    }

    /// Whether an input that came to its end by itself had not brought everything.
    package var isCutShort: Bool { slots.values.contains(where: \.isCutShort) }

    /// Runs the sources, whose names differ, until every input has come to its end by itself.
    package func run(_ sources: [Source]) async throws(CancellationError) {
        isRunning = true
        await replace(with: sources)
        do throws(CancellationError) {
            while !slots.values.allSatisfy(\.isDone) { try await news.wait() }
            isRunning = false
        } catch {
            isRunning = false
            for slot in slots.values { slot.task?.cancel() }
            for slot in slots.values { await slot.task?.value }
            throw error
        }
    }

    /// Ends what is not among `sources`, starts what is new, and starts anew what is another source of the same name. Equal
    /// sources are not touched: they keep their connections and schedules.
    @discardableResult
    package func replace(with sources: [Source]) async -> Changes {
        var changes = Changes()
        guard isRunning else { return changes }
        spread = PollSchedule.spread(of: sources.count)
        var wanted: Set<String> = []
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
            // One that was to go, and has not gone yet, is as good as new.
            if slot.source == nil { changes.added += 1 } else { changes.changed += 1 }
            slots[name]?.source = source
            slots[name]?.isNew = true
            if slot.task == nil { start(source) } else { slot.task?.cancel() }
        }
        let unwanted = slots.filter { $0.value.source != nil && !wanted.contains($0.key) }.keys
        changes.removed = unwanted.count
        // All of them before anything is waited for, since inputs may end by themselves meanwhile.
        for name in unwanted {
            slots[name]?.source = nil
            slots[name]?.task?.cancel()
        }
        for name in unwanted {
            if slots[name]?.isRefused == true {
                slots[name] = nil
                noteAccepted(name)
                continue
            }
            // Not only when it has ended: who is greeted after this is not to be told of it.
            await store.retire(named: name)
            await desk.release(name)
            if let slot = slots[name], slot.source == nil, slot.task == nil { await remove(name) }
        }
        // Inputs do this too, when they get to it: but whoever asks for the sources from now on is to be told of all.
        for source in sources { if slots[source.description.name]?.isNew == true { await introduce(source) } }
        return changes
    }

    /// Has the store know of a source at once, as agents of a fleet take names, too: false, and said, when one has its.
    private func claim(_ source: Source) -> Bool {
        let name = source.description.name
        slots[name]?.isNew = false
        let isFree = store.assumeIsolated { store in
            guard let agent = store.claim(source.description) else { return true }
            let text = "\(name) is not read, as that name is the agent \(agent)'s: choose another one"
            store.sayOfItself(.error(Failure(.config, text)), about: Self.topic(name))
            return false
        }
        guard !isFree else {
            noteAccepted(name)
            return true
        }
        _ = refusals[name, default: Outage()].fail(by: true, at: loop.clock.now)
        slots[name]?.isRefused = true
        slots[name]?.isDone = true
        news.signal()
        return false
    }

    /// A source is not refused any more: it is read, or not wanted.
    private func noteAccepted(_ name: String) {
        guard let recovery = refusals[name]?.end(at: loop.clock.now) else { return }
        refusals[name] = nil
        store.assumeIsolated { $0.sayOfItself(.recovered(recovery), about: Self.topic(name)) }
    }

    private static func topic(_ name: String) -> String { "source \(name)" }

    private func introduce(_ source: Source) async {
        slots[source.description.name]?.isNew = false
        _ = await store.register(source.description)
    }

    private func start(_ source: Source) {
        let name = source.description.name
        slots[name] = Slot(source: source)
        guard claim(source) else { return }
        let input = makeInput(source, spread)
        slots[name]?.task = Task(executorPreference: loop) {
            let hasEnded = (try? await input.run()) != nil
            await self.didEnd(source, byItself: hasEnded, isCutShort: input.isCutShort)
        }
    }

    /// Goes on with what has come instead, if anything has.
    private func didEnd(_ ended: Source, byItself: Bool, isCutShort: Bool) async {
        let name = ended.description.name
        // What follows may neither be due nor take requests, and would not say so.
        await desk.release(name)
        slots[name]?.task = nil
        guard isRunning, let slot = slots[name] else { return }
        guard let next = slot.source else { return await remove(name) }
        if next != ended || !byItself {
            start(next)
        } else {
            slots[name]?.isDone = true
            slots[name]?.isCutShort = isCutShort
            noteEnd(of: name)
            news.signal()
        }
    }

    /// At once, as what a reload brings meanwhile has not ended.
    private func noteEnd(of name: String) { store.assumeIsolated { $0.noteEnd(named: name) } }

    private func remove(_ name: String) async {
        slots[name] = nil
        news.signal()
        await store.release(named: name)
    }
}
