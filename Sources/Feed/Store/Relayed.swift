/// A line of another agent, decoded and as it came, without its newline.
package struct RelayedLine: Sendable {
    package var line: Line
    package var bytes: Bytes

    package init(_ line: Line, bytes: Bytes) {
        self.line = line
        self.bytes = bytes
    }
}

/// What is known of the agent whose lines are passed on.
struct Relayed: Sendable {
    /// The fold of its lines, for the `stats` of those who attach here in turn.
    private var board = Board()
    /// Whether its first `hello` has come.
    private(set) var hasBegun = false

    /// Takes a line in.
    mutating func apply(_ line: Line) {
        if case .hello = line.body { hasBegun = true }
        board.apply(line)
    }

    var interval: Duration? { board.hello?.interval }
    var history: Duration? { board.hello?.history }

    var moreEndpoints: Int { board.moreEndpoints }
    var moreSources: Int { board.moreSources }

    var endpoints: [EndpointStatistics] {
        board.endpoints.map { EndpointStatistics(endpoint: $0.name, source: $0.source, histogram: $0.histogram) }
    }

    var sources: [SourceStatus] {
        board.sources.filter(\.isListed).map {
            SourceStatus(
                source: $0.name, state: $0.state, since: $0.since, type: $0.type, unit: $0.unit, bands: $0.bands,
                takesN: $0.takesN, rhythm: $0.rhythm)
        }
    }

    /// What tells readers how to read the sources' lines.
    var descriptions: [SourceDescription] {
        board.sources.filter(\.isListed).map {
            SourceDescription(
                name: $0.name, type: $0.type, unit: $0.unit, bands: $0.bands, takesN: $0.takesN, rhythm: $0.rhythm)
        }
    }
}
