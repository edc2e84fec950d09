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
    /// Alerts, by condition and what it is about: their newest lines are kept as those of series are. No line names these.
    case alert

    /// The number of kinds.
    static let kinds = 6
    /// Whether its events have values, and so windows.
    var hasValues: Bool { self != .text && self != .alert }

    /// The kinds with a prefix.
    package static let prefixed = [SeriesKind.latency, .memory, .count]

    /// The kind of the series called `name` in lines.
    package init(of name: String) {
        self = Self.prefixed.first { name.utf8.starts(with: $0.prefix.utf8) } ?? .data
    }

    /// The prefix before the source in the names of such series: `latency:`, `memory:`, `count:`, or empty.
    package var prefix: String {
        switch self {
        case .data, .text, .alert: ""
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

    init(key: Substring?) { self.key = key }

    static let own = SeriesName(key: nil)

    /// - Parameter name: nil for the source's own series.
    /// - Returns: nil for a name that is no series of the source.
    init?(_ name: String?, of source: String) {
        let (name, slash) = ((name ?? source).utf8, UInt8(ascii: "/"))
        let rest = name.dropFirst(source.utf8.count)
        guard name.starts(with: source.utf8), rest.first ?? slash == slash else { return nil }
        key = rest.isEmpty ? nil : Substring(rest.dropFirst())
    }

    /// Lends the bytes of the key.
    func withKey<Value>(_ body: (UnsafeBufferPointer<UInt8>?) -> Value) -> Value {
        guard let key else { return body(nil) }
        return Array(key.utf8).withUnsafeBufferPointer { body($0) }
    }
}
