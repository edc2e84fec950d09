/// The kind of a series' values, given by its name.
package enum SeriesKind: Int, Sendable {
    /// Data from the source.
    case data
    /// The response times of its requests, in milliseconds.
    case latency
    /// The memory of its process, in bytes.
    case memory
    /// Data without a value. A series with some of each has two kinds, so that its newest value stays known too.
    case text
    /// The number of items in its complete answers.
    case count

    /// The kinds with a prefix.
    package static let prefixed = [SeriesKind.latency, .memory, .count]

    /// The kind of the series called `name` in lines.
    package init(of name: String) {
        self = Self.prefixed.first { name.utf8.starts(with: $0.prefix.utf8) } ?? .data
    }

    /// The prefix before the source in the names of such series: `latency:`, `memory:`, `count:`, or empty.
    package var prefix: String {
        switch self {
        case .data, .text: ""
        case .latency: "latency:"
        case .memory: "memory:"
        case .count: "count:"
        }
    }
}

/// The name of a series in lines: its source's, alone or with a slash and a key.
struct SeriesName {
    /// Nil for the source's own series.
    let key: Substring?

    /// - Parameter name: nil for the source's own series.
    /// - Returns: nil for a name that is no series of the source.
    init?(_ name: String?, of source: String) {
        key = name.flatMap { Self.key(of: $0, in: source) }
        if key == nil, let name, !name.utf8.elementsEqual(source.utf8) { return nil }
    }

    /// The part after the source and a slash in a series' name; nil for the source's own series, and for another
    /// source's.
    static func key(of series: String, in source: String) -> Substring? {
        let (series, source) = (series.utf8, source.utf8)
        guard series.count > source.count, series.starts(with: source) else { return nil }
        let slash = series.index(series.startIndex, offsetBy: source.count)
        return series[slash] == UInt8(ascii: "/") ? Substring(series[series.index(after: slash)...]) : nil
    }
}
