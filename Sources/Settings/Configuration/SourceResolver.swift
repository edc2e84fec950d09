internal import Feed
internal import Inputs
internal import Reactor

/// A source with presets and defaults filled in; its secrets and files are not read yet.
struct EffectiveSource: Sendable {
    var name = ""
    let kind: SourceKind
    /// The values of every key that applies to the source's kind.
    var values: SettingValues
    /// The scale for the source's values.
    var scale: ConfigScale?
    let draft: SourceDraft
    /// Whether the URL is a preset's own, which holds no secret.
    let hasKnownURL: Bool
    /// Whether the source asks the stand-in API.
    let isStandIn: Bool

    subscript<Value>(_ key: KeyPath<SettingTable, SettingKey<Value>>) -> Value { values[key] }

    /// Whether the source is a single agent, which gets the source's name.
    var isAgent: Bool { kind == .feed && self[\.url]?.scheme.isNats != true }

    /// Whether the key has a value, even null.
    func has<Value>(_ key: KeyPath<SettingTable, SettingKey<Value>>) -> Bool {
        values.entry(of: SettingTable.rows[keyPath: key]) != nil
    }

    /// The equivalent configuration, with defaults and without secrets; the preset is left out, because its settings
    /// are here.
    var settings: [(setting: any Setting, tree: JSONTree)] {
        let rows = SettingTable.rows
        var shown = values
        for (key, text) in [(rows.name, name), (rows.type, self[\.type] ?? name)]
        where shown.entry(of: key)?.value != text {
            shown.put(key, text, from: .initial)
        }
        if self[\.kind] == nil { shown.set(\.kind, kind) }
        return SettingTable.ofSources.compactMap { setting, source in
            guard source.kinds.contains(kind), setting !== rows.preset, let entry = shown.entry(of: setting) else {
                return nil
            }
            if setting === rows.url, hasKnownURL, let url = self[\.url] {
                return (setting, .string(url.withoutUserInfo))
            }
            return (setting, entry.tree)
        }
    }
}

/// Merges what presets, the command line and the configuration set for each source, and checks the combination.
struct SourceResolver {
    let scales: [String: ConfigScale]
    /// The stand-in API's origin, `http://127.0.0.1:PORT`.
    let demoOrigin: String?
    var issues: ConfigIssues
    private let options: Options
    /// The options' values for every source.
    private let general: SettingValues
    private let rows = SettingTable.rows

    init(options: Options, scales: [String: ConfigScale], demoOrigin: String?, issues: ConfigIssues) {
        self.options = options
        self.scales = scales
        self.demoOrigin = demoOrigin
        self.issues = issues
        general = options.values.ofEverySource
    }

    /// Returns the sources with their names; reports and leaves out those with mistakes.
    mutating func resolve(_ drafts: [SourceDraft]) -> [EffectiveSource] {
        var names = SourceName.Register()
        // Names of sources with other mistakes count, too.
        for draft in drafts {
            guard let name = draft.values[\.name], !names.take(name) else { continue }
            issues.add(draft.mark(rows.name), "\(UsageError.quoted(name)) is another source's name already")
        }
        var sources = drafts.compactMap { resolve($0) }
        for index in sources.indices { sources[index].name = name(of: sources[index], &names) }
        checkAgents(among: sources)
        checkPictures(of: sources)
        return sources
    }

    /// An agent's name is the part of its sources' names before the first dot; no other source may use it there.
    private mutating func checkAgents(among sources: [EffectiveSource]) {
        let agents = Set(sources.filter(\.isAgent).map(\.name))
        guard !agents.isEmpty else { return }
        var names: [FeedURL: String] = [:]
        for source in sources {
            let mark = source.draft.mark(rows.name)
            if source.isAgent {
                if let url = source[\.url], let other = names.updateValue(source.name, forKey: url) {
                    let place = url == FeedURL(socket: "") ? "the usual socket" : "\(url)"
                    let text = "\(place) is read as the agent \(UsageError.quoted(other)) already; leave one out"
                    issues.add(source.draft.mark(rows.url), option: source.draft.option, Sanitizer.visible(text))
                }
                guard !AgentName.isValid(source.name) else { continue }
                let text = "\(UsageError.quoted(source.name)) is no name of an agent, which has \(AgentName.rule)"
                issues.add(mark, option: source.draft.option, text)
            } else if let dot = source.name.firstIndex(of: "."), agents.contains(String(source.name[..<dot])) {
                let agent = UsageError.quoted(source.name[..<dot])
                let text =
                    "\(UsageError.quoted(source.name)) would be a source of the agent \(agent); choose another name"
                issues.add(mark, option: source.draft.option, text)
            }
        }
    }

    private mutating func checkPictures(of sources: [EffectiveSource]) {
        var seen: Set<String> = []
        var bytes = 0
        for source in sources {
            bytes += PolicyOrigin.size(of: (source[\.pictures] ?? []).filter { seen.insert($0).inserted })
            guard bytes > PolicyOrigin.most else { continue }
            let text = "the origins of all sources take more than \(PolicyOrigin.most) bytes together"
            return issues.add(source.draft.mark(rows.pictures), option: source.draft.option, text)
        }
    }

    private mutating func resolve(_ draft: SourceDraft) -> EffectiveSource? {
        // A wrong kind or preset is reported already; without it nobody knows which keys are missing.
        for key in [rows.kind, rows.preset] as [any Setting]
        where draft.given(key) != nil && draft.values.entry(of: key) == nil { return nil }
        let before = issues.count
        let preset = draft.values[\.preset]
        let kind =
            draft.values[\.kind] ?? preset?.values[\.kind] ?? (draft.values[\.path] != nil ? .file : nil)
            ?? SourceKind(of: draft.values[\.url]?.scheme)
        for (setting, source) in SettingTable.ofSources {
            guard let mark = draft.given(setting), !source.kinds.contains(kind) else { continue }
            let kinds = UsageError.list(source.kinds.map(\.rawValue))
            issues.add(mark, "says nothing to sources of kind \(kind.rawValue); it is for \(kinds)")
        }
        let ownURL = draft.values[\.url]
        let isStandIn = options[\.demo] && preset != nil && preset != .fibonacci && ownURL == nil
        var source = EffectiveSource(
            kind: kind, values: values(of: draft, kind), draft: draft,
            hasKnownURL: ownURL.map(Preset.urls.contains) ?? true, isStandIn: isStandIn)
        if isStandIn, let demoOrigin, let url = preset?.standIn(at: demoOrigin) {
            source.values.set(\.url, url, from: options.values.entry(of: rows.demo)?.origin ?? .initial)
        }
        checkPlace(of: source)
        if kind == .feed { checkStream(of: &source) }
        checkPaging(of: source)
        checkRequest(of: source)
        source.scale = scale(of: source)
        return issues.count == before && !draft.isBroken ? source : nil
    }

    /// Returns the defaults, overridden layer by layer by what is more specific to this source.
    private func values(of draft: SourceDraft, _ kind: SourceKind) -> SettingValues {
        var values = SettingValues.initial(for: kind)
        let preset = draft.values[\.preset]?.values ?? SettingValues()
        for layer in draft.isOfCommandLine ? [preset, general, draft.values] : [general, preset, draft.values] {
            values.overlay(layer)
        }
        // A source's own way of paging replaces its preset's, which is `next`.
        if draft.values[\.pageParameter] != nil, draft.values[\.next] == nil { values.remove(rows.next) }
        // Remove the keys that have no effect now.
        if values[\.oneRun] { values.remove(rows.every) }
        if values[\.pageParameter] == nil { values.remove(rows.firstPage) }
        if values[\.batch] == nil { values.remove(rows.batchParameter) }
        for (setting, source) in SettingTable.ofSources where !source.kinds.contains(kind) { values.remove(setting) }
        return values
    }

    private mutating func checkPlace(of source: EffectiveSource) {
        let draft = source.draft
        if SourceKind.remote.contains(source.kind), !draft.isBroken || draft.given(rows.url) == nil {
            if let url = source[\.url] {
                let schemes: [FeedURL.Scheme] =
                    switch source.kind {
                    case .websocket: [.ws, .wss]
                    case .feed: [.unix, .http, .https, .nats, .tls]
                    default: [.http, .https]
                    }
                if !schemes.contains(url.scheme) {
                    let schemes = schemes.map(\.rawValue).joined(separator: " or ")
                    issues.add(
                        draft.mark(rows.url), option: draft.option,
                        "sources of kind \(source.kind.rawValue) need \(schemes), not \(url.scheme.rawValue)")
                }
            } else if !source.isStandIn, draft.given(rows.url) == nil {
                missing(rows.url, source)
            }
        }
        if source.kind == .file, source[\.path] == nil, draft.given(rows.path) == nil { missing(rows.path, source) }
        if source.kind == .fibonacci, source[\.n] == nil, draft.given(rows.n) == nil { missing(rows.n, source) }
        guard source[\.items] == nil, draft.given(rows.items) == nil || source.has(\.items) else { return }
        if source.kind == .pages {
            missing(rows.items, source)
        } else if source[\.key] == .position {
            issues.add(
                draft.mark(rows.key), option: rows.key.flag, "# counts items; say with items where they are")
        }
    }

    /// Reports and removes keys for NATS streams on an agent, and the other way round.
    private mutating func checkStream(of source: inout EffectiveSource) {
        guard let isNats = source[\.url]?.scheme.isNats else { return }
        let ofStreams: [any Setting] = [rows.stream, rows.subject, rows.credsFile, rows.nkeyFile, rows.tokenFile]
        let ofRequests: [any Setting] = [rows.headers, rows.bearer, rows.basic, rows.timeout, rows.proxy]
        for setting in isNats ? ofRequests : ofStreams {
            if let mark = source.draft.given(setting) {
                issues.add(mark, isNats ? "says nothing to NATS" : "is for nats:// or tls:// only")
            }
            source.values.remove(setting)
        }
        if let url = source[\.url], !isNats { checkAgent(at: url, of: &source) }
        let secrets = [rows.credsFile, rows.nkeyFile, rows.tokenFile].filter {
            source.values.entry(of: $0)?.value != nil
        }
        if secrets.count > 1, let last = secrets.last {
            issues.add(
                source.draft.mark(last), "more than one of \(secrets.map(\.name).joined(separator: ", ")); leave one")
        }
    }

    /// Reports keys and parts of the URL that have no effect for an agent.
    private mutating func checkAgent(at url: FeedURL, of source: inout EffectiveSource) {
        let mark = source.draft.mark(rows.url)
        if url.query != nil {
            issues.add(mark, option: source.draft.option, "an agent's feed is asked for without a query; leave it out")
        }
        if url.scheme != .unix, url.path.hasSuffix("/feed") || url.path.hasSuffix("/feed/") {
            issues.add(mark, option: source.draft.option, "the path is what stands in front of /feed; leave that out")
        }
        guard url.scheme == .unix else { return }
        if url.path.utf8.count > StreamSocket.longestPath {
            let text =
                "the path has \(url.path.utf8.count) bytes; a socket's path may have \(StreamSocket.longestPath) at the most"
            issues.add(mark, option: source.draft.option, text)
        }
        let ofHTTP: [any Setting] = [
            rows.headers, rows.bearer, rows.basic, rows.timeout, rows.proxy, rows.authorities, rows.certificate,
            rows.keyFile,
        ]
        for setting in ofHTTP {
            if let mark = source.draft.given(setting) { issues.add(mark, "says nothing to a socket") }
            source.values.remove(setting)
        }
    }

    private mutating func missing(_ key: any Setting, _ source: EffectiveSource) {
        let draft = source.draft
        let text = "needs \(key.name)" + (draft.values[\.preset].map { "; the preset \($0.rawValue) has none" } ?? "")
        issues.add(draft.mark(key), option: draft.option, text)
    }

    private mutating func checkPaging(of source: EffectiveSource) {
        guard source.kind == .pages else { return }
        let draft = source.draft
        if draft.given(rows.next) != nil, let other = draft.given(rows.pageParameter) {
            issues.add(other, "is given beside next; leave one of them out")
        } else if source[\.next] == nil, source[\.pageParameter] == nil, !draft.isBroken {
            issues.add(draft.mark, option: draft.option, "needs next or page_parameter")
        }
        if let mark = draft.given(rows.firstPage), source[\.pageParameter] == nil,
            draft.given(rows.pageParameter) == nil
        {
            issues.add(mark, "says nothing without page_parameter")
        }
        if let mark = draft.given(rows.batchParameter), source[\.batch] == nil, draft.given(rows.batch) == nil {
            issues.add(mark, "says nothing without batch")
        }
        if source[\.oneRun], let mark = draft.given(rows.every) {
            issues.add(mark, "says nothing beside once: leave one of them out")
        }
    }

    private mutating func checkRequest(of source: EffectiveSource) {
        guard SourceKind.remote.contains(source.kind) else { return }
        let draft = source.draft
        if source[\.keyFile] != nil, source[\.certificate] == nil, draft.given(rows.certificate) == nil {
            issues.add(draft.mark(rows.keyFile), "needs the certificate it belongs to")
        }
        var ways = ([rows.bearer, rows.basic] as [any Setting]).filter { source.values.entry(of: $0) != nil }
        if source[\.headers]?.contains(where: { $0.name.lowercased() == "authorization" }) == true {
            ways.append(rows.headers)
        }
        if ways.count > 1, let last = ways.last {
            let names = ways.map(\.name).joined(separator: ", ")
            issues.add(draft.mark(last), "more than one of \(names) says who asks; leave one")
        }
    }

    private mutating func scale(of source: EffectiveSource) -> ConfigScale? {
        switch source[\.bands] {
        case .own(let scale)?: return scale
        case .named(let name)?:
            if let scale = scales[name] ?? ConfigScale.builtIn[name] { return scale }
            let known = scales.keys.sorted() + ConfigScale.builtIn.keys.sorted()
            let hint =
                EditDistance.suggestion(for: name, among: known).map { "did you mean '\($0)'?" }
                ?? "there is \(known.prefix(20).joined(separator: ", "))"
            issues.add(
                source.draft.mark(rows.bands), "\(UsageError.quoted(name)) is no scale; \(Sanitizer.visible(hint))")
        case nil: break
        }
        return nil
    }

    /// Returns the name that was given, else one derived from the preset, the URL, the path or the kind.
    private func name(of source: EffectiveSource, _ names: inout SourceName.Register) -> String {
        if let name = source.draft.values[\.name] { return name }
        if source.kind == .feed, let url = source[\.url] {
            return names.name(url.scheme.isNats ? rows.nats.name : SourceName.agent(at: url))
        }
        return names.name(
            source[\.name] ?? source[\.url].map { SourceName.base(for: $0) }
                ?? source[\.path].flatMap { SourceName.base(forPath: $0) } ?? source.kind.rawValue)
    }
}
