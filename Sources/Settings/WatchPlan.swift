internal import Feed
internal import Glibc
package import Inputs
internal import Reactor

/// What `catwatch` is to do, worked out as far as that needs no loop: files are read here, before anything runs.
package struct WatchPlan: Sendable {
    package let options: Options
    package let environment: [String: String]
    /// What a person should know before it starts, a sentence each: what was rounded, what was left out.
    package let notices: [String]
    /// As the program got them.
    private let arguments: [String]
    /// What every request carries.
    private let headers: [HeaderField]
    private let secrets: SecretValues

    /// Any stand-in will do for checking.
    private static let someOrigin = "http://127.0.0.1:1"

    /// - Parameter arguments: those that the options came from, for `reload`.
    /// - Throws: `UsageError` when a secret cannot be read or sources do not go together.
    package init(_ options: Options, environment: [String: String], arguments: [String] = []) throws(UsageError) {
        self.options = options
        self.environment = environment
        self.arguments = arguments
        try Self.check(options.request)
        headers = try options.request.headerFields(environment: environment)
        var notices: [String] = []
        if let history = options.history, options.resolvedHistory != history {
            notices.append(
                "the history of \(DurationText.format(history)) is rounded up to "
                    + "\(DurationText.format(options.resolvedHistory)), whole windows of "
                    + DurationText.format(options.interval))
        }
        var secrets = SecretValues(environment: environment)
        if options.attach == nil {
            let demoOrigin = options.demo ? Self.someOrigin : nil
            let sources = try Self.effective(options, demoOrigin: demoOrigin, notices: &notices)
            var builder = SourceBuilder(headers: headers, secrets: secrets, issues: Self.issues(options))
            for source in sources { _ = builder.build(source) }
            try builder.issues.check()
            secrets = builder.secrets
        }
        self.secrets = secrets
        self.notices = notices
    }

    /// The sources to start; none when a feed is attached.
    ///
    /// - Parameter demoOrigin: where the stand-in API is, when it runs: `http://127.0.0.1:PORT`.
    package func sources(demoOrigin: String?) throws(UsageError) -> [Source] {
        guard options.attach == nil else { return [] }
        // Who asks for the stand-in does not want the real services to be asked instead.
        guard !options.demo || demoOrigin != nil else {
            throw UsageError("the stand-in API can only be had from the start: restart for that", option: "--demo")
        }
        var builder = SourceBuilder(headers: headers, secrets: secrets, issues: Self.issues(options))
        let sources = try effectiveSources(demoOrigin: demoOrigin).compactMap { builder.build($0) }
        try builder.issues.check()
        return sources
    }

    /// The sources with everything filled in, but secrets.
    func effectiveSources(demoOrigin: String? = nil) throws(UsageError) -> [EffectiveSource] {
        var notices: [String] = []
        return options.attach == nil
            ? try Self.effective(options, demoOrigin: demoOrigin, notices: &notices) : []
    }

    /// Reads configuration, secrets and everything else anew, from the same arguments and environment. Blocks.
    ///
    /// - Throws: `UsageError` when something is wrong now.
    package func reload() throws(UsageError) -> WatchPlan {
        let environment = environment
        let command = try Command.parse(arguments, environment: environment) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: environment)
        }
        guard case .watch(let options) = command else { throw UsageError("there is nothing to watch") }
        return try WatchPlan(options, environment: environment, arguments: arguments)
    }

    /// The keys of settings that differ from another plan's and hold from the next start on only: all but those of sources
    /// and bands.
    package func restartKeys(comparedTo other: WatchPlan) -> [String] {
        func values(_ plan: WatchPlan) -> [String: JSONTree] {
            plan.options.settings.reduce(into: [:]) { $0[$1.name] = $1.value }
        }
        let (mine, others) = (values(self), values(other))
        return Configuration.options.filter { entry in
            !Options.sourceSettings.contains(entry.long) && mine[entry.key] != others[entry.key]
        }.map(\.key)
    }

    /// Whether there is anything to read again.
    package var canReload: Bool { options.configuration != nil }

    private static func effective(
        _ options: Options, demoOrigin: String?, notices: inout [String]
    ) throws(UsageError) -> [EffectiveSource] {
        var resolver = SourceResolver(
            options: options, scales: options.configuration?.scales ?? [:], demoOrigin: demoOrigin,
            issues: issues(options))
        let sources = resolver.resolve(try options.drafts(notices: &notices))
        try resolver.issues.check()
        return sources
    }

    private static func issues(_ options: Options) -> ConfigIssues {
        ConfigIssues(name: options.configuration?.path ?? "")
    }

    /// Says now that a file cannot be read, not at the first secure connection.
    private static func check(_ request: RequestOptions) throws(UsageError) {
        for (name, path) in [
            ("--cacert", request.caFile), ("--cert", request.certificate), ("--key-file", request.key),
        ] {
            guard let path, access(path, R_OK) != 0 else { continue }
            let reason = SystemError(code: errno, call: "access").reason
            throw UsageError("\(UsageError.quoted(path)): \(reason)", option: name)
        }
    }
}

extension WatchPlan {
    /// Everything that holds, as a configuration: defaults filled in, presets written out, secrets left where they are.
    package func effectiveText() throws(UsageError) -> String {
        var members = options.settings.filter { !["url", "preset"].contains($0.name) }
        let scales = options.configuration?.scales ?? [:]
        if !scales.isEmpty {
            members.append(
                .init("bands", .object(scales.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.tree) })))
        }
        members.append(.init("sources", .array(try effectiveSources().map(\.tree))))
        return JSONTree.object(members).text
    }

    /// Which file was used, for stderr.
    package var origin: String {
        options.configuration.map { "configuration: \(Sanitizer.visible($0.path))" } ?? "no configuration file"
    }
}
