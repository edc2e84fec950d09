internal import Conditions

/// A configuration file, read and checked as far as possible without starting anything.
struct Configuration: Sendable, Equatable {
    // Bound: sources of a configuration | 10,000 | wrong configuration, exit 2
    static let mostSources = 10_000

    let path: String
    /// The settings of the top level.
    var values = SettingValues()
    var sources: [ConfiguredSource] = []
    var scales: [String: ConfigScale] = [:]
    var alerts: [ConfiguredAlert] = []
    /// Whether the file sets nothing.
    private(set) var isEmpty = true

    /// Reads a configuration.
    ///
    /// - Throws: `UsageError` that lists every mistake.
    static func read(_ text: ConfigText) throws(UsageError) -> Configuration {
        var configuration = Configuration(path: text.name)
        try configuration.read(try ConfigNode(text))
        return configuration
    }

    private mutating func read(_ root: ConfigNode) throws(UsageError) {
        let known = SettingTable.inFile.map(\.key) + [Self.sourcesKey, Self.scalesKey, Self.alertsKey, Self.schemaKey]
        var issues = ConfigIssues()
        issues.noting(root.mark) { () throws(UsageError) in
            try root.members { name throws(UsageError) in
                if !known.contains(name), SettingTable.ofSources.contains(where: { $0.setting.name == name }) {
                    throw UsageError("belongs to a source: \(Self.place(of: name))")
                }
                try ConfigNode.check(name, among: known)
            } _: { name, node throws(UsageError) in
                switch name {
                case Self.sourcesKey:
                    _ = try node.elements(atMost: Self.mostSources) { node throws(UsageError) in try readSource(node) }
                case Self.scalesKey: try readScales(node)
                case Self.alertsKey: try readAlerts(node)
                case Self.schemaKey: _ = try node.string()
                default:
                    guard let row = SettingTable.inFile.first(where: { $0.key == name }) else { return }
                    try node.option(row.option, row.setting, into: &values)
                }
            }
        }
        // Checks combinations of keys.
        var options = Options(values)
        options.configuration = self
        var resolver = SourceResolver(options)
        _ = resolver.resolve(sources)
        isEmpty = values == SettingValues() && sources.isEmpty && scales.isEmpty && alerts.isEmpty
        issues.add(resolver.issues)
        try issues.check()
    }

    /// Reads a source; checks each key's value, but not yet their combination.
    private mutating func readSource(_ node: ConfigNode) throws(UsageError) {
        guard case .object = node.value else { throw node.wrong("an object") }
        var source = ConfiguredSource(mark: node.mark)
        defer { sources.append(source) }
        try node.members(SettingTable.ofSources.map(\.setting.name)) { name, node throws(UsageError) in
            guard let row = SettingTable.ofSources.first(where: { $0.setting.name == name }) else { return }
            try source.read(node, row.setting)
        }
    }

    private mutating func readScales(_ node: ConfigNode) throws(UsageError) {
        try node.members("an object of scales") { name throws(UsageError) in
            guard ConfigScale.builtIn[name] == nil else { throw UsageError("is a built-in scale; choose another name") }
            guard 1...SourceName.maximumLength ~= name.unicodeScalars.count else {
                throw UsageError("a scale's name has 1 to \(SourceName.maximumLength) characters")
            }
        } _: { name, node throws(UsageError) in
            // A faulty scale keeps its name here, so that sources that use it get no second error.
            scales[name] = ConfigScale()
            scales[name] = try ConfigScale(node)
        }
    }

    private mutating func readAlerts(_ node: ConfigNode) throws(UsageError) {
        var register = AlertRegister()
        alerts = try node.elements(atMost: AlertRule.mostConditions) { node throws(UsageError) in
            let alert = try ConfiguredAlert(node)
            if let fault = register.add(alert) { throw UsageError(fault) }
            return alert
        }
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
    static let alertsKey = "alerts"
    private static let schemaKey = "$schema"
}

extension ConfigNode {
    /// Reads an option's key at the top level.
    fileprivate func option(
        _ option: Option, _ setting: any Setting, into values: inout SettingValues
    ) throws(UsageError) {
        switch setting.shape {
        case .nats, .states: return try setting.read(self, into: &values, from: .file(mark))
        default: break
        }
        for text in try texts(option) { try setting.parse(text, into: &values, from: .file(mark)) }
        if let fault = setting.secret(in: values) { throw UsageError(fault) }
    }

    /// Returns the arguments that the command line would give.
    private func texts(_ option: Option) throws(UsageError) -> [String] {
        let (takesNumber, repeats) = (option.takesNumber, option.repeats != .last)
        switch (option.argument, value) {
        case (.none, _): return [try boolean() ? "1" : "0"]
        case (.optional, .boolean(let flag)): return flag ? [""] : []
        case (.optional, .number(let text)) where takesNumber, (.required, .number(let text)) where takesNumber:
            return [Self.plain(text)]
        case (.optional, .array) where repeats:
            return try elements(atMost: 1_000) { element throws(UsageError) in
                if case .boolean(true) = element.value { "" } else { try element.string(limit: 8_192) }
            }
        case (.required, .array) where repeats:
            return try elements(atMost: 1_000) { element throws(UsageError) in try element.string(limit: 8_192) }
        // An empty pointer is the whole document.
        case (.required("POINTER"), .string(let text)) where text.isEmpty: return [text]
        case (_, .string): return [try string(limit: repeats ? 8_192 : 4_096)]
        case (.optional, _): throw wrong(takesNumber ? "true, false, a string or a number" : "true, false or a string")
        case (.required, _):
            throw wrong(repeats ? "a string or an array of strings" : takesNumber ? "a string or a number" : "a string")
        }
    }

    /// Returns a number as digits, also when it is whole and written with an exponent.
    static func plain(_ number: String) -> String {
        guard number.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }), let value = Double(number),
            let whole = Int(exactly: value)
        else { return number }
        return "\(whole)"
    }
}
