/// Runs that were asked for and have not begun, in the order of asking: each `n` once, and no more than `limit`.
struct FibonacciRequests {
    static let limit = 16
    private var waiting: [Int] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: whether such a run is waiting now; false when there are too many others, or `n` is out of range.
    mutating func add(_ n: Int) -> Bool {
        guard 0...FibonacciSource.largest ~= n else { return false }
        if waiting.contains(n) { return true }
        guard waiting.count < Self.limit else { return false }
        waiting.append(n)
        return true
    }

    /// Takes the one that has waited longest.
    mutating func next() -> Int? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// A run up to `n` begins anyway.
    mutating func remove(_ n: Int) { waiting.removeAll { $0 == n } }
}
