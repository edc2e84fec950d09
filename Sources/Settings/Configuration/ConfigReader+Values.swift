internal import Feed

extension ConfigReader {
    /// The value of a source's key; nil, and told, when it is none.
    mutating func value(_ node: ConfigNode, _ path: String, _ type: ConfigType) -> ConfigValue? {
        switch type {
        case .string(let limit): string(node, path, limit: limit).map(ConfigValue.string)
        case .name: name(node, path)
        case .words(let words): word(node, path, words).map(ConfigValue.string)
        case .boolean: boolean(node, path).map(ConfigValue.boolean)
        case .integer(let range):
            figure(node, path, "a whole number", takesText: false) { text throws(UsageError) in
                .integer(try OptionTable.integer(text, in: range))
            }
        case .size(let range):
            figure(node, path, "a size") { text throws(UsageError) in .size(try ByteSize.parse(text, in: range)) }
        case .duration(let range):
            figure(node, path, "a duration") { text throws(UsageError) in
                .duration(try DurationText.parse(text, in: range))
            }
        case .pointer(let orNull): pointer(node, path, orNull: orNull, isKey: false)
        case .key: pointer(node, path, orNull: true, isKey: true)
        case .url: url(node, path)
        case .headers: headers(node, path)
        case .secret: secret(node, path).map(ConfigValue.secret)
        case .basic: basic(node, path)
        case .tokens: tokens(node, path)
        case .message: message(node, path)
        case .scale: scaleOrName(node, path)
        }
    }

    mutating func word(_ node: ConfigNode, _ path: String, _ words: [String]) -> String? {
        guard let text = string(node, path) else { return nil }
        if words.contains(text) { return text }
        let suggestion = EditDistance.suggestion(for: text.lowercased(), among: words)
        let hint = suggestion.map { "; did you mean '\($0)'?" } ?? "; write \(OptionTable.list(words))"
        issues.add(node.offset, path, "\(UsageError.quoted(text)) is not known\(hint)")
        return nil
    }

    /// A number with a unit, or a bare one.
    private mutating func figure(
        _ node: ConfigNode, _ path: String, _ what: String, takesText: Bool = true,
        _ parse: (String) throws(UsageError) -> ConfigValue
    ) -> ConfigValue? {
        switch node.value {
        case .number(let text): return checked(node, path) { () throws(UsageError) in try parse(Self.plain(text)) }
        case .string(let text) where takesText:
            return checked(node, path) { () throws(UsageError) in try parse(text) }
        default:
            wrong(node, path, what)
            return nil
        }
    }

    private mutating func pointer(
        _ node: ConfigNode, _ path: String, orNull: Bool, isKey: Bool
    ) -> ConfigValue? {
        switch node.value {
        case .null where orNull: return .null
        case .string("#") where isKey: return .position
        case .string(let text):
            return checked(node, path) { () throws(UsageError) in
                .pointer(try OptionTable.jsonPointer(text))
            }
        default:
            wrong(node, path, isKey ? "a JSON Pointer or '#'" : orNull ? "a JSON Pointer or null" : "a JSON Pointer")
            return nil
        }
    }

    private mutating func name(_ node: ConfigNode, _ path: String) -> ConfigValue? {
        guard let text = string(node, path, limit: SourceName.maximumLength) else { return nil }
        return checked(node, path) { () throws(UsageError) in .string(try SourceName.check(text)) }
    }

    private mutating func url(_ node: ConfigNode, _ path: String) -> ConfigValue? {
        guard let text = string(node, path, limit: 8_192) else { return nil }
        guard let url = checked(node, path, { () throws(UsageError) in try FeedURL(text) }) else { return nil }
        guard url.userInfo == nil else {
            issues.add(node.offset, path, "holds a user name or password; write basic or bearer with a secret instead")
            return nil
        }
        return .url(url)
    }

    private mutating func tokens(_ node: ConfigNode, _ path: String) -> ConfigValue? {
        guard let elements = elements(node, path, atMost: 32) else { return nil }
        var words: [String] = []
        for (element, path) in elements {
            guard let word = string(element, path, limit: 256) else { continue }
            if !word.utf8.allSatisfy(HeaderField.isTokenByte) {
                issues.add(element.offset, path, "\(UsageError.quoted(word)) is no token: letters, digits and hyphens")
            } else if words.contains(word) {
                issues.add(element.offset, path, "is given twice; leave one out")
            } else {
                words.append(word)
            }
        }
        return .strings(words)
    }

    /// JSON is sent as compact text.
    private mutating func message(_ node: ConfigNode, _ path: String) -> ConfigValue? {
        let text: String
        if case .string(let plain) = node.value { text = plain } else { text = node.tree.compact }
        guard text.utf8.count <= 64 << 10 else {
            issues.add(node.offset, path, "is longer than 64KiB")
            return nil
        }
        return .string(text)
    }
}

extension ConfigNode {
    /// The value as it was, with comments and white space left out.
    var tree: JSONTree {
        switch value {
        case .object(let members): .object(members.map { .init($0.name, $0.value.tree) })
        case .array(let elements): .array(elements.map(\.tree))
        case .string(let text): .string(text)
        case .number(let text): .raw(text)
        case .boolean(let flag): .boolean(flag)
        case .null: .raw("null")
        }
    }
}
