/// A source as the configuration or the command line gives it: its keys, checked one by one, and their places.
/// `SourceResolver` fills in presets and defaults; its secrets and files are not read yet.
struct ConfiguredSource: Sendable, Equatable {
    /// The keys that were given; once resolved, every key that applies to the source's kind.
    var values = SettingValues()
    /// The place of each key's value, also of refused ones.
    private var marks: [ObjectIdentifier: ConfigMark] = [:]
    /// The source's place; nil when the command line gave it.
    let mark: ConfigMark?
    /// The option that gave the source, if the command line did.
    let option: String?
    /// Whether the command line's settings for every feed override the preset's.
    let isOfCommandLine: Bool
    /// Whether a key was refused; then a missing key need not be a mistake.
    private(set) var isBroken = false

    // Known once it is resolved.
    var name = ""
    var kind = SourceKind.http
    /// The scale for the source's values.
    var scale: ConfigScale?
    /// Whether the source asks the stand-in API.
    var isStandIn = false

    /// Creates a source of a configuration.
    init(mark: ConfigMark) { (self.mark, option, isOfCommandLine) = (mark, nil, false) }

    /// Creates a source of the command line with one key.
    init<Value>(option: String?, _ key: KeyPath<SettingTable, SettingKey<Value>>, _ value: Value, from origin: Origin) {
        (mark, self.option, isOfCommandLine) = (nil, option, true)
        values.set(key, value, from: origin)
    }

    subscript<Value>(_ key: KeyPath<SettingTable, SettingKey<Value>>) -> Value { values[key] }

    /// Whether the key has a value, even null.
    func has(_ setting: any Setting) -> Bool { values.entry(of: setting) != nil }

    /// Whether nothing sets the key, or null does; a value that was refused is no lack.
    func lacks(_ setting: any Setting) -> Bool {
        values.entry(of: setting).map { $0.tree == .null } ?? (given(setting) == nil)
    }

    /// The place of a key's value in the configuration; nil when it has no such key.
    func given(_ setting: any Setting) -> ConfigMark? { marks[ObjectIdentifier(setting)] }

    /// The place of a key, or of the source when it has no such key.
    func mark(_ setting: any Setting) -> ConfigMark? { given(setting) ?? mark }

    mutating func read(_ node: ConfigNode, _ setting: any Setting) throws(UsageError) {
        marks[ObjectIdentifier(setting)] = node.mark
        do throws(UsageError) {
            try setting.read(node, into: &values, from: .file(node.mark))
        } catch {
            isBroken = true
            throw error
        }
    }

    /// Whether the source is a single agent, which gets the source's name.
    var isAgent: Bool { kind == .feed && self[\.url]?.scheme.isNats != true }

    /// The equivalent configuration, with defaults and without secrets; the preset is left out, because its settings
    /// are here.
    var settings: [(setting: any Setting, tree: JSONTree)] {
        let rows = SettingTable.rows
        var shown = values
        for (key, text) in [(rows.name, name), (rows.type, self[\.type] ?? name)]
        where shown.entry(of: key)?.value != text { shown.put(key, text, from: .initial) }
        if self[\.kind] == nil { shown.set(\.kind, kind) }
        return SettingTable.ofSources.compactMap { setting, source in
            guard source.kinds.contains(kind), setting !== rows.preset, let entry = shown.entry(of: setting) else {
                return nil
            }
            // A preset's own URL holds no secret.
            if setting === rows.url, let url = self[\.url], Preset.urls.contains(url) {
                return (setting, .string(url.withoutUserInfo))
            }
            return (setting, entry.tree)
        }
    }
}

/// The kinds of sources, as a configuration names them.
package enum SourceKind: String, Sendable, CaseIterable {
    case http, pages, websocket, stdin, file, fibonacci, feed

    /// The kinds that have a URL.
    static let remote: [SourceKind] = asked + [.feed]
    /// The kinds that fetch documents from a URL.
    static let asked: [SourceKind] = [.http, .pages, .websocket]
    /// The kinds that produce data of their own: all but other agents.
    static let own: [SourceKind] = allCases.filter { $0 != .feed }
    /// The kinds whose documents events are extracted from.
    static let documents: [SourceKind] = [.http, .pages, .websocket, .stdin, .file]
}

extension SourceKind {
    /// The default kind for a URL of this scheme.
    init(of scheme: FeedURL.Scheme?) {
        switch scheme {
        case .unix, .nats, .tls: self = .feed
        case .ws, .wss: self = .websocket
        case .http, .https, nil: self = .http
        }
    }
}
