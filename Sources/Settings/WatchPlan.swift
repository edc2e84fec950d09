internal import CLinux
package import Conditions
internal import Feed
internal import Glibc
package import Inputs
internal import Nats
package import Outputs
internal import Reactor

/// Everything that `catwatch` needs before its event loop starts; files are read here.
package struct WatchPlan: Sendable {
    package let options: Options
    package let environment: [String: String]
    /// Notices for people before the start, a sentence each: values that were rounded, sources that were left out.
    package let notices: [String]
    /// The origins from which the page may show pictures; empty when the feed is another agent's or a recording.
    package let pictures: [String]
    /// The token that HTTP clients must send; nil when none is required.
    package let webToken: WebToken?
    /// The program's arguments.
    private let arguments: [String]
    /// Whether other agents' feeds are among the sources.
    package let isFleet: Bool
    /// The files that are sources.
    private let files: Set<String>
    /// Makes the sources; has read their secrets.
    private let resolver: SourceResolver
    /// The sources with everything filled in but secrets.
    private let configured: [ConfiguredSource]
    private let configuredAlerts: [ConfiguredAlert]
    /// The names that conditions may be about.
    private let subjects: ConditionSubjects

    /// - Parameters:
    ///   - arguments: the arguments that the options were parsed from, for `reload`.
    ///   - filesBefore: the files that are sources of the plan that runs now.
    /// - Throws: `UsageError` when a secret cannot be read or sources contradict each other.
    package init(
        _ options: Options, environment: [String: String], arguments: [String] = [], filesBefore: Set<String> = []
    ) throws(UsageError) {
        self.options = options
        self.environment = environment
        self.arguments = arguments
        let (headers, webToken) = try options.placing { () throws(UsageError) in
            try Self.checkFiles(of: options)
            return (try options.headerFields(environment: environment), try options.httpToken())
        }
        self.webToken = webToken
        var notices: [String] = []
        if let history = options[\.history], options.resolvedHistory != history {
            notices.append(
                "the history of \(DurationText.format(history)) is rounded up to "
                    + "\(DurationText.format(options.resolvedHistory)), whole windows of "
                    + DurationText.format(options[\.interval]))
        }
        if !options.isRelay { notices += try options.sources().notices }
        var resolver = SourceResolver(options, headers: headers, environment: environment, filesBefore: filesBefore)
        let sources = try resolver.resolve()
        for source in sources { _ = resolver.build(source) }
        configured = sources
        try resolver.issues.check()
        self.resolver = resolver
        subjects = ConditionSubjects(sources)
        configuredAlerts = try options.alerts()
        isFleet = sources.contains { $0.kind == .feed }
        files = Set(sources.compactMap { $0[\.path] })
        pictures = sources.flatMap { $0[\.pictures] ?? [] }.reduce(into: []) { origins, origin in
            if !origins.contains(origin) { origins.append(origin) }
        }
        self.notices = notices
        try checkAlerts()
        if options[\.nats] != nil, isFleet {
            try options.placing { () throws(UsageError) in
                throw UsageError(
                    "a feed of other agents is not published, or there would be circles: each agent publishes its own",
                    option: SettingTable.rows.nats.flag)
            }
        }
    }

    /// Returns the sources to start; none when the feed is another agent's or a recording.
    ///
    /// - Parameter demoOrigin: the origin of the stand-in API, when it runs: `http://127.0.0.1:PORT`.
    package func sources(demoOrigin: String?) throws(UsageError) -> [Source] {
        // A user of the stand-in API does not want requests to go to the real services.
        guard !options[\.demo] || demoOrigin != nil else {
            throw UsageError(
                "the stand-in API can only be had from the start: restart for that", option: SettingTable.rows.demo.flag
            )
        }
        return try resolved { resolver in
            if let demoOrigin { resolver.demoOrigin = demoOrigin }
            return configured.compactMap { resolver.build($0) }
        }
    }

    /// Returns the agent whose feed is passed on unchanged; nil when there is none.
    package func passedOn() throws(UsageError) -> FeedSource? {
        guard options.passedOn != nil else { return nil }
        return try resolved { resolver in resolver.resolve(options.agents).first.flatMap { resolver.feed($0) } }
    }

    /// Checks what conditions are about, as far as the sources are known: not where the feed is another agent's, or a
    /// recording.
    ///
    /// - Throws: `UsageError` for a source that does not exist, or if it has to be said which one is meant.
    package func check(_ conditions: [Condition]) throws(UsageError) {
        guard !options.isRelay, !isFleet else { return }
        var check = SubjectCheck(subjects)
        for condition in conditions {
            if let fault = check.fault(of: condition) {
                throw UsageError("\(UsageError.quoted(condition.text)): \(fault)")
            }
        }
    }

    /// The alerts to compute, of the configuration and the command line.
    package var alerts: [AlertRule] { configuredAlerts.map(\.rule) }

    private func checkAlerts() throws(UsageError) {
        guard !options.isRelay, !isFleet, options[\.against] == nil else { return }
        var (check, issues) = (SubjectCheck(subjects), ConfigIssues())
        var first: UsageError?
        for line in configuredAlerts.lazy.flatMap(\.lines) {
            guard let fault = check.fault(of: line.condition) else { continue }
            if line.mark != nil {
                issues.add(line.mark, fault)
            } else if first == nil {
                let text = "\(UsageError.quoted(line.condition.text)): \(fault)"
                first = UsageError(text, option: SettingTable.rows.alert.flag)
            }
        }
        try issues.check()
        if let first { throw first }
    }

    /// A sentence for each alert that names its sources.
    package var alertSummaries: [String] {
        var finder = SubjectFinder(subjects)
        return configuredAlerts.map { alert in
            let rule = alert.rule
            let conditions = rule.conditions.map(\.text).joined(separator: "; ")
            let line =
                rule.conditions[0].text == conditions && rule.conditions[0].name == rule.name
                ? conditions : "\(Sanitizer.visible(rule.name, limit: 100)): \(conditions)"
            return "alert \(Sanitizer.visible(line, limit: 300)): \(finder.sources(of: rule.conditions))"
        }
    }

    private func resolved<Value>(
        _ body: (inout SourceResolver) throws(UsageError) -> Value
    ) throws(UsageError) -> Value {
        var resolver = resolver
        let value = try body(&resolver)
        try resolver.issues.check()
        return value
    }

    /// Reads configuration, secrets and everything else again, from the same arguments and environment. Blocks.
    ///
    /// - Parameter running: the plan that runs now, if it is not this one.
    /// - Throws: `UsageError` when something is wrong now.
    package func reload(running: WatchPlan? = nil) throws(UsageError) -> WatchPlan {
        let environment = environment
        // A word that was a file stays one, even if the file is gone.
        let command = try Command.parse(arguments, environment: environment) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: environment)
        } isThere: {
            options.feeds.files.contains($0)
        }
        guard case .watch(var options) = command else { throw UsageError("there is nothing to watch") }
        // An agent that attached by default does so again.
        if !self.options[\.attach].isEmpty, !self.options.values.isSaid(SettingTable.rows.attach),
            options.mayAttachByDefault
        {
            options.values.set(\.attach, [FeedURL(socket: "")])
        }
        return try WatchPlan(
            options, environment: environment, arguments: arguments, filesBefore: (running ?? self).files)
    }

    /// The keys of settings that differ from another plan's and take effect only after a restart: those without the
    /// trait `reloads`.
    package func restartKeys(comparedTo other: WatchPlan) -> [String] {
        func shown(_ options: Options) -> [String: JSONTree] {
            Dictionary(uniqueKeysWithValues: options.settings.map { ($0.key, $0.tree) })
        }
        let (mine, others) = (shown(options), shown(other.options))
        return SettingTable.inFile.filter { !$0.option.traits.contains(.reloads) && mine[$0.key] != others[$0.key] }
            .map(\.key)
    }

    /// Whether a reload makes sense: a configuration was named, sets something, or runs under a service manager. A
    /// default file that sets nothing does not keep SIGHUP from ending a program in a terminal.
    package var canReload: Bool {
        guard let configuration = options.configuration else { return false }
        return !configuration.isEmpty || options[\.config] != nil || environment["NOTIFY_SOCKET"]?.isEmpty == false
    }

    /// Reports an unreadable file now rather than at the first TLS connection.
    private static func checkFiles(of options: Options) throws(UsageError) {
        let rows = SettingTable.rows
        var files = [rows.authorities, rows.certificate, rows.keyFile, rows.replay].compactMap { key in
            options.values.entry(of: key)?.value.map { (key as any Setting, $0) }
        }
        files.removeAll { $0.0 === rows.replay && $0.1 == "-" }
        files += options[\.nats]?.servers.files.map { (rows.nats, $0) } ?? []
        for (key, path) in files {
            guard let fault = SystemError.reading(path) else { continue }
            throw UsageError("\(UsageError.quoted(path)): \(fault.reason)", option: key.flag)
        }
    }
}

extension SystemError {
    /// The reason why a file cannot be read, also of a folder; nil when it can.
    static func reading(_ path: String) -> SystemError? {
        var status = stat()
        if access(path, R_OK) != 0 { return SystemError(code: errno, call: "access") }
        let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        return isFolder ? SystemError(code: EISDIR, call: "access") : nil
    }
}

extension WatchPlan {
    /// The settings in force as a configuration: defaults filled in, presets written out, secrets as places.
    package func effectiveText() -> String {
        let rows = SettingTable.rows
        var members = options.settings.filter { $0.setting !== rows.urls && $0.setting !== rows.presets }.map {
            JSONTree.Member($0.key, $0.tree)
        }
        let scales = options.configuration?.scales ?? [:]
        if !scales.isEmpty {
            members.append(
                .init(
                    Configuration.scalesKey,
                    .object(scales.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.tree) })))
        }
        let sources = configured.map { source in
            JSONTree.object(source.settings.map { .init($0.setting.name, $0.tree) })
        }
        members.append(.init(Configuration.sourcesKey, .array(sources)))
        if !configuredAlerts.isEmpty {
            members.append(.init(Configuration.alertsKey, .array(configuredAlerts.map(\.tree))))
        }
        return JSONTree.object(members).text
    }

    /// One line for each setting in force: its value, its origin, and the values it overrides; without secrets.
    package func explanation() -> String {
        func line(_ path: String, _ tree: JSONTree, _ entry: (any AnyEntry)?) -> String {
            var weaker: [String] = []
            for entry in entry?.overridden ?? [] {
                let text = "; over \(entry.tree.line) from \(entry.origin.text)"
                // A setting for every source has the same default as the source's own.
                if weaker.last != text { weaker.append(text) }
            }
            return "\(path) = \(tree.line) from \(entry?.origin.text ?? Origin.initial.text)\(weaker.joined())\n"
        }
        var text = options.settings.map { line($0.key, $0.tree, options.values.entry(of: $0.setting)) }.joined()
        for (index, source) in configured.enumerated() {
            for (setting, tree) in source.settings {
                let path = "\(Configuration.sourcesKey)[\(index)].\(setting.name)"
                text += line(path, tree, source.values.entry(of: setting))
            }
        }
        for (index, alert) in configuredAlerts.enumerated() {
            text += "\(Configuration.alertsKey)[\(index)] = \(alert.tree.line) from \(alert.origin.text)\n"
        }
        return text
    }

    /// The configuration file that was used, for stderr.
    package var origin: String {
        options.configuration.map { "configuration: \(Sanitizer.visible($0.path))" } ?? "no configuration file"
    }
}
