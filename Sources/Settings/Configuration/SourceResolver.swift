internal import Feed
internal import Inputs
internal import Reactor

/// Merges what presets, the command line and the configuration set for each source, and checks the combination.
struct SourceResolver {
    let scales: [String: ConfigScale]
    var issues: ConfigIssues
    private let options: Options
    /// The options' values for every source.
    private let general: SettingValues
    private let rows = SettingTable.rows

    init(options: Options, scales: [String: ConfigScale], issues: ConfigIssues) {
        self.options = options
        self.scales = scales
        self.issues = issues
        general = options.values.ofEverySource
    }

    /// Returns the sources with their names; reports and leaves out those with mistakes.
    mutating func resolve(_ given: [ConfiguredSource]) -> [ConfiguredSource] {
        var names = SourceName.Register()
        // Names of sources with other mistakes count, too.
        for source in given {
            guard let name = source[\.name], !names.claim(name) else { continue }
            issues.add(source.mark(rows.name), "\(UsageError.quoted(name)) is another source's name already")
        }
        var sources = given.compactMap { resolve($0) }
        for index in sources.indices { sources[index].name = name(of: sources[index], &names) }
        checkAgents(among: sources)
        checkPictures(of: sources)
        return sources
    }

    /// Reports a mistake at a key of a source, or at the option that gave the source.
    private mutating func add(_ source: ConfiguredSource, _ key: any Setting, _ message: @autoclosure () -> String) {
        issues.add(source.mark(key), option: source.option, message())
    }

    /// An agent's name is the part of its sources' names before the first dot; no other source may use it there.
    private mutating func checkAgents(among sources: [ConfiguredSource]) {
        let agents = Set(sources.filter(\.isAgent).map(\.name))
        guard !agents.isEmpty else { return }
        var names: [FeedURL: String] = [:]
        for source in sources {
            let name = UsageError.quoted(source.name)
            if source.isAgent {
                if let url = source[\.url], let other = names.updateValue(source.name, forKey: url.standardized) {
                    let place = url == FeedURL(socket: "") ? "the usual socket" : "\(url)"
                    let text = "\(place) is read as the agent \(UsageError.quoted(other)) already; leave one out"
                    add(source, rows.url, Sanitizer.visible(text))
                }
                guard !AgentName.isValid(source.name) else { continue }
                add(source, rows.name, "\(name) is no name of an agent, which has \(AgentName.rule)")
            } else if let dot = source.name.firstIndex(of: "."), agents.contains(String(source.name[..<dot])) {
                let agent = UsageError.quoted(source.name[..<dot])
                add(source, rows.name, "\(name) would be a source of the agent \(agent); choose another name")
            }
        }
    }

    private mutating func checkPictures(of sources: [ConfiguredSource]) {
        var seen: Set<String> = []
        var bytes = 0
        for source in sources {
            bytes += PolicyOrigin.size(of: (source[\.pictures] ?? []).filter { seen.insert($0).inserted })
            guard bytes > PolicyOrigin.most else { continue }
            return add(
                source, rows.pictures, "the origins of all sources take more than \(PolicyOrigin.most) bytes together")
        }
    }

    private mutating func resolve(_ given: ConfiguredSource) -> ConfiguredSource? {
        // A wrong kind or preset is reported already; without it nobody knows which keys are missing.
        for key in [rows.kind, rows.preset] as [any Setting] where given.given(key) != nil && !given.has(key) {
            return nil
        }
        let before = issues.count
        let preset = given[\.preset]
        var source = given
        source.kind =
            given[\.kind] ?? preset?.values[\.kind] ?? (given[\.path] != nil ? .file : nil)
            ?? SourceKind(of: given[\.url]?.scheme)
        for (setting, key) in SettingTable.ofSources {
            guard let mark = given.given(setting), !key.kinds.contains(source.kind) else { continue }
            let kinds = UsageError.list(key.kinds.map(\.rawValue))
            issues.add(mark, "says nothing to sources of kind \(source.kind.rawValue); it is for \(kinds)")
        }
        source.isStandIn = options[\.demo] && preset != nil && preset != .fibonacci && given[\.url] == nil
        source.values = values(of: given, source.kind)
        checkPlace(of: source)
        checkFeed(&source)
        checkPaging(of: source)
        checkRequest(of: source)
        source.scale = scale(of: source)
        return issues.count == before && !source.isBroken ? source : nil
    }

    /// Returns the defaults, overridden layer by layer by what is more specific to this source.
    private func values(of given: ConfiguredSource, _ kind: SourceKind) -> SettingValues {
        var values = SettingValues.initial(for: kind)
        let preset = given[\.preset]?.values ?? SettingValues()
        for layer in given.isOfCommandLine ? [preset, general, given.values] : [general, preset, given.values] {
            values.overlay(layer)
        }
        // A source's own way of paging replaces its preset's, which is `next`.
        if given[\.pageParameter] != nil, given[\.next] == nil { values.remove(rows.next) }
        // Remove the keys that have no effect now.
        if values[\.oneRun] { values.remove(rows.every) }
        if values[\.pageParameter] == nil { values.remove(rows.firstPage) }
        if values[\.batch] == nil { values.remove(rows.batchParameter) }
        for (setting, source) in SettingTable.ofSources where !source.kinds.contains(kind) { values.remove(setting) }
        return values
    }

    // MARK: Checks

    /// Reports a key that is given beside none of `other`.
    private mutating func check(_ source: ConfiguredSource, _ key: any Setting, needs other: any Setting) {
        guard let mark = source.given(key), !source.has(other), source.given(other) == nil else { return }
        issues.add(mark, "says nothing without \(other.name)")
    }

    /// Reports the given ones of these keys, and removes all of them.
    private mutating func refuse(_ keys: [any Setting], _ message: String, in source: inout ConfiguredSource) {
        for key in keys {
            if let mark = source.given(key) { issues.add(mark, message) }
            source.values.remove(key)
        }
    }

    /// Reports that more than one of these keys is given, at the last.
    private mutating func checkOnlyOne(of keys: [any Setting], _ suffix: String, in source: ConfiguredSource) {
        guard keys.count > 1, let last = keys.last else { return }
        issues.add(
            source.mark(last), "more than one of \(keys.map(\.name).joined(separator: ", "))\(suffix); leave one")
    }

    /// Reports that nothing gives a key that the source's kind needs.
    private mutating func miss(_ key: any Setting, in source: ConfiguredSource) {
        let preset = source[\.preset].map { "; the preset \($0.rawValue) has none" } ?? ""
        add(source, key, "needs \(key.name)\(preset)")
    }

    private mutating func checkPlace(of source: ConfiguredSource) {
        let kind = source.kind
        if SourceKind.remote.contains(kind), !source.isBroken || source.given(rows.url) == nil {
            if let url = source[\.url] {
                let schemes: [FeedURL.Scheme] =
                    switch kind {
                    case .websocket: [.ws, .wss]
                    case .feed: [.unix, .http, .https, .nats, .tls]
                    default: [.http, .https]
                    }
                if !schemes.contains(url.scheme) {
                    let schemes = schemes.map(\.rawValue).joined(separator: " or ")
                    add(
                        source, rows.url,
                        "sources of kind \(kind.rawValue) need \(schemes), not \(url.scheme.rawValue)")
                }
            } else if !source.isStandIn, source.given(rows.url) == nil {
                miss(rows.url, in: source)
            }
        }
        for (needed, key) in [(.file, rows.path), (.fibonacci, rows.n)] as [(SourceKind, any Setting)]
        where kind == needed && !source.has(key) && source.given(key) == nil {
            miss(key, in: source)
        }
        guard source[\.items] == nil, source.given(rows.items) == nil || source.has(rows.items) else { return }
        if kind == .pages {
            miss(rows.items, in: source)
        } else if source[\.key] == .position {
            let text = "# counts items; say with items where they are"
            issues.add(source.mark(rows.key), option: rows.key.flag, text)
        }
    }

    /// Reports and removes keys for NATS streams on an agent, and the other way round.
    private mutating func checkFeed(_ source: inout ConfiguredSource) {
        guard source.kind == .feed, let url = source[\.url] else { return }
        let ofStreams: [any Setting] = [rows.stream, rows.subject, rows.credsFile, rows.nkeyFile, rows.tokenFile]
        let ofRequests: [any Setting] = [rows.headers, rows.bearer, rows.basic, rows.timeout, rows.proxy]
        if url.scheme.isNats {
            refuse(ofRequests, "says nothing to NATS", in: &source)
        } else {
            refuse(ofStreams, "is for nats:// or tls:// only", in: &source)
            checkAgent(at: url, of: &source)
        }
        let secrets = [rows.credsFile, rows.nkeyFile, rows.tokenFile].filter {
            source.values.entry(of: $0)?.value != nil
        }
        checkOnlyOne(of: secrets, "", in: source)
    }

    /// Reports keys and parts of the URL that have no effect for an agent.
    private mutating func checkAgent(at url: FeedURL, of source: inout ConfiguredSource) {
        if url.query != nil { add(source, rows.url, "an agent's feed is asked for without a query; leave it out") }
        if url.scheme != .unix, url.path.hasSuffix("/feed") || url.path.hasSuffix("/feed/") {
            add(source, rows.url, "the path is what stands in front of /feed; leave that out")
        }
        guard url.scheme == .unix else { return }
        let (length, most) = (url.path.utf8.count, StreamSocket.longestPath)
        if length > most {
            add(source, rows.url, "the path has \(length) bytes; a socket's path may have \(most) at the most")
        }
        refuse(
            [
                rows.headers, rows.bearer, rows.basic, rows.timeout, rows.proxy, rows.authorities, rows.certificate,
                rows.keyFile,
            ], "says nothing to a socket", in: &source)
    }

    private mutating func checkPaging(of source: ConfiguredSource) {
        guard source.kind == .pages else { return }
        if source.given(rows.next) != nil, let other = source.given(rows.pageParameter) {
            issues.add(other, "is given beside next; leave one of them out")
        } else if source[\.next] == nil, source[\.pageParameter] == nil, !source.isBroken {
            issues.add(source.mark, option: source.option, "needs next or page_parameter")
        }
        check(source, rows.firstPage, needs: rows.pageParameter)
        check(source, rows.batchParameter, needs: rows.batch)
        if source[\.oneRun], let mark = source.given(rows.every) {
            issues.add(mark, "says nothing beside once: leave one of them out")
        }
    }

    private mutating func checkRequest(of source: ConfiguredSource) {
        guard SourceKind.remote.contains(source.kind) else { return }
        if source[\.keyFile] != nil, source[\.certificate] == nil, source.given(rows.certificate) == nil {
            issues.add(source.mark(rows.keyFile), "needs the certificate it belongs to")
        }
        var ways = ([rows.bearer, rows.basic] as [any Setting]).filter(source.has)
        if source[\.headers]?.contains(where: { $0.name.lowercased() == "authorization" }) == true {
            ways.append(rows.headers)
        }
        checkOnlyOne(of: ways, " says who asks", in: source)
    }

    private mutating func scale(of source: ConfiguredSource) -> ConfigScale? {
        switch source[\.bands] {
        case .own(let scale)?: return scale
        case .named(let name)?:
            if let scale = scales[name] ?? ConfigScale.builtIn[name] { return scale }
            let known = scales.keys.filter { !$0.isEmpty }.sorted() + ConfigScale.builtIn.keys.sorted()
            let hint =
                EditDistance.suggestion(for: name, among: known).map { "did you mean '\($0)'?" }
                ?? "there is \(known.prefix(20).joined(separator: ", "))"
            issues.add(
                source.mark(rows.bands), "\(UsageError.quoted(name)) is no scale; \(Sanitizer.visible(hint))")
        case nil: break
        }
        return nil
    }

    /// Returns the name that was given, else one derived from the preset, the URL, the path or the kind.
    private func name(of source: ConfiguredSource, _ names: inout SourceName.Register) -> String {
        if source.given(rows.name) != nil, let name = source[\.name] { return name }
        if source.kind == .feed, let url = source[\.url] {
            return names.name(url.scheme.isNats ? rows.nats.name : SourceName.agent(at: url))
        }
        return names.name(
            source[\.name] ?? source[\.url].map { SourceName.base(for: $0) }
                ?? source[\.path].flatMap { SourceName.base(forPath: $0) } ?? source.kind.rawValue)
    }
}
