/// The statistics of endpoints, separate for each source that polls them.
struct EndpointTable: Sendable {
    private struct Key: Hashable {
        let source: Int
        let endpoint: String
    }

    private struct Entry: Sendable {
        let key: Key
        /// The agent of a fleet whose source it is, by index; −1 for our own.
        var owner: Int32 = -1
        var statistics: EndpointStatistics
    }

    /// In the order of their first request.
    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    /// The number of endpoints by owner.
    private var shares: [Int32: Int] = [:]
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// In the order of their first request.
    var statistics: [EndpointStatistics] { entries.map(\.statistics) }

    /// Whether there is no room for another endpoint.
    var isFull: Bool { entries.count >= limit }

    /// Updates an endpoint's histogram, and adds the endpoint if it is new; returns false when there are too many.
    ///
    /// - Parameters:
    ///   - owner: the agent of a fleet whose source it is, by index; −1 for our own.
    ///   - share: the most endpoints that the owner may have.
    mutating func update(
        _ endpoint: String, of source: Int, named name: String, owner: Int32, atMost share: Int,
        _ change: (inout LatencyHistogram) -> Void
    ) -> Bool {
        let key = Key(source: source, endpoint: endpoint)
        let index = indices[key] ?? entries.count
        if index == entries.count {
            guard !isFull, count(of: owner) < share else { return false }
            let statistics = EndpointStatistics(endpoint: endpoint, source: name, histogram: LatencyHistogram())
            add(Entry(key: key, owner: owner, statistics: statistics))
        }
        change(&entries[index].statistics.histogram)
        return true
    }

    private mutating func add(_ entry: Entry) {
        indices[entry.key] = entries.count
        shares[entry.owner, default: 0] += 1
        entries.append(entry)
    }

    func index(of endpoint: String, source: Int) -> Int? { indices[Key(source: source, endpoint: endpoint)] }

    /// The number of an agent's endpoints.
    func count(of owner: Int32) -> Int { shares[owner] ?? 0 }

    /// Counts an answered request at the endpoint with this index.
    mutating func record(_ milliseconds: Double, at index: Int) {
        entries[index].statistics.histogram.record(milliseconds)
    }

    /// Replaces all endpoints by another agent's summaries, each with the index of its source. Where our counts are the
    /// same, the histogram stays, because a summary has less detail.
    mutating func list(
        _ said: [(endpoint: Line.Endpoint, source: Int, name: String)]
    ) {
        let (known, former) = (entries, indices)
        removeAll()
        for (endpoint, source, name) in said {
            let key = Key(source: source, endpoint: LineEncoder.cut(endpoint.endpoint))
            guard !isFull, indices[key] == nil else { continue }
            let summary = endpoint.summary
            let old = former[key].map { known[$0].statistics.histogram }
            let isSame = old.map { $0.count == summary.count && $0.errors == summary.errors } ?? false
            let histogram = isSame ? old ?? LatencyHistogram() : LatencyHistogram(summary)
            let statistics = EndpointStatistics(endpoint: key.endpoint, source: name, histogram: histogram)
            add(Entry(key: key, statistics: statistics))
        }
    }

    /// Forgets the endpoints of some sources; takes time linear in the number of all endpoints.
    mutating func remove(_ gone: Set<Int>) {
        guard entries.contains(where: { gone.contains($0.key.source) }) else { return }
        let old = entries
        removeAll()
        for entry in old where !gone.contains(entry.key.source) { add(entry) }
    }

    private mutating func removeAll() { (entries, indices, shares) = ([], [:], [:]) }
}
