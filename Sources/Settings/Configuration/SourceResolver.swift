internal import CLinux
internal import Feed
internal import Glibc
internal import Inputs
internal import Nats
internal import Reactor

/// Makes sources of what presets, the command line and the configuration set for each: merges the settings, checks their
/// combination, reads secrets and checks files.
struct SourceResolver {
    private let options: Options
    /// The header fields sent with every request.
    private let headers: [HeaderField]
    private var secrets: SecretValues
    /// The files that are sources already; they may be deleted by now.
    private let filesBefore: Set<String>
    /// The origin of the stand-in API; any will do for checking.
    var demoOrigin = "http://127.0.0.1:1"
    private(set) var issues = ConfigIssues()
    /// The options' values for every source.
    private let general: SettingValues
    private let scales: [String: ConfigScale]
    private let rows = SettingTable.rows

    init(
        _ options: Options, headers: [HeaderField] = [], environment: [String: String] = [:],
        filesBefore: Set<String> = []
    ) {
        self.options = options
        self.headers = headers
        self.filesBefore = filesBefore
        secrets = SecretValues(environment: environment)
        general = options.values.ofEverySource
        scales = options.configuration?.scales ?? [:]
    }

    /// Returns the sources to start; none when the feed is another agent's or a recording.
    mutating func resolve() throws(UsageError) -> [ConfiguredSource] {
        options.isRelay ? [] : resolve(try options.sources().sources)
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
        check(&source)
        source.scale = scale(of: source) ?? ConfigScale(states: source[\.states])
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

    // MARK: Rules between keys

    /// The keys without which a kind of source does nothing.
    private static let needed: [(kinds: [SourceKind], key: any Setting)] = [
        (SourceKind.remote, SettingTable.rows.url), ([.file], SettingTable.rows.path),
        ([.fibonacci], SettingTable.rows.n), ([.pages], SettingTable.rows.items),
    ]

    /// The reason why a key has no effect on an agent at an address of this scheme; nil when it has one.
    private func silence(_ setting: any Setting, _ section: InSource.Section, _ scheme: FeedURL.Scheme) -> String? {
        let isOfTLS = [rows.authorities, rows.certificate, rows.keyFile].contains { $0 === setting }
        return switch section {
        case .nats where !scheme.isNats && !scheme.isWebSocket: "is for nats:// or tls:// only"
        case .request where scheme.isNats && !isOfTLS: "says nothing to NATS"
        case .request where scheme == .unix: "says nothing to a socket"
        default: nil
        }
    }

    private mutating func check(_ source: inout ConfiguredSource) {
        for (kinds, key) in Self.needed where kinds.contains(source.kind) && source.lacks(key) {
            if key === rows.url, source.isStandIn { continue }
            let preset = source[\.preset].map { "; the preset \($0.rawValue) has none" } ?? ""
            add(source, key, "needs \(key.name)\(preset)")
        }
        if let url = source[\.url], SourceKind.remote.contains(source.kind) { check(url, of: &source) }
        if source.kind != .pages, source[\.key] == .position, source[\.items] == nil, source.lacks(rows.items) {
            let text = "# counts items; say with items where they are"
            issues.add(source.mark(rows.key), option: rows.key.flag, text)
        }
        checkItems(of: &source)
        if source.has(rows.states), source.lacks(rows.value) {
            issues.add(source.mark(rows.states), option: rows.states.flag, "says nothing without value")
        }
        if source.kind == .pages { checkPaging(of: source) }
        if source[\.keyFile] != nil, source[\.certificate] == nil, source.given(rows.certificate) == nil {
            issues.add(source.mark(rows.keyFile), "needs the certificate it belongs to")
        }
        var ways = ([rows.bearer, rows.basic] as [any Setting]).filter(source.has)
        if source[\.headers]?.contains(where: { $0.name.lowercased() == "authorization" }) == true {
            ways.append(rows.headers)
        }
        checkOnlyOne(of: ways, " says who asks", in: source)
        checkOnlyOne(of: [rows.credsFile, rows.nkeyFile, rows.tokenFile].filter(source.has), "", in: source)
    }

    /// Reports keys about items that say nothing without `items` and `key`, and too many patterns of an option.
    private mutating func checkItems(of source: inout ConfiguredSource) {
        let patterns = source[\.only].count
        if patterns > ItemChoice.mostPatterns {
            add(source, rows.only, "has \(patterns) keys; \(ItemChoice.mostPatterns) are the most")
        }
        if patterns > 0, !source.isBroken {
            let missing = ([rows.items, rows.key] as [any Setting]).filter { source.lacks($0) }.map(\.name)
            if !missing.isEmpty {
                let text = "only chooses items by their keys; it needs \(missing.joined(separator: " and "))"
                issues.add(source.mark(rows.only), option: rows.only.flag, text)
            }
        }
        guard source[\.itemCount], source[\.items] == nil, !source.isBroken else { return }
        // For every source, it is meant for those that have items.
        if let mark = source.given(rows.itemCount) { issues.add(mark, "says nothing without items") }
        source.values.remove(rows.itemCount)
    }

    /// Reports that more than one of these keys is given, at the last.
    private mutating func checkOnlyOne(of keys: [any Setting], _ suffix: String, in source: ConfiguredSource) {
        guard keys.count > 1, let last = keys.last else { return }
        issues.add(
            source.mark(last), "more than one of \(keys.map(\.name).joined(separator: ", "))\(suffix); leave one")
    }

    /// Reports an address that is not for the kind, and reports and removes keys that have no effect there.
    private mutating func check(_ url: FeedURL, of source: inout ConfiguredSource) {
        let schemes: [FeedURL.Scheme] =
            switch source.kind {
            case .websocket: [.ws, .wss]
            case .feed: [.unix, .http, .https, .nats, .tls]
            default: [.http, .https]
            }
        if !schemes.contains(url.scheme), !source.isBroken || source.given(rows.url) == nil {
            let schemes = schemes.map(\.rawValue).joined(separator: " or ")
            let text = "sources of kind \(source.kind.rawValue) need \(schemes), not \(url.scheme.rawValue)"
            add(source, rows.url, text)
        }
        guard source.kind == .feed else { return }
        for (key, place) in SettingTable.ofSources {
            guard let reason = silence(key, place.section, url.scheme) else { continue }
            if let mark = source.given(key), place.kinds.contains(.feed) { issues.add(mark, reason) }
            source.values.remove(key)
        }
        guard !url.scheme.isNats else { return }
        if url.query != nil { add(source, rows.url, "an agent's feed is asked for without a query; leave it out") }
        let (length, most) = (url.path.utf8.count, StreamSocket.longestPath)
        if url.scheme == .unix, length > most {
            add(source, rows.url, "the path has \(length) bytes; a socket's path may have \(most) at the most")
        } else if url.scheme != .unix, url.path.hasSuffix("/feed") || url.path.hasSuffix("/feed/") {
            add(source, rows.url, "the path is what stands in front of /feed; leave that out")
        }
    }

    private mutating func checkPaging(of source: ConfiguredSource) {
        if source.given(rows.next) != nil, let other = source.given(rows.pageParameter) {
            issues.add(other, "is given beside next; leave one of them out")
        } else if source[\.next] == nil, source[\.pageParameter] == nil, !source.isBroken {
            issues.add(source.mark, option: source.option, "needs next or page_parameter")
        }
        let pairs: [(any Setting, any Setting)] = [
            (rows.firstPage, rows.pageParameter), (rows.batchParameter, rows.batch),
        ]
        for (key, other) in pairs {
            guard let mark = source.given(key), !source.has(other), source.given(other) == nil else { continue }
            issues.add(mark, "says nothing without \(other.name)")
        }
        if source[\.oneRun], let mark = source.given(rows.every) {
            issues.add(mark, "says nothing beside once: leave one of them out")
        }
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
            issues.add(source.mark(rows.bands), "\(UsageError.quoted(name)) is no scale; \(Sanitizer.visible(hint))")
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

    // MARK: Inputs

    /// The files that a source needs for its connections.
    private static let files = [
        SettingTable.rows.authorities, SettingTable.rows.certificate, SettingTable.rows.keyFile,
        SettingTable.rows.credsFile, SettingTable.rows.nkeyFile, SettingTable.rows.tokenFile,
    ]

    /// Adds issues when a secret or a file cannot be read.
    mutating func build(_ source: ConfiguredSource) -> Source? {
        // Now rather than at the first connection.
        for key in Self.files {
            guard let path = source.values.entry(of: key)?.value, let mark = source.given(key),
                let fault = SystemError.reading(path)
            else { continue }
            issues.add(mark, "\(UsageError.quoted(path)): \(fault.reason)")
        }
        let description = SourceDescription(
            name: source.name, type: source[\.type], unit: source[\.unit] ?? source.scale?.unit,
            bands: source.scale?.scale, rhythm: rhythm(of: source), keep: source[\.keep])
        switch source.kind {
        case .http, .pages, .websocket: return request(source).flatMap { asked(source, description, $0) }
        case .stdin, .file:
            if let path = source[\.path] { check(path, of: source) }
            var stdin = StdinSource(description, extraction: extraction(source))
            stdin.path = source[\.path]
            stdin.maxLine = source[\.maxLine]
            return .stdin(stdin)
        case .fibonacci:
            guard let n = source[\.n] else { return nil }
            var fibonacci = FibonacciSource(description, n: n, every: source[\.every])
            fibonacci.emission = source[\.emit]
            return .fibonacci(fibonacci)
        case .feed: return source.isAgent ? feed(source).map { .feed($0) } : nats(source).map { .nats($0) }
        }
    }

    /// How often to expect something new from a source.
    private func rhythm(of source: ConfiguredSource) -> Rhythm {
        switch source.kind {
        case .http, .pages, .fibonacci: Rhythm(every: source[\.every])
        // A FIFO continues as long as somebody writes to it.
        case .file: source[\.path].flatMap(Self.kind).map { $0 != S_IFREG } == true ? .stream : .once
        case .stdin, .websocket, .feed: .stream
        }
    }

    /// The kind of file (inode(7)); nil when there is none.
    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Builds a source that fetches documents by this request.
    private func asked(
        _ source: ConfiguredSource, _ description: SourceDescription, _ request: HTTPRequest
    ) -> Source? {
        let extraction = extraction(source)
        switch source.kind {
        case .pages:
            let counted = source[\.pageParameter].map {
                PagesSource.Paging.counted(parameter: $0, first: source[\.firstPage])
            }
            guard let paging = source[\.next].map({ .next($0) }) ?? counted else { return nil }
            var pages = PagesSource(description, request: request, paging: paging, extraction: extraction)
            pages.countsItems = source[\.itemCount]
            pages.batch = source[\.batch]
            pages.batchParameter = source[\.batchParameter]
            pages.total = source[\.total]
            pages.pause = source[\.pause]
            pages.mostPages = source[\.mostPages]
            pages.followsOtherOrigins = source[\.otherOrigins]
            pages.retryMost = source[\.retryMost]
            pages.every = source[\.every]
            return .pages(pages)
        case .websocket:
            var webSocket = WebSocketSource(description, request: request, extraction: extraction)
            webSocket.subprotocols = source[\.subprotocols]
            webSocket.retryMost = source[\.retryMost]
            webSocket.subscribe = source[\.subscribe]
            webSocket.pingEvery = source[\.pingEvery]
            webSocket.pingTimeout = source[\.pingTimeout]
            return .webSocket(webSocket)
        default:
            guard let every = source[\.every] else { return nil }
            var http = HTTPSource(description, request: request, every: every, extraction: extraction)
            http.countsItems = source[\.itemCount]
            http.retryMost = source[\.retryMost]
            return .http(http)
        }
    }

    /// Builds a source that reads an agent; adds issues when a secret cannot be read.
    mutating func feed(_ source: ConfiguredSource) -> FeedSource? {
        guard let url = source[\.url] else { return nil }
        if url.scheme == .unix {
            return FeedSource(source.name, at: .socket(path: url.path.isEmpty ? nil : url.path), target: "\(url)")
        }
        return request(source).map { FeedSource(source.name, at: .http($0), target: "\(url)") }
    }

    /// Builds a source that reads many agents' lines from NATS.
    private mutating func nats(_ source: ConfiguredSource) -> NatsSource? {
        guard let url = source[\.url] else { return nil }
        var servers = NatsServers(url.servers)
        // Authorities or a certificate turn TLS on, but not when they are set for every source.
        func isMeant(_ key: any Setting) -> Bool { url.scheme == .tls || source.given(key) != nil }
        servers.authorities = isMeant(rows.authorities) ? source[\.authorities] : nil
        servers.certificate = isMeant(rows.certificate) ? source[\.certificate] : nil
        servers.key = isMeant(rows.keyFile) ? source[\.keyFile] : nil
        if let path = source[\.credsFile] { servers.credentials = .creds(path) }
        if let path = source[\.nkeyFile] { servers.credentials = .nkey(path) }
        if let path = source[\.tokenFile] { servers.credentials = .token(path) }
        if servers.isTokenPlain { issues.add(source.mark(rows.tokenFile), NatsSettings.plainToken) }
        return NatsSource(
            source.name, at: servers, stream: source[\.stream], subject: source[\.subject], target: "\(url)")
    }

    private func extraction(_ source: ConfiguredSource) -> Extraction {
        // With a key, the first string is usually that key, which need not be repeated.
        let text: Extraction.Place =
            if case .at = source[\.key], !source.has(rows.text) { .nowhere } else { source[\.text] }
        var extraction = Extraction(
            items: source[\.items], key: source[\.key], value: source[\.value], states: source[\.states], text: text,
            time: source[\.time], number: source[\.number])
        if !source[\.only].isEmpty { extraction.only = ItemChoice(source[\.only]) }
        return extraction
    }

    private mutating func request(_ source: ConfiguredSource) -> HTTPRequest? {
        let standIn = source.isStandIn ? source[\.preset]?.standIn(at: demoOrigin) : nil
        guard let url = standIn ?? source[\.url] else { return nil }
        var request = HTTPRequest(url: url.withoutUserInfo)
        request.credentials = url.credentials.map { .init(name: $0.name, password: $0.password) }
        request.usesProxy = source[\.proxy] && !source.isStandIn
        request.timeout = source[\.timeout]
        request.maxBody = source[\.maxBody]
        request.maxRedirects = source[\.maxRedirects]
        request.caFile = source[\.authorities]
        request.certificate = source[\.certificate]
        request.key = source[\.keyFile]
        request.userAgent = "catwatch/\(Version.current)"

        var own = headers(of: source)
        let mark = source.mark(rows.bearer)
        if let secret = source[\.bearer], let token = value(of: secret, mark) {
            issues.noting(mark) { () throws(UsageError) in
                own.append(try HeaderField(bearer: token, from: "the secret"))
            }
        }
        if let basic = source[\.basic], let password = value(of: basic.password, source.mark(rows.basic)) {
            request.credentials = .init(name: basic.user, password: password)
        }
        var names = Set(own.map { $0.name.lowercased() })
        if source[\.basic] != nil { names.insert("authorization") }
        request.headers = (headers.filter { !names.contains($0.name.lowercased()) } + own).map {
            "\($0.name): \($0.value)"
        }
        return request
    }

    private mutating func headers(of source: ConfiguredSource) -> [HeaderField] {
        let mark = source.mark(rows.headers)
        return (source[\.headers] ?? []).compactMap { header in
            let text: String? =
                switch header.value {
                case .text(let plain): plain
                case .secret(let secret): value(of: secret, mark)
                }
            guard let text else { return nil }
            return issues.noting(mark) { () throws(UsageError) in try HeaderField("\(header.name): \(text)") }
        }
    }

    private mutating func value(of secret: Secret, _ mark: ConfigMark?) -> String? {
        var secrets = secrets
        defer { self.secrets = secrets }
        return issues.noting(mark) { () throws(UsageError) in try secrets.value(of: secret) } ?? nil
    }

    /// Adds an issue unless the path can be read and is no folder or socket, or was a source before a reload.
    private mutating func check(_ path: String, of source: ConfiguredSource) {
        if filesBefore.contains(path) { return }
        let isSocket = Self.kind(of: path) == S_IFSOCK
        let reason =
            isSocket ? "is a socket; an agent's is read by \(rows.attach.flag)=PATH" : SystemError.reading(path)?.reason
        if let reason { issues.add(source.mark(rows.path), "\(UsageError.quoted(path)): \(reason)") }
    }
}
