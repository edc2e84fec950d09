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
    }

    /// The place of the sources of one name, one after the other.
    private final class Slot: Sendable {
        let name: String
        /// Told when the source is another one than before.
        let changed: Wakeup

        init(name: String, on loop: EventLoop) {
            self.name = name
            changed = Wakeup(loop: loop)
        }
    }

    private struct State {
        let slot: Slot
        /// Nil when it is to go.
        var source: Source?
        /// Whether its input came to its end by itself.
        var isDone = false
    }

    private let store: EventStore
    private let loop: EventLoop
    private let makeInput: @Sendable (Source) -> any Input
    private var states: [String: State] = [:]
    /// Slots that have no task yet.
    private var arrivals: [Slot] = []
    /// Told when there are arrivals, or when an input came to its end.
    private let news: Wakeup
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter makeInput: the input of a source; called on the loop.
    package init(
        store: EventStore, on loop: EventLoop, makeInput: @escaping @Sendable (Source) -> any Input
    ) {
        self.store = store
        self.loop = loop
        self.makeInput = makeInput
        news = Wakeup(loop: loop)
    }

    /// Runs the sources, whose names differ, until every input has come to its end by itself.
    package func run(_ sources: [Source]) async throws(CancellationError) {
        replace(with: sources)
        let isCancelled = await withDiscardingTaskGroup { group in
            while true {
                for slot in arrivals { group.addTask { await self.run(slot) } }
                arrivals = []
                if states.values.allSatisfy(\.isDone) { break }
                guard (try? await news.wait()) != nil else { break }
            }
            group.cancelAll()
            return Task.isCancelled
        }
        if isCancelled { throw CancellationError() }
    }

    /// Ends what is not among `sources`, starts what is new, and starts anew what is another source of the same name. Equal
    /// sources are not touched: they keep their connections and schedules.
    @discardableResult
    package func replace(with sources: [Source]) -> Changes {
        var changes = Changes()
        var wanted: Set<String> = []
        for source in sources {
            let name = source.description.name
            wanted.insert(name)
            if let state = states[name] {
                if state.source == source {
                    changes.kept += 1
                    continue
                }
                // One that was to go, and has not gone yet, is as good as new.
                if state.source == nil { changes.added += 1 } else { changes.changed += 1 }
                states[name]?.source = source
                states[name]?.isDone = false
                state.slot.changed.signal()
            } else {
                let slot = Slot(name: name, on: loop)
                states[name] = State(slot: slot, source: source)
                arrivals.append(slot)
                changes.added += 1
            }
        }
        for (name, state) in states where state.source != nil && !wanted.contains(name) {
            states[name]?.source = nil
            state.slot.changed.signal()
            changes.removed += 1
        }
        news.signal()
        return changes
    }

    /// Runs what the slot holds, until that is nothing or the task is cancelled.
    private func run(_ slot: Slot) async {
        while let source = states[slot.name]?.source {
            let id = await store.register(source.description)
            let input = makeInput(source)
            let hasEnded = await withTaskGroup(of: Bool.self) { group in
                group.addTask { (try? await input.run()) != nil }
                group.addTask {
                    try? await slot.changed.wait()
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
            if Task.isCancelled { return }
            if hasEnded, states[slot.name]?.source == source {
                states[slot.name]?.isDone = true
                news.signal()
                guard (try? await slot.changed.wait()) != nil else { return }
            }
            if states[slot.name]?.source == nil { await store.retire(id) }
        }
        states[slot.name] = nil
        news.signal()
    }
}
