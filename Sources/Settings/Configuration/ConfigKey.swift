/// One key of a configuration: what the reader checks, the documentation and the editors' schema come from it.
struct ConfigKey: Sendable {
    let name: String
    let type: ConfigType
    /// The kinds of sources it says something to.
    var kinds: [SourceKind] = SourceKind.allCases
    /// JSON text of what holds when it is not given; nil when nothing does.
    var initial: String?
    /// JSON text that differs from `initial` for one kind.
    var initialFor: [SourceKind: String] = [:]
    /// Whole sentences, for docs/configuration.md and for editors.
    let help: String

    /// The default for a kind of source, as JSON text.
    func initial(for kind: SourceKind) -> String? { initialFor[kind] ?? initial }

    static func source(_ name: String) -> ConfigKey? { source.first { $0.name == name } }
}

/// What a key's value may be.
enum ConfigType: Sendable {
    /// A string that is not empty, of so many characters at most.
    case string(limit: Int)
    /// A name of a source, or of its lines' type.
    case name
    case words([String])
    case boolean
    case integer(ClosedRange<Int>)
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// - Parameter orNull: whether null says that it is not wanted.
    case pointer(orNull: Bool)
    /// A pointer or `#`.
    case key
    case url
    case headers
    case secret
    case basic
    /// Names, tokens of RFC 9110.
    case tokens
    /// A string, or JSON that is sent as text.
    case message
    /// The name of a scale, or a scale.
    case scale
}
