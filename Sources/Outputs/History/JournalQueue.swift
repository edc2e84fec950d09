package import Journal
package import Reactor

/// Reads lines older than the log's for readers: one page at a time, lines and columns in turn, each in the order of
/// their requests, on a worker that waits for the disk.
package actor JournalQueue {
    /// Identifies a requested step, for `cancel`.
    package struct Ticket: Sendable, Equatable { fileprivate let number: Int }

    /// Receives the result of a step, and the reading after it.
    package typealias Answer = @Sendable (PastReading, PastReading.Step) -> Void

    private struct Order {
        let ticket: Ticket
        let reading: PastReading
        let answer: Answer
        let timer: LoopTimer
    }

    private let history: any LineHistory
    private let worker: any Worker
    private let loop: EventLoop
    private let wall: any WallClock
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// At most one per reader.
    private var orders: [Order] = []
    private var next = 0
    /// Whether the last step was one of columns.
    private var wasOfColumns = false
    private let wakeup: Wakeup

    // Bound: pages of the journal for readers | one read at a time, one in memory a reader; 10 s, waiting included |
    //   lines and columns in turn, each in order; after 10 s log and `gap`, columns end with `disk`
    /// How long a step may take, including the wait for others.
    package static let patience = Duration.seconds(10)

    /// - Parameter worker: waits for the disk, from the first page on; not shared. Nothing else uses `history`.
    package init(_ history: any LineHistory, on loop: EventLoop, worker: any Worker, wall: any WallClock) {
        self.history = history
        self.loop = loop
        self.worker = worker
        self.wall = wall
        wakeup = Wakeup(loop: loop)
    }

    /// Serves requests until the task is cancelled.
    package func run() async throws(CancellationError) {
        defer { worker.stop() }
        while true {
            while let order = following {
                wasOfColumns = order.reading.isOfColumns
                guard worker.start() else {
                    giveUp(order.ticket, "there is no thread for the journal")
                    continue
                }
                let (history, reading, time) = (history, order.reading, wall.now)
                let outcome: (PastReading, PastReading.Step)
                do {
                    outcome = try await loop.offload(to: worker) {
                        var reading = reading
                        let step = reading.advance(history, at: time)
                        return (reading, step)
                    }
                } catch {
                    throw CancellationError()
                }
                // Unless it was cancelled or has timed out.
                if let order = remove(order.ticket) { order.answer(outcome.0, outcome.1) }
            }
            try await wakeup.wait()
        }
    }

    /// The next request. Many columns must not delay lines, nor the other way round.
    private var following: Order? {
        orders.first { $0.reading.isOfColumns != wasOfColumns } ?? orders.first
    }

    /// Requests the next step of a reading.
    ///
    /// - Parameter answer: called on the loop, once, in a later turn; not after `cancel`.
    package func ask(_ reading: PastReading, _ answer: @escaping Answer) -> Ticket {
        next += 1
        let ticket = Ticket(number: next)
        let timer = loop.schedule(after: Self.patience) { [weak self] in
            self?.assumeIsolated { $0.giveUp(ticket, "the journal takes too long") }
        }
        orders.append(Order(ticket: ticket, reading: reading, answer: answer, timer: timer))
        wakeup.signal()
        return ticket
    }

    /// Releases the file until the next request, unless there is one.
    package func release() {
        guard orders.isEmpty, worker.start() else { return }
        loop.leave(to: worker) { [history] in history.close() }
    }

    /// Cancels a request.
    package func cancel(_ ticket: Ticket) { _ = remove(ticket) }

    /// The number of requests, including the current one.
    package var waiting: Int { orders.count }

    /// Does the same for a caller with a task.
    package func step(_ reading: inout PastReading) async throws(CancellationError) -> PastReading.Step {
        let outcome = Outcome(on: loop)
        let ticket = ask(reading) { outcome.come($0, $1) }
        defer { cancel(ticket) }
        while true {
            if let value = outcome.value {
                reading = value.0
                return value.1
            }
            try await outcome.wakeup.wait()
        }
    }

    /// Unchecked: used on the loop only.
    private final class Outcome: @unchecked Sendable {
        private(set) var value: (PastReading, PastReading.Step)?
        let wakeup: Wakeup

        init(on loop: EventLoop) { wakeup = Wakeup(loop: loop) }

        func come(_ reading: PastReading, _ step: PastReading.Step) {
            value = (reading, step)
            wakeup.signal()
        }
    }

    private func remove(_ ticket: Ticket) -> Order? {
        guard let index = orders.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        let order = orders.remove(at: index)
        loop.cancel(order.timer)
        return order
    }

    private func giveUp(_ ticket: Ticket, _ reason: String) {
        guard let order = remove(ticket) else { return }
        order.answer(order.reading, .end(JournalFault(.disk, reason)))
    }
}
