package import Reactor

/// Lets so many files be open at a time; the others wait, in the order they came.
package final class FileQueue {
    private let loop: EventLoop
    /// How many may come in yet.
    private var room: Int
    private var waiting: [Wakeup] = []

    /// - Parameter room: how many files may be open at a time; a file that is read takes 384 KiB, and its line.
    package init(room: Int = 16, on loop: EventLoop) {
        self.loop = loop
        self.room = room
    }

    /// Waits until one more file may be opened, for which `leave` is to be called once it is closed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before that.
    package func enter() async throws(CancellationError) {
        guard room == 0 else {
            room -= 1
            return
        }
        let wakeup = Wakeup(loop: loop)
        waiting.append(wakeup)
        do {
            try await wakeup.wait()
        } catch {
            if let place = waiting.firstIndex(where: { $0 === wakeup }) {
                waiting.remove(at: place)
            } else {
                leave()  // it was let in after all
            }
            throw error
        }
    }

    /// Lets the next one in.
    package func leave() {
        if waiting.isEmpty { room += 1 } else { waiting.removeFirst().signal() }
    }
}
