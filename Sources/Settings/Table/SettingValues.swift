internal import Feed

/// The layer that set a value.
package enum Origin: Sendable, Equatable {
    /// No layer: the value is the default.
    case initial
    case preset(Preset)
    case file(ConfigMark)
    /// An environment variable, by its name.
    case variable(String)
    /// The command line, by the option with its dashes.
    case option(String)

    /// A description for people; foreign text is made visible.
    package var text: String {
        switch self {
        case .initial: "the defaults"
        case .preset(let preset): "the preset \(preset.rawValue)"
        case .file(let mark): mark.place
        case .variable(let name), .option(let name): name
        }
    }
}

/// A value, its origin, and the weaker values that it overrides.
struct SettingEntry<Value: Sendable & Equatable>: AnyEntry {
    let key: SettingKey<Value>
    let value: Value
    let origin: Origin
    var overridden: [any AnyEntry] = []

    var tree: JSONTree { key.type.tree(value) }

    func isEqual(to other: any AnyEntry) -> Bool { (other as? Self)?.value == value }
}

/// An entry of any value type.
protocol AnyEntry: Sendable {
    var origin: Origin { get }
    /// The overridden entries, the strongest first.
    var overridden: [any AnyEntry] { get set }
    /// The value as a configuration writes it, without secrets.
    var tree: JSONTree { get }
    func isEqual(to other: any AnyEntry) -> Bool
}

/// Values by typed key, each with its origin: those of one layer (an environment, a file, a preset), or several layers
/// merged.
package struct SettingValues: Sendable {
    /// By the key's identity. Only the key itself puts values in, so each entry has its key's type.
    private var entries: [ObjectIdentifier: any AnyEntry] = [:]

    package init() {}

    /// The defaults.
    ///
    /// - Parameter kind: the kind of source; nil for the program.
    static func initial(for kind: SourceKind? = nil) -> SettingValues { initial[kind] ?? SettingValues() }

    /// Made once and shared by all sources of a kind.
    private static let initial: [SourceKind?: SettingValues] = (SourceKind.allCases + [nil]).reduce(into: [:]) {
        all, kind in
        let settings =
            kind.map { kind in SettingTable.ofSources.filter { $0.source.kinds.contains(kind) }.map(\.setting) }
            ?? SettingTable.options.map(\.setting)
        for setting in settings { setting.putInitial(for: kind, into: &all[kind, default: SettingValues()]) }
    }

    /// The value, or the key's `absent` value when there is none.
    package subscript<Value>(_ path: KeyPath<SettingTable, SettingKey<Value>>) -> Value {
        let key = SettingTable.rows[keyPath: path]
        let entry: SettingEntry<Value>? = entry(of: key)
        return entry?.value ?? key.absent
    }

    func entry<Value>(of key: SettingKey<Value>) -> SettingEntry<Value>? {
        entries[ObjectIdentifier(key)] as? SettingEntry<Value>
    }

    func entry(of setting: any Setting) -> (any AnyEntry)? { entries[ObjectIdentifier(setting)] }

    /// Whether a layer other than the defaults set it.
    func isSaid(_ setting: any Setting) -> Bool { entry(of: setting).map { $0.origin != .initial } ?? false }

    /// Sets a value that the program found out or decided.
    package mutating func set<Value>(
        _ path: KeyPath<SettingTable, SettingKey<Value>>, _ value: Value, from origin: Origin = .initial
    ) {
        put(SettingTable.rows[keyPath: path], value, from: origin)
    }

    /// Puts a value: adds to the value of a setting that may be repeated, and overrides any other.
    mutating func put<Value>(_ key: SettingKey<Value>, _ value: Value, from origin: Origin) {
        let before: SettingEntry<Value>? = self.entry(of: key)
        var entry = SettingEntry(key: key, value: value, origin: origin)
        if let before, let combine = key.type.combine {
            entry = SettingEntry(key: key, value: combine(before.value, value), origin: origin)
        } else if let before {
            entry.overridden = [before] + before.overridden
        }
        if entry.tree != .boolean(false) { removeRivals { $0 === key } }
        entries[ObjectIdentifier(key)] = entry
    }

    mutating func remove(_ setting: any Setting) { entries[ObjectIdentifier(setting)] = nil }

    /// Removes the settings that cannot hold beside the given ones; see `SettingTable.exclusive`.
    private mutating func removeRivals(of isGiven: (any Setting) -> Bool) {
        let groups = SettingTable.exclusive.filter { isGiven($0.setting) }.map(\.group)
        for row in SettingTable.exclusive where groups.contains(row.group) && !isGiven(row.setting) {
            remove(row.setting)
        }
    }

    /// Overlays a layer that wins, setting by setting.
    mutating func overlay(_ layer: SettingValues) {
        removeRivals(of: layer.isSaid)
        entries.merge(layer.entries) { weak, strong in
            var strong = strong
            strong.overridden += [weak] + weak.overridden
            return strong
        }
    }

    /// The values for every source: source settings given by an option, a variable or the top level of a file.
    var ofEverySource: SettingValues {
        var values = SettingValues()
        for (setting, _) in SettingTable.ofSources where isSaid(setting) {
            values.entries[ObjectIdentifier(setting)] = entry(of: setting)
        }
        return values
    }
}

extension SettingValues: Equatable, CustomStringConvertible, CustomReflectable {
    /// Whether both hold the same values, whatever the origins.
    package static func == (left: SettingValues, right: SettingValues) -> Bool {
        left.entries.count == right.entries.count
            && left.entries.allSatisfy { key, entry in right.entries[key].map { entry.isEqual(to: $0) } ?? false }
    }

    /// The values, without secrets.
    package var description: String {
        let settings = SettingTable.options.map(\.setting) + SettingTable.ofSources.map(\.setting)
        return JSONTree.object(
            settings.compactMap { setting in entry(of: setting).map { .init(setting.name, $0.tree) } }
        )
        .line
    }

    /// Holds only the description, so that `dump` and a failed `#expect` show no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["values": description]) }
}
