internal import Feed

/// Who said a value.
package enum Origin: Sendable, Equatable {
    /// Nobody: it holds by default.
    case initial
    case preset(Preset)
    case file(ConfigMark)
    /// An environment variable, by its name.
    case variable(String)
    /// The command line, by the option with its dashes.
    case option(String)

    /// For a person; foreign text is made visible.
    package var text: String {
        switch self {
        case .initial: "the defaults"
        case .preset(let preset): "the preset \(preset.rawValue)"
        case .file(let mark): mark.place
        case .variable(let name), .option(let name): name
        }
    }
}

/// A value, who said it, and what it won over.
struct SettingEntry<Value: Sendable & Equatable>: AnyEntry {
    let key: SettingKey<Value>
    let value: Value
    let origin: Origin
    var overridden: [any AnyEntry] = []

    var tree: JSONTree { key.type.tree(value) }

    func isEqual(to other: any AnyEntry) -> Bool { (other as? Self)?.value == value }
}

/// An entry, whatever its value's type is.
protocol AnyEntry: Sendable {
    var origin: Origin { get }
    /// The weaker ones, the nearest first.
    var overridden: [any AnyEntry] { get set }
    /// As a configuration has it, without secrets.
    var tree: JSONTree { get }
    func isEqual(to other: any AnyEntry) -> Bool
}

/// Values by their typed keys, each with where it came from: what one layer says (an environment, a file, a preset), or
/// what several come to.
package struct SettingValues: Sendable {
    /// By the identity of the key, which alone puts values in: each has its key's type.
    private var entries: [ObjectIdentifier: any AnyEntry] = [:]

    package init() {}

    /// What holds by default.
    ///
    /// - Parameter kind: of which source; nil for the program.
    static func initial(for kind: SourceKind? = nil) -> SettingValues { initial[kind] ?? SettingValues() }

    /// Made once: they are shared by all sources of a kind.
    private static let initial: [SourceKind?: SettingValues] = (SourceKind.allCases + [nil]).reduce(into: [:]) {
        all, kind in
        let settings =
            kind.map { kind in SettingTable.ofSources.filter { $0.source.kinds.contains(kind) }.map(\.setting) }
            ?? SettingTable.options.compactMap(\.setting)
        for setting in settings { setting.putInitial(for: kind, into: &all[kind, default: SettingValues()]) }
    }

    /// The value, or what there is when nobody says any.
    package subscript<Value>(_ path: KeyPath<SettingTable, SettingKey<Value>>) -> Value {
        let key = SettingTable.rows[keyPath: path]
        let entry: SettingEntry<Value>? = entry(of: key)
        return entry?.value ?? key.absent
    }

    func entry<Value>(of key: SettingKey<Value>) -> SettingEntry<Value>? {
        entries[ObjectIdentifier(key)] as? SettingEntry<Value>
    }

    func entry(of setting: any Setting) -> (any AnyEntry)? { entries[ObjectIdentifier(setting)] }

    /// Whether anybody said it.
    func isSaid(_ setting: any Setting) -> Bool { entry(of: setting).map { $0.origin != .initial } ?? false }

    /// Sets a value, for what is found out or decided by the program.
    package mutating func set<Value>(
        _ path: KeyPath<SettingTable, SettingKey<Value>>, _ value: Value, from origin: Origin = .initial
    ) {
        put(SettingTable.rows[keyPath: path], value, from: origin)
    }

    /// Takes what is said now; what is said again adds up where it may be repeated, and is replaced otherwise.
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

    /// Removes what cannot hold beside those settings.
    private mutating func removeRivals(of isGiven: (any Setting) -> Bool) {
        let groups = SettingTable.exclusive.filter { isGiven($0.setting) }.map(\.group)
        for row in SettingTable.exclusive where groups.contains(row.group) && !isGiven(row.setting) {
            remove(row.setting)
        }
    }

    /// Puts a layer over these that wins, setting by setting.
    mutating func overlay(_ layer: SettingValues) {
        removeRivals(of: layer.isSaid)
        entries.merge(layer.entries) { weak, strong in
            var strong = strong
            strong.overridden += [weak] + weak.overridden
            return strong
        }
    }

    /// What is said of every source: of a setting of sources by an option, a variable or the top level of a file.
    var ofEverySource: SettingValues {
        var values = SettingValues()
        for (setting, _) in SettingTable.ofSources where isSaid(setting) {
            values.entries[ObjectIdentifier(setting)] = entry(of: setting)
        }
        return values
    }
}

extension SettingValues: Equatable, CustomStringConvertible, CustomReflectable {
    /// Whether they say the same, no matter who says it.
    package static func == (left: SettingValues, right: SettingValues) -> Bool {
        left.entries.count == right.entries.count
            && left.entries.allSatisfy { key, entry in right.entries[key].map { entry.isEqual(to: $0) } ?? false }
    }

    /// Without secrets.
    package var description: String {
        let settings = SettingTable.options.compactMap(\.setting) + SettingTable.ofSources.map(\.setting)
        return JSONTree.object(
            settings.compactMap { setting in entry(of: setting).map { .init(setting.name, $0.tree) } }
        )
        .line
    }

    /// Nothing but the description, so that `dump` and a failed `#expect` tell no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["values": description]) }
}
