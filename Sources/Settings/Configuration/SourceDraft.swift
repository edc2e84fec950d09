/// What somebody said of a source: its keys, checked one by one, and where they are.
struct SourceDraft: Sendable, Equatable {
    var values: [String: ConfigValue] = [:]
    /// Where every key's value is.
    var marks: [String: ConfigMark] = [:]
    /// Where the source is; nil for what the command line says.
    var mark: ConfigMark?
    /// Which option said it, when it was the command line.
    var option: String?
    /// Whether what the command line says of every feed overrides the preset.
    var isOfCommandLine = false
    /// Whether one of its keys was refused, so that what is missing says nothing.
    var isBroken = false

    var preset: Options.Preset? {
        guard case .string(let name)? = values["preset"] else { return nil }
        return Options.Preset(rawValue: name)
    }

    /// Where a key is, or the source when it has none.
    func mark(_ key: String) -> ConfigMark? { marks[key] ?? mark }
}

extension ConfigReader {
    /// A source; its keys' values are checked, not yet how they go together.
    mutating func source(_ node: ConfigNode, _ path: String) -> SourceDraft? {
        guard let members = members(node, path, known: ConfigKey.source.map(\.name)) else { return nil }
        var draft = SourceDraft(mark: issues.mark(node.offset, path))
        for (member, path) in members {
            guard let key = ConfigKey.source(member.name) else { continue }
            draft.marks[key.name] = issues.mark(member.value.offset, path)
            if let value = value(member.value, path, key.type) {
                draft.values[key.name] = value
            } else {
                draft.isBroken = true
            }
        }
        return draft
    }
}
