/// A configuration file that was read and checked as far as that goes without starting anything.
struct Configuration: Sendable, Equatable {
    /// An option's key.
    struct Setting: Sendable, Equatable {
        /// The option's long name.
        let long: String
        /// What its setter gets, once for each.
        let texts: [String]
        let mark: ConfigMark
    }

    /// The most sources there may be.
    static let mostSources = 10_000

    let path: String
    var settings: [Setting] = []
    var sources: [SourceDraft] = []
    var scales: [String: ConfigScale] = [:]

    init(path: String) { self.path = path }

    /// Reads a configuration.
    ///
    /// - Throws: `UsageError` with everything that is wrong.
    static func read(_ text: ConfigText) throws(UsageError) -> Configuration {
        var reader = ConfigReader(issues: ConfigIssues(text: text))
        var configuration = Configuration(path: text.name)
        do throws(ConfigNode.Fault) {
            configuration.read(try ConfigNode.parse(text), &reader)
        } catch {
            reader.issues.add(error.offset, "", error.message)
        }
        try reader.issues.check()
        return configuration
    }

    private mutating func read(_ root: ConfigNode, _ reader: inout ConfigReader) {
        let known = Self.options.map(\.key) + ["sources", "bands", "$schema"]
        guard let members = reader.members(root, "", known: known) else { return }
        var options = Options()
        var sources: [SourceDraft] = []
        for (member, path) in members {
            switch member.name {
            case "sources": sources = reader.sources(member.value, path)
            case "bands": scales = reader.scales(member.value, path)
            case "$schema": _ = reader.string(member.value, path)
            default:
                guard let entry = Self.options.first(where: { $0.key == member.name }),
                    let texts = reader.texts(member.value, path, entry)
                else { continue }
                let mark = reader.issues.mark(member.value.offset, path)
                guard reader.apply(texts, entry, to: &options, mark) else { continue }
                settings.append(Setting(long: entry.long, texts: texts, mark: mark))
            }
        }
        self.sources = sources
        check(options, &reader)
    }

    /// What only holds between keys.
    private func check(_ options: Options, _ reader: inout ConfigReader) {
        var resolver = SourceResolver(options: options, scales: scales, demoOrigin: nil, issues: reader.issues)
        resolver.isDemo = options.demo
        _ = resolver.resolve(sources)
        reader.issues = resolver.issues
    }

    /// Where an option's key is.
    func mark(of long: String) -> ConfigMark? { settings.first { $0.long == long }?.mark }

    /// The options that a file may set.
    static let options = OptionTable.entries.filter { $0.environment != nil && $0.long != "config" }
}

extension OptionTable.Entry {
    /// What a configuration calls it.
    var key: String { String(long.map { $0 == "-" ? "_" : $0 }) }

    /// Whether a configuration may give a bare number.
    var takesNumber: Bool {
        guard case .required(let name) = argument else { return false }
        return ["DURATION", "SIZE", "N"].contains(name)
    }
}

extension ConfigReader {
    fileprivate mutating func sources(_ node: ConfigNode, _ path: String) -> [SourceDraft] {
        (elements(node, path, atMost: Configuration.mostSources) ?? []).compactMap { source($0.node, $0.path) }
    }

    fileprivate mutating func scales(_ node: ConfigNode, _ path: String) -> [String: ConfigScale] {
        guard case .object(let members) = node.value else {
            wrong(node, path, "an object of scales")
            return [:]
        }
        var scales: [String: ConfigScale] = [:]
        var seen: Set<String> = []
        for member in members {
            let path = Self.path(path, member.name)
            if BuiltInScales.all[member.name] != nil {
                issues.add(member.offset, path, "is a built-in scale; choose another name")
            } else if member.name.isEmpty || member.name.unicodeScalars.count > SourceName.maximumLength {
                issues.add(member.offset, path, "a scale's name has 1 to \(SourceName.maximumLength) characters")
            } else if !seen.insert(member.name).inserted {
                issues.add(member.offset, path, "is given twice; leave one out")
            }
            scales[member.name] = scale(member.value, path) ?? scales[member.name]
        }
        return scales
    }

    /// What an option's setter is to get; nil, and told, when the value is of the wrong kind.
    fileprivate mutating func texts(
        _ node: ConfigNode, _ path: String, _ entry: OptionTable.Entry
    ) -> [String]? {
        switch (entry.argument, node.value) {
        case (.none, .boolean(let flag)): return [flag ? "1" : "0"]
        case (.none, _): wrong(node, path, "true or false")
        case (.optional, .boolean(let flag)): return flag ? [""] : []
        case (.optional, .string): return string(node, path).map { [$0] }
        case (.optional, _): wrong(node, path, "true, false or a string")
        case (.required, .string) where entry.repeats != .last:
            return string(node, path, limit: 8_192).map { [$0] }
        case (.required, .array) where entry.repeats != .last:
            guard let elements = elements(node, path, atMost: 1_000) else { return nil }
            let texts = elements.compactMap { string($0.node, $0.path, limit: 8_192) }
            return texts.count == elements.count ? texts : nil
        case (.required, _) where entry.repeats != .last: wrong(node, path, "a string or an array of strings")
        case (.required, .number(let text)) where entry.takesNumber: return [Self.plain(text)]
        // An empty pointer is the whole document.
        case (.required("POINTER"), .string(let text)) where text.isEmpty: return [text]
        case (.required, .string): return string(node, path).map { [$0] }
        case (.required, _): wrong(node, path, entry.takesNumber ? "a string or a number" : "a string")
        }
        return nil
    }

    /// Whether the option's setter takes the texts; told when it does not.
    fileprivate mutating func apply(
        _ texts: [String], _ entry: OptionTable.Entry, to options: inout Options, _ mark: ConfigMark
    ) -> Bool {
        guard case .set(let setter) = entry.effect else { return false }
        for text in texts {
            do throws(UsageError) {
                try setter(&options, text)
                options.explicit.insert(entry.long)
            } catch {
                issues.add(mark, error.message)
                return false
            }
        }
        if entry.long == "url", options.urls.contains(where: { $0.userInfo != nil }) {
            issues.add(mark, "holds a user name or password; write a source with basic, and a secret in it")
            return false
        }
        if entry.long == "header", options.request.headers.contains(where: { ConfigValue.Header.holdsSecret($0.name) })
        {
            issues.add(mark, "a secret does not stand here; write header_file or bearer_file")
            return false
        }
        return true
    }
}
