package import Reactor

/// Limits the number of open files; the others wait in order of arrival.
package final class FileQueue {
    private let loop: EventLoop
    /// The number of files that may still be opened.
    private var room: Int
    private var waiting: [Wakeup] = []

    // Open files on a disk, unlike FIFOs, which may never end: 16; wait in order, with a path and a task each.
    /// - Parameter room: the most files open at a time; each takes 384 KiB and its longest line.
    package init(room: Int = 16, on loop: EventLoop) {
        self.loop = loop
        self.room = room
    }

    /// Waits until another file may be opened; call `leave` once it is closed.
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
            if let index = waiting.firstIndex(where: { $0 === wakeup }) {
                waiting.remove(at: index)
            } else {
                leave()  // its turn had come already
            }
            throw error
        }
    }

    /// Lets the next waiting file be opened.
    package func leave() {
        if waiting.isEmpty { room += 1 } else { waiting.removeFirst().signal() }
    }
}
