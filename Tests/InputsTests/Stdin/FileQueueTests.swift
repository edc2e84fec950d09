import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct FileQueueTests {
    /// A queue, and who has come in.
    private final class Door {
        let queue: FileQueue
        var names: [String] = []

        init(room: Int, on loop: EventLoop) { queue = FileQueue(room: room, on: loop) }
    }

    private static func enter(_ name: String, _ door: LoopBound<Door>, on loop: EventLoop) async -> Task<Void, Never> {
        let task = Task(executorPreference: loop) {
            if (try? await door.value.queue.enter()) != nil { door.value.names.append(name) }
        }
        try? await loop.sleep(for: .milliseconds(1))
        return task
    }

    @Test func letsInThoseWhoWaitInTheOrderTheyCame() async throws {
        try await withLoop(virtual: true) { loop in
            let door = LoopBound(Door(room: 2, on: loop))
            var tasks: [Task<Void, Never>] = []
            for name in ["a", "b", "c", "d", "e"] { tasks.append(await Self.enter(name, door, on: loop)) }
            #expect(door.value.names == ["a", "b"])
            for _ in 0..<4 {
                door.value.queue.leave()
                try await loop.sleep(for: .milliseconds(1))
            }
            #expect(door.value.names == ["a", "b", "c", "d", "e"])
            // One has left for nobody: there is room for one more, and no second one.
            tasks.append(await Self.enter("f", door, on: loop))
            let last = await Self.enter("g", door, on: loop)
            #expect(door.value.names == ["a", "b", "c", "d", "e", "f"])
            last.cancel()
            for task in tasks + [last] { await task.value }
        }
    }

    @Test func whoIsCancelledTakesNobodysPlace() async throws {
        try await withLoop(virtual: true) { loop in
            let door = LoopBound(Door(room: 1, on: loop))
            var tasks: [Task<Void, Never>] = []
            for name in ["a", "b", "c", "d"] { tasks.append(await Self.enter(name, door, on: loop)) }
            tasks[1].cancel()
            try await loop.sleep(for: .milliseconds(1))
            // The next one is cancelled and let in at once.
            tasks[2].cancel()
            door.value.queue.leave()
            try await loop.sleep(for: .milliseconds(1))
            #expect(door.value.names == ["a", "d"])
            for task in tasks { await task.value }
        }
    }
}
