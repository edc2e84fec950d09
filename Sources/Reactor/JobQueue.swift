/// A FIFO queue: a ring buffer that grows but never shrinks, so that a steady stream of jobs allocates nothing.
struct JobQueue {
    // Bound: jobs in the loop's queue, timers and inbox | the number of tasks, each waiting for one thing | they grow,
    //   and keep their memory
    private var ring: [UnownedJob?] = Array(repeating: nil, count: 64)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ job: UnownedJob) {
        if count == ring.count { grow() }
        ring[(head + count) & (ring.count - 1)] = job
        count += 1
    }

    mutating func popFirst() -> UnownedJob? {
        guard count > 0 else { return nil }
        let job = ring[head]
        head = (head + 1) & (ring.count - 1)
        count -= 1
        return job
    }

    private mutating func grow() {
        var larger: [UnownedJob?] = Array(repeating: nil, count: ring.count * 2)
        for index in 0..<count { larger[index] = ring[(head + index) & (ring.count - 1)] }
        ring = larger
        head = 0
    }
}
