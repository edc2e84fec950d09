internal import Reactor

/// Backpressure: the inputs that wait, and the lossless outputs that they wait for.
struct Backpressure {
    /// Readers of lossless outputs.
    private var holders: [StoreReader] = []
    private var waiting: [Wakeup] = []

    mutating func addHolder(_ reader: StoreReader) {
        if !holders.contains(where: { $0 === reader }) { holders.append(reader) }
    }
    mutating func removeHolder(_ reader: StoreReader) { holders.removeAll { $0 === reader } }
    mutating func add(_ input: Wakeup) { waiting.append(input) }
    mutating func remove(_ input: Wakeup) { waiting.removeAll { $0 === input } }

    /// Whether a lossless output is more than half a log behind.
    func isHeldBack(by log: borrowing LineLog) -> Bool {
        let half = log.capacity / 2
        for reader in holders where log.memoryBehind(reader.held) > half { return true }
        return false
    }

    /// The first line that some lossless output has not seen. It is kept, however old it is: while its reader stands
    /// still, lines must not expire.
    var heldFrom: Int {
        var first = Int.max
        for reader in holders { first = min(first, reader.held) }
        return first
    }

    /// Whether a lossless output has yet to get the `bye` of a run.
    var owesFarewell: Bool { holders.contains { $0.farewell != nil } }

    var hasWaiting: Bool { !waiting.isEmpty }

    mutating func resume() {
        for input in waiting { input.signal() }
        waiting = []
    }
}
