internal import Feed

/// A source with everything filled in, and nothing read from elsewhere yet.
struct EffectiveSource: Sendable {
    var name: String
    let kind: SourceKind
    /// Every key that says something to its kind.
    var values: [String: ConfigValue]
    /// What its values mean.
    var scale: ConfigScale?
    let draft: SourceDraft
    /// Whether its URL is the preset's own, which is no secret.
    let hasKnownURL: Bool
    /// Whether the stand-in API is asked.
    let isStandIn: Bool

    var url: FeedURL? {
        guard case .url(let url)? = values["url"] else { return nil }
        return url
    }

    func string(_ key: String) -> String? {
        guard case .string(let text)? = values[key] else { return nil }
        return text
    }

    func flag(_ key: String) -> Bool { values[key] == .boolean(true) }

    func integer(_ key: String) -> Int? {
        switch values[key] {
        case .integer(let number)?, .size(let number)?: number
        default: nil
        }
    }

    func duration(_ key: String) -> Duration? {
        guard case .duration(let duration)? = values[key] else { return nil }
        return duration
    }

    /// Nil when there is none, or null.
    func pointer(_ key: String) -> JSONPointer? {
        guard case .pointer(let pointer)? = values[key] else { return nil }
        return pointer
    }

    /// As a configuration has it, with what holds by default and without secrets.
    var tree: JSONTree {
        var members: [JSONTree.Member] = []
        for key in ConfigKey.source where key.kinds.contains(kind) {
            switch key.name {
            case "name": members.append(.init("name", .string(name)))
            case "kind": members.append(.init("kind", .string(kind.rawValue)))
            case "preset": continue  // all of it is here
            case "type": members.append(.init("type", .string(string("type") ?? name)))
            case "url":
                if let url {
                    members.append(.init("url", .string(hasKnownURL ? url.withoutUserInfo : url.description)))
                }
            default: if let value = values[key.name] { members.append(.init(key.name, value.tree)) }
            }
        }
        return .object(members)
    }
}
