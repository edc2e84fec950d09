/// What the values of a series are, as its name says.
package enum SeriesKind: Int, Sendable {
    /// What a source says.
    case data
    /// How long its requests take, in milliseconds.
    case latency
    /// How much memory its process holds, in bytes.
    case memory

    /// The kind of the series that lines call `name`.
    package init(of name: String) {
        self = [.latency, .memory].first { name.utf8.starts(with: $0.prefix.utf8) } ?? .data
    }

    /// What the names of such series have before the source: `latency:`, `memory:`, or nothing.
    package var prefix: String {
        switch self {
        case .data: ""
        case .latency: "latency:"
        case .memory: "memory:"
        }
    }
}
