internal import Feed

/// Runs that were asked for and have not begun, in the order of asking: each `n` once, and no more than `limit`.
struct FibonacciRequests {
    struct Request: Equatable {
        var n: Int
        /// Whether somebody wants to see the numbers, and not only how long they took.
        var wantsPairs: Bool
    }

    static let limit = 16
    private var waiting: [Request] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: whether such a run is waiting now; false when there are too many others, or `n` is out of range.
    mutating func add(_ n: Int, wantsPairs: Bool) -> Bool {
        guard 0...PollRequest.mostN ~= n else { return false }
        if let place = waiting.firstIndex(where: { $0.n == n }) {
            if wantsPairs { waiting[place].wantsPairs = true }
            return true
        }
        guard waiting.count < Self.limit else { return false }
        waiting.append(Request(n: n, wantsPairs: wantsPairs))
        return true
    }

    /// Takes the one that has waited longest.
    mutating func next() -> Request? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// A run up to `n` begins anyway.
    ///
    /// - Returns: whether somebody wants its numbers.
    mutating func remove(_ n: Int) -> Bool {
        guard let place = waiting.firstIndex(where: { $0.n == n }) else { return false }
        return waiting.remove(at: place).wantsPairs
    }
}
