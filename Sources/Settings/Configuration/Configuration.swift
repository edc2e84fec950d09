/// A configuration file, read and checked as far as possible without starting anything.
struct Configuration: Sendable, Equatable {
    // Bound: sources of a configuration | 10,000 | wrong configuration, exit 2
    static let mostSources = 10_000

    let path: String
    /// The settings of the top level.
    var values = SettingValues()
    var sources: [ConfiguredSource] = []
    var scales: [String: ConfigScale] = [:]
    /// Whether the file sets nothing.
    private(set) var isEmpty = true

    /// Reads a configuration.
    ///
    /// - Throws: `UsageError` that lists every mistake.
    static func read(_ text: ConfigText) throws(UsageError) -> Configuration {
        var reader = ConfigReader(issues: ConfigIssues(name: text.name))
        var configuration = Configuration(path: text.name)
        do throws(JSONTree.Fault) {
            configuration.read(try JSONTree.parse(text), &reader)
        } catch {
            reader.issues.add(text.position(of: error.offset), "", error.message)
        }
        try reader.issues.check()
        return configuration
    }

    private mutating func read(_ root: JSONTree, _ reader: inout ConfigReader) {
        let known = SettingTable.inFile.map(\.key) + [Self.sourcesKey, Self.scalesKey, Self.schemaKey]
        let members = reader.members(root, "", known: known) { name in
            SettingTable.ofSources.contains { $0.setting.name == name }
                ? "belongs to a source: \(Self.place(of: name))" : nil
        }
        guard let members else { return }
        for (member, path) in members {
            switch member.name {
            case Self.sourcesKey: sources = reader.sources(member.value, path)
            case Self.scalesKey: scales = reader.scales(member.value, path)
            case Self.schemaKey: _ = reader.string(member.value, path)
            default:
                guard let row = SettingTable.inFile.first(where: { $0.key == member.name }) else { continue }
                reader.option(row.option, row.setting, member.value, path, into: &values)
            }
        }
        // Checks combinations of keys.
        var resolver = SourceResolver(options: Options(values), scales: scales, issues: reader.issues)
        _ = resolver.resolve(sources)
        isEmpty = values == SettingValues() && sources.isEmpty && scales.isEmpty
        reader.issues = resolver.issues
    }

    /// Whether the configuration names anything to watch.
    var namesSources: Bool {
        !sources.isEmpty
            || SettingTable.inFile.contains { $0.option.traits.contains(.choosesFeed) && values.isSaid($0.setting) }
    }

    /// The place of a source's key, for messages about one that is written elsewhere.
    static func place(of key: String) -> String { "\"\(sourcesKey)\": [{…, \"\(key)\": …}]" }

    static let sourcesKey = "sources"
    /// The key of the scales by name; a source's key of the same name chooses one of them.
    static let scalesKey = SettingTable.rows.bands.name
    private static let schemaKey = "$schema"
}

extension ConfigReader {
    fileprivate mutating func sources(_ node: JSONTree, _ path: String) -> [ConfiguredSource] {
        (elements(node, path, atMost: Configuration.mostSources) ?? []).compactMap { source($0.node, $0.path) }
    }

    /// Reads a source; checks each key's value, but not yet their combination.
    private mutating func source(_ node: JSONTree, _ path: String) -> ConfiguredSource? {
        guard let members = members(node, path, known: SettingTable.ofSources.map(\.setting.name)) else { return nil }
        var source = ConfiguredSource(mark: issues.mark(node.position, path))
        for (member, path) in members {
            guard let row = SettingTable.ofSources.first(where: { $0.setting.name == member.name }) else { continue }
            source.read(member.value, path, row.setting, &self)
        }
        return source
    }

    fileprivate mutating func scales(_ node: JSONTree, _ path: String) -> [String: ConfigScale] {
        guard case .object(let members) = node.value else {
            return wrong(node, path, "an object of scales") ?? [:]
        }
        var scales: [String: ConfigScale] = [:]
        var seen: Set<String> = []
        for member in members {
            let path = Self.path(path, member.name)
            let scale = scale(member.value, path)
            if ConfigScale.builtIn[member.name] != nil {
                issues.add(member.position, path, "is a built-in scale; choose another name")
                continue
            }
            if member.name.isEmpty || member.name.unicodeScalars.count > SourceName.maximumLength {
                issues.add(member.position, path, "a scale's name has 1 to \(SourceName.maximumLength) characters")
            } else if !seen.insert(member.name).inserted {
                issues.add(member.position, path, "is given twice; leave one out")
            }
            // A faulty scale keeps its name here, so that sources that use it get no second error.
            scales[member.name] = scale ?? scales[member.name] ?? ConfigScale.builtIn.first?.value
        }
        return scales
    }

    /// Reads an option's key at the top level and reports its mistakes.
    fileprivate mutating func option(
        _ option: Option, _ setting: any Setting, _ node: JSONTree, _ path: String, into values: inout SettingValues
    ) {
        let mark = issues.mark(node.position, path)
        if case .nats = setting.shape {
            _ = setting.read(node, path, &self, into: &values, from: .file(mark))
            return
        }
        guard let texts = texts(node, path, option) else { return }
        for text in texts {
            let taken: Void? = issues.noting(mark) { () throws(UsageError) in
                try setting.parse(text, into: &values, from: .file(mark))
            }
            if taken == nil { return }
        }
        if let fault = setting.secret(in: values) { issues.add(mark, fault) }
    }

    /// Returns the arguments that the command line would give; reports a value of the wrong type and returns nil.
    private mutating func texts(_ node: JSONTree, _ path: String, _ option: Option) -> [String]? {
        switch (option.argument, node.value) {
        case (.none, .boolean(let flag)): return [flag ? "1" : "0"]
        case (.none, _): return wrong(node, path, "true or false")
        case (.optional, .boolean(let flag)): return flag ? [""] : []
        case (.optional, .string): return string(node, path).map { [$0] }
        case (.optional, .number(let text)) where option.takesNumber: return [Self.plain(text)]
        case (.optional, .array) where option.repeats != .last:
            return (elements(node, path, atMost: 1_000) ?? []).flatMap { element -> [String] in
                if case .boolean(true) = element.node.value { return [""] }
                return string(element.node, element.path, limit: 8_192).map { [$0] } ?? []
            }
        case (.optional, _):
            return wrong(
                node, path, option.takesNumber ? "true, false, a string or a number" : "true, false or a string")
        case (.required, .string) where option.repeats != .last:
            return string(node, path, limit: 8_192).map { [$0] }
        case (.required, .array) where option.repeats != .last:
            guard let elements = elements(node, path, atMost: 1_000) else { return nil }
            let texts = elements.compactMap { string($0.node, $0.path, limit: 8_192) }
            return texts.count == elements.count ? texts : nil
        case (.required, _) where option.repeats != .last: return wrong(node, path, "a string or an array of strings")
        case (.required, .number(let text)) where option.takesNumber: return [Self.plain(text)]
        // An empty pointer is the whole document.
        case (.required("POINTER"), .string(let text)) where text.isEmpty: return [text]
        case (.required, .string): return string(node, path).map { [$0] }
        case (.required, _): return wrong(node, path, option.takesNumber ? "a string or a number" : "a string")
        }
    }
}
