/// How the endpoints have answered; one counts for each source that asks it.
struct EndpointTable: Sendable {
    private struct Key: Hashable {
        let source: Int
        let endpoint: String
    }

    /// In the order they were first asked.
    private(set) var statistics: [EndpointStatistics] = []
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
        return true
    }
}
