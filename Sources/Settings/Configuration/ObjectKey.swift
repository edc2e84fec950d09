/// A key of an object that is a setting's value: how it is read into the value and printed from it.
struct ObjectKey<Root>: Sendable {
    let name: String
    /// One sentence, for docs/configuration.md and for editors.
    let help: String
    fileprivate let isNeeded: Bool
    fileprivate let read: @Sendable (JSONTree, String, inout ConfigReader, inout Root) -> Void
    private let tree: @Sendable (Root) -> JSONTree?

    /// - Parameter get: returns nil when the value has no such part.
    init<Value>(
        _ name: String, _ type: SettingType<Value>, _ help: String = "", isNeeded: Bool = false,
        get: @escaping @Sendable (Root) -> Value?, set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        (self.name, self.help, self.isNeeded) = (name, help, isNeeded)
        read = { node, path, reader, root in
            if let value = type.value(of: node, path, &reader) { set(&root, value) }
        }
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

    /// The value as a configuration writes it.
    static func tree(of root: Root, _ keys: [ObjectKey]) -> JSONTree {
        .object(keys.compactMap { key in key.tree(root).map { .init(key.name, $0) } })
    }
}

extension ConfigReader {
    /// Reads an object's keys into `root`; reports those that are unknown, repeated, wrong or missing.
    ///
    /// - Returns: the names of the given keys, and whether every needed key is there and no known one is wrong; nil when
    ///   it is no object.
    mutating func object<Root>(
        _ node: JSONTree, _ path: String, _ keys: [ObjectKey<Root>], into root: inout Root
    ) -> (given: Set<String>, isWhole: Bool)? {
        guard let members = members(node, path, known: keys.map(\.name)) else { return nil }
        let before = issues.count
        for (member, path) in members {
            keys.first { $0.name == member.name }?.read(member.value, path, &self, &root)
        }
        let given = Set(members.map(\.member.name))
        for key in keys where key.isNeeded && !given.contains(key.name) {
            issues.add(node.position, path, "needs \(key.name)")
        }
        return (given, issues.count == before)
    }
}
