internal import Reactor

/// The values of the last time, in 60 buckets: wrong at its edge by at most a sixtieth of the time.
struct SlidingValues: Sendable {
    private struct Bucket {
        var count = 0
        var sum = 0.0
        var min = Double.infinity
        var max = -Double.infinity
    }

    private static let count = 60
    private let width: Int64
    /// The number of the newest bucket, in widths of the clock; its values are at `newest % 60`.
    private var newest = Int64.min
    private var buckets: [Bucket] = []

    init(of span: Duration) { width = Swift.max(1, span.nanoseconds / Int64(Self.count)) }

    private func number(of time: LoopInstant) -> Int64 {
        let quotient = time.nanoseconds / width
        return time.nanoseconds % width < 0 ? quotient - 1 : quotient
    }

    private func index(_ number: Int64) -> Int {
        let index = Int(number % Int64(Self.count))
        return index < 0 ? index + Self.count : index
    }

    /// Forgets what is older than the span before `time`.
    mutating func advance(to time: LoopInstant) {
        let now = number(of: time)
        guard now > newest else { return }
        if buckets.isEmpty || now - newest >= Int64(Self.count) {
            buckets = Array(repeating: Bucket(), count: Self.count)
        } else {
            for number in newest + 1...now { buckets[index(number)] = Bucket() }
        }
        newest = now
    }

    /// Adds a value.
    mutating func add(_ value: Double, at time: LoopInstant) {
        advance(to: time)
        let index = index(newest)
        buckets[index].count += 1
        buckets[index].sum += value
        buckets[index].min = Swift.min(buckets[index].min, value)
        buckets[index].max = Swift.max(buckets[index].max, value)
    }

    /// Adds to the newest value.
    mutating func raise(by value: Double) {
        guard !buckets.isEmpty,
            let newest = (0..<Self.count).first(where: { buckets[index(self.newest - Int64($0))].count > 0 })
        else {
            return
        }
        buckets[index(self.newest - Int64(newest))].sum += value
    }

    mutating func removeAll() { (buckets, newest) = ([], .min) }

    var count: Int { buckets.reduce(0) { $0 + $1.count } }
    var min: Double { buckets.reduce(.infinity) { Swift.min($0, $1.min) } }
    var max: Double { buckets.reduce(-.infinity) { Swift.max($0, $1.max) } }
    var sum: Double { buckets.reduce(0) { $0 + $1.sum } }

    /// When the oldest bucket that has something is forgotten; nil when there is none.
    var nextLoss: LoopInstant? {
        guard !buckets.isEmpty else { return nil }
        for number in newest - Int64(Self.count) + 1...newest where buckets[index(number)].count > 0 {
            return LoopInstant(nanoseconds: (number + Int64(Self.count)) * width)
        }
        return nil
    }
}

/// The newest response times.
struct SlidingTimes: Sendable {
    // Bound: response times of a percentile | the newest 256 | older ones dropped
    private static let most = 256
    private var times: [(time: LoopInstant, ms: Double)] = []
    private var next = 0

    mutating func add(_ ms: Double, at time: LoopInstant) {
        if times.count < Self.most {
            times.append((time, ms))
        } else {
            times[next] = (time, ms)
        }
        next = (next + 1) % Self.most
    }

    /// The time of the first one after `start`.
    func first(after start: LoopInstant) -> LoopInstant? { times.lazy.map(\.time).filter { $0 > start }.min() }

    /// The percentile of those after `start`, by the nearest rank.
    ///
    /// - Returns: nil when they are too few for it: 2, 20 for 95 %, 100 for 99 %.
    func percentile(_ percent: Int, after start: LoopInstant) -> Double? {
        let found = times.lazy.filter { $0.time > start }.map(\.ms).sorted()
        let least = percent >= 99 ? 100 : percent >= 95 ? 20 : 2
        guard found.count >= least else { return nil }
        return found[(found.count * percent + 99) / 100 - 1]
    }
}
