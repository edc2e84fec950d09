/// A configuration file that was read and checked as far as that goes without starting anything.
struct Configuration: Sendable, Equatable {
    /// The most sources there may be.
    static let mostSources = 10_000

    let path: String
    /// What its top level says.
    var values = SettingValues()
    var sources: [SourceDraft] = []
    var scales: [String: ConfigScale] = [:]
    /// Whether the file says nothing.
    private(set) var isEmpty = true

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
        let known = SettingTable.inFile.map(\.key) + [Self.sourcesKey, Self.scalesKey, Self.schemaKey]
        guard let members = reader.members(root, "", known: known) else { return }
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
        // What only holds between keys.
        var resolver = SourceResolver(
            options: Options(values), scales: scales, demoOrigin: nil, issues: reader.issues)
        _ = resolver.resolve(sources)
        isEmpty = values == SettingValues() && sources.isEmpty && scales.isEmpty
        reader.issues = resolver.issues
    }

    /// Whether it says what to watch.
    var namesSources: Bool {
        !sources.isEmpty
            || SettingTable.inFile.contains { $0.option.traits.contains(.choosesFeed) && values.isSaid($0.setting) }
    }

    static let sourcesKey = "sources"
    /// The scales by name; a source's key of that name says which is its own.
    static let scalesKey = SettingTable.rows.bands.name
    private static let schemaKey = "$schema"
}

/// What somebody said of a source: its keys, checked one by one, and where they are.
struct SourceDraft: Sendable, Equatable {
    var values = SettingValues()
    /// Where every key's value is, also of those that were refused.
    private var marks: [ObjectIdentifier: ConfigMark] = [:]
    /// Where the source is; nil for what the command line says.
    var mark: ConfigMark?
    /// Which option said it, when it was the command line.
    var option: String?
    /// Whether what the command line says of every feed overrides the preset.
    var isOfCommandLine = false
    /// Whether one of its keys was refused, so that what is missing says nothing.
    private(set) var isBroken = false

    init(mark: ConfigMark? = nil, option: String? = nil, isOfCommandLine: Bool = false) {
        self.mark = mark
        self.option = option
        self.isOfCommandLine = isOfCommandLine
    }

    /// Where the configuration has a key's value; nil when it has none.
    func given(_ setting: any Setting) -> ConfigMark? { marks[ObjectIdentifier(setting)] }

    /// Where a key is, or the source when it has none.
    func mark(_ setting: any Setting) -> ConfigMark? { given(setting) ?? mark }

    fileprivate mutating func read(
        _ node: ConfigNode, _ path: String, _ setting: any Setting, _ reader: inout ConfigReader
    ) {
        let mark = reader.issues.mark(node.offset, path)
        marks[ObjectIdentifier(setting)] = mark
        if !setting.read(node, path, &reader, into: &values, from: .file(mark)) { isBroken = true }
    }
}

extension ConfigReader {
    fileprivate mutating func sources(_ node: ConfigNode, _ path: String) -> [SourceDraft] {
        (elements(node, path, atMost: Configuration.mostSources) ?? []).compactMap { source($0.node, $0.path) }
    }

    /// A source; its keys' values are checked, not yet how they go together.
    private mutating func source(_ node: ConfigNode, _ path: String) -> SourceDraft? {
        guard let members = members(node, path, known: SettingTable.ofSources.map(\.setting.name)) else { return nil }
        var draft = SourceDraft(mark: issues.mark(node.offset, path))
        for (member, path) in members {
            guard let row = SettingTable.ofSources.first(where: { $0.setting.name == member.name }) else { continue }
            draft.read(member.value, path, row.setting, &self)
        }
        return draft
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
            if ConfigScale.builtIn[member.name] != nil {
                issues.add(member.offset, path, "is a built-in scale; choose another name")
            } else if member.name.isEmpty || member.name.unicodeScalars.count > SourceName.maximumLength {
                issues.add(member.offset, path, "a scale's name has 1 to \(SourceName.maximumLength) characters")
            } else if !seen.insert(member.name).inserted {
                issues.add(member.offset, path, "is given twice; leave one out")
            }
            // One with a fault is there all the same, for the sources that name it: they are not told of it as well.
            scales[member.name] = scale(member.value, path) ?? scales[member.name] ?? ConfigScale.builtIn.first?.value
        }
        return scales
    }

    /// Takes an option's key of the top level; what is wrong with it is told.
    fileprivate mutating func option(
        _ option: Option, _ setting: any Setting, _ node: ConfigNode, _ path: String, into values: inout SettingValues
    ) {
        let mark = issues.mark(node.offset, path)
        if case .nats = setting.shape {
            _ = setting.read(node, path, &self, into: &values, from: .file(mark))
            return
        }
        guard let texts = texts(node, path, option) else { return }
        for text in texts {
            let taken: Void? = issues.noting(mark) { () throws(UsageError) in
                try setting.take(text, into: &values, from: .file(mark))
            }
            if taken == nil { return }
        }
        if let fault = setting.secret(in: values) { issues.add(mark, fault) }
    }

    /// What the command line would say, once for each; nil, and told, when the value is of the wrong kind.
    private mutating func texts(_ node: ConfigNode, _ path: String, _ option: Option) -> [String]? {
        switch (option.argument, node.value) {
        case (.none, .boolean(let flag)): return [flag ? "1" : "0"]
        case (.none, _): wrong(node, path, "true or false")
        case (.optional, .boolean(let flag)): return flag ? [""] : []
        case (.optional, .string): return string(node, path).map { [$0] }
        case (.optional, .number(let text)) where option.takesNumber: return [Self.plain(text)]
        case (.optional, .array) where option.repeats != .last:
            return (elements(node, path, atMost: 1_000) ?? []).flatMap { element -> [String] in
                if case .boolean(true) = element.node.value { return [""] }
                return string(element.node, element.path, limit: 8_192).map { [$0] } ?? []
            }
        case (.optional, _):
            wrong(node, path, option.takesNumber ? "true, false, a string or a number" : "true, false or a string")
        case (.required, .string) where option.repeats != .last:
            return string(node, path, limit: 8_192).map { [$0] }
        case (.required, .array) where option.repeats != .last:
            guard let elements = elements(node, path, atMost: 1_000) else { return nil }
            let texts = elements.compactMap { string($0.node, $0.path, limit: 8_192) }
            return texts.count == elements.count ? texts : nil
        case (.required, _) where option.repeats != .last: wrong(node, path, "a string or an array of strings")
        case (.required, .number(let text)) where option.takesNumber: return [Self.plain(text)]
        // An empty pointer is the whole document.
        case (.required("POINTER"), .string(let text)) where text.isEmpty: return [text]
        case (.required, .string): return string(node, path).map { [$0] }
        case (.required, _): wrong(node, path, option.takesNumber ? "a string or a number" : "a string")
        }
        return nil
    }
}
