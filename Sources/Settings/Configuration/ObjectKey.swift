/// A key of an object that is a setting's value: how it is read into the value and printed from it.
struct ObjectKey<Root>: Sendable {
    let name: String
    /// One sentence, for docs/configuration.md and for editors.
    let help: String
    let isNeeded: Bool
    let shape: ValueShape
    let read: @Sendable (ConfigNode, inout Root) throws(UsageError) -> Void
    private let tree: @Sendable (Root) -> JSONTree?

    /// - Parameter get: returns nil when the value has no such part.
    init<Value>(
        _ name: String, _ type: SettingType<Value>, _ help: String = "", isNeeded: Bool = false,
        get: @escaping @Sendable (Root) -> Value?, set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        (self.name, self.help, self.isNeeded, shape) = (name, help, isNeeded, type.shape)
        read = { node, root throws(UsageError) in set(&root, try type.value(of: node)) }
        tree = { root in get(root).map(type.tree) }
    }

    /// Creates a key for a part that every value has.
    init<Value>(
        _ name: String, _ type: SettingType<Value>, _ help: String = "", isNeeded: Bool = false,
        _ part: any WritableKeyPath<Root, Value> & Sendable
    ) {
        self.init(
            name, type, help, isNeeded: isNeeded, get: { $0[keyPath: part] }, set: { $0[keyPath: part] = $1 })
    }

    /// Creates a key for an optional part.
    init<Value>(
        _ name: String, _ type: SettingType<Value>, _ help: String = "",
        _ part: any WritableKeyPath<Root, Value?> & Sendable
    ) {
        self.init(name, type, help, get: { $0[keyPath: part] }, set: { $0[keyPath: part] = $1 })
    }

    /// Creates a key for an optional part that a key of sources sets as well.
    init<Value>(_ row: SettingKey<Value?>, _ part: any WritableKeyPath<Root, Value?> & Sendable) {
        self.init(
            row.name, row.type, row.source?.help ?? "", get: { $0[keyPath: part].map { .some($0) } },
            set: { $0[keyPath: part] = $1 })
    }

    /// Creates a key for a flag that is left out when it is not set.
    init(_ name: String, flag help: String, _ part: any WritableKeyPath<Root, Bool> & Sendable) {
        self.init(name, Types.flag, help, get: { $0[keyPath: part] ? true : nil }, set: { $0[keyPath: part] = $1 })
    }

    /// The value as a configuration writes it.
    static func tree(of root: Root, _ keys: [ObjectKey]) -> JSONTree {
        .object(keys.compactMap { key in key.tree(root).map { .init(key.name, $0) } })
    }
}
