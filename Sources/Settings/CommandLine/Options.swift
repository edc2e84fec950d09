internal import Feed
internal import Outputs
internal import Reactor

/// The merged settings of command line, environment and configuration; every value is checked and in range.
package struct Options: Sendable, Equatable {
    /// The settings of the program, and those that hold for every source.
    package var values: SettingValues
    /// The feeds named by words that are no options.
    var feeds = Feeds()
    /// The sources and scales of the configuration; its options are in `values` already.
    var configuration: Configuration?

    /// Creates options from `values` over the defaults.
    package init(_ values: SettingValues = .init()) {
        self.values = .initial()
        self.values.overlay(values)
    }

    package subscript<Value>(_ key: KeyPath<SettingTable, SettingKey<Value>>) -> Value { values[key] }

    /// Runs a check; when it fails for a value from the configuration, adds the value's place there to the error.
    func placing<Value>(_ check: () throws(UsageError) -> Value) throws(UsageError) -> Value {
        do throws(UsageError) {
            return try check()
        } catch {
            let row = SettingTable.options.first { $0.option.flag == error.option }
            guard case .file(let mark)? = row.flatMap({ values.entry(of: $0.setting)?.origin }) else { throw error }
            throw UsageError(error.message, at: mark)
        }
    }

    /// Applies a configuration below the command line and the environment.
    ///
    /// - Parameter nearer: the values of the command line and the environment.
    mutating func configure(_ file: Configuration, under nearer: SettingValues) {
        var file = file
        if namesSources {
            // What they are about is not watched.
            if file.namesSources { file.alerts = [] }
            file.sources = []
            for row in SettingTable.inFile where row.option.traits.contains(.choosesFeed) {
                file.values.remove(row.setting)
            }
        }
        values = .initial()
        values.overlay(file.values)
        values.overlay(nearer)
        configuration = file
    }

    /// Removes with `--once` what the configuration or environment says to serve: nobody could read it in that time,
    /// and an agent with the same configuration may be running.
    mutating func serveNothingOnce() {
        guard self[\.once] != nil else { return }
        values.remove(SettingTable.rows.listen)
        values.remove(SettingTable.rows.http)
    }

    /// The format of alerts, a table unless somebody says another.
    package var alertFormat: LogFormat { values.isSaid(SettingTable.rows.format) ? self[\.format] : .text }

    /// How much is printed on stderr.
    package enum Verbosity: Int, Sendable, Comparable {
        /// Errors that end the program.
        case quiet
        /// Failures of the upstream as well.
        case normal
        /// Every request as well.
        case verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    package var verbosity: Verbosity { self[\.verbose] ? .verbose : self[\.quiet] ? .quiet : .normal }

    /// How far back windows are kept: the requested duration, rounded up to whole windows; by default 2 minutes, or one
    /// window when that is longer.
    package var resolvedHistory: Duration {
        let interval = self[\.interval]
        guard let history = self[\.history] else { return max(FeedState.Limits().history, interval) }
        let rest = history.components.seconds % max(1, interval.components.seconds)
        return rest == 0 ? history : history + interval - .seconds(rest)
    }

    /// Whether the options name anything to watch.
    package var namesSources: Bool {
        hasOwnSources || !self[\.attach].isEmpty || self[\.replay] != nil
    }

    /// Whether nothing says what to watch.
    package var namesNothing: Bool { !namesSources && configuration?.sources.isEmpty != false }

    private var hasOwnSources: Bool {
        !self[\.urls].isEmpty || !self[\.presets].isEmpty || self[\.demo] || !feeds.isEmpty
    }

    /// The agent whose feed is passed on unchanged: the only attached agent, with no source beside it. Several agents,
    /// or agents that publish to NATS, are a fleet instead.
    package var passedOn: FeedURL? {
        guard self[\.attach].count == 1, !hasOwnSources, configuration?.sources.isEmpty != false else { return nil }
        return self[\.attach].first { !$0.scheme.isNats }
    }

    /// Whether the feed comes from another agent or a recording; then this agent has no sources of its own.
    package var isRelay: Bool { passedOn != nil || self[\.replay] != nil }

    /// Whether nothing says what to watch or where to serve it; then a running agent's feed may be shown.
    package var mayAttachByDefault: Bool {
        !namesSources && self[\.config] == nil && self[\.listen] == nil
            && self[\.http] == nil
    }

    /// The equivalent top level of a configuration, in the order of the table and without secrets.
    ///
    /// Settings that are off, or were not given and have no default, are left out.
    var settings: [(key: String, setting: any Setting, tree: JSONTree)] {
        SettingTable.inFile.compactMap { key, _, setting in
            let tree =
                setting === SettingTable.rows.history
                ? .string(DurationText.format(resolvedHistory)) : values.entry(of: setting)?.tree
            guard let tree, tree != .boolean(false), tree != .array([]) else { return nil }
            return (key, setting, tree)
        }
    }

    /// The sources to start: presets, URLs, standard input, files, attached agents, then the configuration's; `fact`
    /// when there are none. With them a sentence for each one that was left out or guessed.
    ///
    /// - Throws: `UsageError` when a preset lacks the URL that it needs.
    func sources() throws(UsageError) -> (sources: [ConfiguredSource], notices: [String]) {
        let rows = SettingTable.rows
        let configured = configuration?.sources ?? []
        var urls = self[\.urls]
        var presets = self[\.presets]
        let asksForNone = urls.isEmpty && feeds.isEmpty && self[\.attach].isEmpty
        if presets.isEmpty, configured.isEmpty, self[\.demo] || asksForNone { presets = [.fact] }
        let wantsAll = presets.contains(.all)
        var single = presets.filter { $0 != .all }
        if wantsAll { single += Preset.single.filter { !single.contains($0) } }

        let byURL = origin(of: rows.urls)
        var (sources, notices) = ([ConfiguredSource](), [String]())
        for preset in single {
            let flag = rows.presets.flag
            var source = ConfiguredSource(option: flag, \.preset, preset, from: origin(of: rows.presets))
            if preset == .aqi {
                if let index = urls.firstIndex(where: \.scheme.isWebSocket) {
                    source.values.set(\.url, urls.remove(at: index), from: byURL)
                } else if !self[\.demo] {
                    guard wantsAll, !self[\.presets].contains(.aqi) else {
                        throw UsageError(
                            "aqi needs the URL of a feed; add --url wss://HOST/PATH, or --demo", option: flag)
                    }
                    notices.append(
                        "the preset aqi is left out, as it needs the URL of a feed: add --url wss://HOST/PATH")
                    continue
                }
            }
            sources.append(source)
        }
        sources += urls.map { ConfiguredSource(option: rows.urls.flag, \.url, $0, from: byURL) }
        if feeds.readsStdin { sources.append(ConfiguredSource(option: "-", \.kind, .stdin, from: .option("-"))) }
        sources += feeds.files.map {
            ConfiguredSource(option: nil, \.path, $0, from: .option(UsageError.quoted($0)))
        }
        return (sources + agents + configured, notices + feeds.notices)
    }

    /// The alerts to compute: the configuration's, then the command line's.
    ///
    /// - Throws: `UsageError` when two have the same name, there are too many, or the feed is not this agent's own.
    func alerts() throws(UsageError) -> [ConfiguredAlert] {
        let row = SettingTable.rows.alert
        let own = self[\.alert].map { ConfiguredAlert($0, from: .option(row.flag)) }
        let configured = configuration?.alerts ?? []
        if isRelay {
            let place = self[\.replay] != nil ? "this is a recording" : "this is another agent's feed"
            let fault = "alerts are computed where the sources are, and \(place); catwatch wait asks of it"
            guard own.isEmpty else { throw UsageError(fault, option: row.flag) }
            // The file's own contradiction; elsewhere a nearer layer or a running agent decided.
            if let first = configured.first, case .file(let mark) = first.origin,
                case .file = origin(of: SettingTable.rows.attach)
            {
                throw UsageError(fault, at: mark)
            }
            return []
        }
        // The configuration's names are compared when it is read.
        if own.isEmpty { return configured }
        let alerts = configured + own
        var register = AlertRegister()
        for alert in alerts {
            guard let fault = register.add(alert) else { continue }
            throw UsageError("\(alert.quoted): \(fault)", option: row.flag)
        }
        return alerts
    }

    /// The attached agents, as sources.
    var agents: [ConfiguredSource] {
        let attach = SettingTable.rows.attach
        return self[\.attach].map { url in
            var source = ConfiguredSource(option: attach.flag, \.kind, .feed, from: .option(attach.flag))
            source.values.set(\.url, url, from: origin(of: attach))
            return source
        }
    }

    private func origin(of setting: any Setting) -> Origin { values.entry(of: setting)?.origin ?? .initial }
}

extension Options {
    /// The token that HTTP clients must send; nil when none is required. Blocks.
    ///
    /// - Throws: `UsageError` when the file cannot be read or holds no token.
    func httpToken() throws(UsageError) -> WebToken? {
        guard let path = self[\.httpTokenFile] else { return nil }
        return try UsageError.about(SettingTable.rows.httpTokenFile.flag) { () throws(UsageError) in
            guard let token = try Secret.file(path).read(environment: [:]).flatMap({ WebToken($0) }) else {
                let lengths = WebToken.lengths
                throw UsageError(
                    "a token has \(lengths.lowerBound) to \(lengths.upperBound) letters, digits and signs of ASCII")
            }
            return token
        }
    }
}
