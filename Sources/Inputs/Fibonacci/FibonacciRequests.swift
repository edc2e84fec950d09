internal import Feed

/// Requested runs that have not begun, in the order of the requests: each `n` once, at most `limit`.
struct FibonacciRequests {
    struct Request: Equatable {
        var n: Int
        /// Whether to publish the numbers besides the summary.
        var wantsPairs: Bool
    }

    // Bound: waiting Fibonacci runs | 16, each `n` once | refused
    static let limit = 16
    private var waiting: [Request] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: whether a run for `n` waits now; false when too many others do, or `n` is out of range.
    mutating func add(_ n: Int, wantsPairs: Bool) -> Bool {
        guard 0...PollRequest.mostN ~= n else { return false }
        if let index = waiting.firstIndex(where: { $0.n == n }) {
            if wantsPairs { waiting[index].wantsPairs = true }
            return true
        }
        guard waiting.count < Self.limit else { return false }
        waiting.append(Request(n: n, wantsPairs: wantsPairs))
        return true
    }

    /// Removes and returns the run that has waited longest.
    mutating func next() -> Request? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// Removes the request for `n`, as a scheduled run for it begins.
    ///
    /// - Returns: whether that run must publish its numbers.
    mutating func remove(_ n: Int) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.n == n }) else { return false }
        return waiting.remove(at: index).wantsPairs
    }
}
