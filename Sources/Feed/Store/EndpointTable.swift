/// How the endpoints have answered; one counts for each source that asks it.
struct EndpointTable: Sendable {
    private struct Key: Hashable {
        let source: Int
        let endpoint: String
    }

    /// In the order they were first asked.
    private(set) var statistics: [EndpointStatistics] = []
    /// Whose they are.
    private var keys: [Key] = []
    private var indices: [Key: Int] = [:]
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Counts something at an endpoint; false when there are too many already.
    mutating func update(
        _ endpoint: String, of source: Int, named name: String, _ change: (inout LatencyHistogram) -> Void
    ) -> Bool {
        let key = Key(source: source, endpoint: endpoint)
        if let index = indices[key] {
            change(&statistics[index].histogram)
            return true
        }
        guard statistics.count < limit else { return false }
        indices[key] = statistics.count
        var histogram = LatencyHistogram()
        change(&histogram)
        statistics.append(EndpointStatistics(endpoint: endpoint, source: name, histogram: histogram))
        keys.append(key)
        return true
    }

    /// Forgets the endpoints of some sources; costs a look at every one there is.
    mutating func remove(_ gone: Set<Int>) {
        guard keys.contains(where: { gone.contains($0.source) }) else { return }
        let (old, former) = (statistics, keys)
        (statistics, keys, indices) = ([], [], [:])
        for (key, statistic) in zip(former, old) where !gone.contains(key.source) {
            indices[key] = keys.count
            keys.append(key)
            statistics.append(statistic)
        }
    }
}
