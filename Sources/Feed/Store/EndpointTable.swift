/// The statistics of endpoints, separate for each source that polls them.
struct EndpointTable: Sendable {
    private struct Key: Hashable {
        let source: Int
        let endpoint: String
    }

    /// In the order of their first request.
    private(set) var statistics: [EndpointStatistics] = []
    /// The source and endpoint of each.
    private var keys: [Key] = []
    /// A sequential number from when each was added, ascending.
    private var generations: [Int] = []
    private var indices: [Key: Int] = [:]
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Updates an endpoint's histogram, and adds the endpoint at `generation` if it is new; returns false when there are too
    /// many.
    ///
    /// - Parameter mayAdd: whether the source's owner may have one more.
    mutating func update(
        _ endpoint: String, of source: Int, named name: String, generation: Int, mayAdd: Bool = true,
        _ change: (inout LatencyHistogram) -> Void
    ) -> Bool {
        let key = Key(source: source, endpoint: endpoint)
        if let index = indices[key] {
            change(&statistics[index].histogram)
            return true
        }
        guard mayAdd, statistics.count < limit else { return false }
        indices[key] = statistics.count
        var histogram = LatencyHistogram()
        change(&histogram)
        statistics.append(EndpointStatistics(endpoint: endpoint, source: name, histogram: histogram))
        keys.append(key)
        generations.append(generation)
        return true
    }

    func index(of endpoint: String, source: Int) -> Int? { indices[Key(source: source, endpoint: endpoint)] }

    /// Counts an answered request at the endpoint with this index.
    mutating func record(_ milliseconds: Double, at index: Int) { statistics[index].histogram.record(milliseconds) }

    /// Replaces all endpoints by another agent's summaries, each with the index of its source. Where our counts are the
    /// same, the histogram stays, because a summary has less detail.
    mutating func list(
        _ said: [(endpoint: Line.Endpoint, source: Int, name: String)], generation: inout Int
    ) {
        let (known, former) = (statistics, indices)
        (statistics, keys, generations, indices) = ([], [], [], [:])
        for (endpoint, source, name) in said {
            let key = Key(source: source, endpoint: LineEncoder.cut(endpoint.endpoint))
            guard statistics.count < limit, indices[key] == nil else { continue }
            let summary = endpoint.summary
            let old = former[key].map { known[$0].histogram }
            let isSame = old.map { $0.count == summary.count && $0.errors == summary.errors } ?? false
            generation += 1
            indices[key] = statistics.count
            keys.append(key)
            generations.append(generation)
            statistics.append(
                EndpointStatistics(
                    endpoint: key.endpoint, source: name,
                    histogram: isSame ? old ?? LatencyHistogram() : LatencyHistogram(summary)))
        }
    }

    /// The number of endpoints of these sources; takes time linear in the number of all endpoints.
    func count(of sources: Set<Int>) -> Int { keys.count { sources.contains($0.source) } }

    /// Returns the next endpoint of a walk.
    func next(_ walk: inout FeedWalk) -> EndpointStatistics? {
        var low = 0
        var high = generations.count
        while low < high {
            let middle = (low + high) / 2
            if generations[middle] < walk.place { low = middle + 1 } else { high = middle }
        }
        guard low < generations.count, generations[low] < walk.limit else { return nil }
        walk.place = generations[low] + 1
        return statistics[low]
    }

    /// Forgets the endpoints of some sources; takes time linear in the number of all endpoints.
    mutating func remove(_ gone: Set<Int>) {
        guard keys.contains(where: { gone.contains($0.source) }) else { return }
        let (old, former, born) = (statistics, keys, generations)
        (statistics, keys, generations, indices) = ([], [], [], [:])
        for place in former.indices where !gone.contains(former[place].source) {
            indices[former[place]] = keys.count
            keys.append(former[place])
            generations.append(born[place])
            statistics.append(old[place])
        }
    }
}
