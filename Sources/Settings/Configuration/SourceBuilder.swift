import CLinux
internal import Feed
internal import Glibc
internal import Inputs
internal import Nats
internal import Reactor

/// Makes sources ready to start: reads their secrets and checks their files.
struct SourceBuilder {
    /// The header fields sent with every request.
    let headers: [HeaderField]
    var secrets: SecretValues
    var issues: ConfigIssues
    /// The files that are sources already; they may be deleted by now.
    let filesBefore: Set<String>
    /// The origin of the stand-in API; any will do for checking.
    var demoOrigin = "http://127.0.0.1:1"
    private var rows: SettingTable { .rows }

    /// Returns nil and adds issues when a secret or a file cannot be read.
    mutating func build(_ source: ConfiguredSource) -> Source? {
        let description = SourceDescription(
            name: source.name, type: source[\.type], unit: source[\.unit] ?? source.scale?.unit,
            bands: source.scale?.scale, rhythm: rhythm(of: source), keep: source[\.keep])
        switch source.kind {
        case .http:
            guard let request = request(source), let every = source[\.every] else { return nil }
            var http = HTTPSource(description, request: request, every: every, extraction: extraction(source))
            http.retryMost = source[\.retryMost]
            return .http(http)
        case .pages: return pages(source, description)
        case .websocket: return webSocket(source, description)
        case .stdin, .file:
            if let path = source[\.path], !canRead(path, source) { return nil }
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
        case .http, .fibonacci: Rhythm(every: source[\.every])
        case .pages: Rhythm(every: source[\.oneRun] ? nil : source[\.every])
        // A FIFO continues as long as somebody writes to it.
        case .file: source[\.path].map(mayGoOn) == true ? .stream : .once
        case .stdin, .websocket, .feed: .stream
        }
    }

    /// Whether the path exists and is not a regular file.
    private func mayGoOn(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    private mutating func pages(_ source: ConfiguredSource, _ description: SourceDescription) -> Source? {
        let paging: PagesSource.Paging
        if let next = source[\.next] {
            paging = .next(next)
        } else if let parameter = source[\.pageParameter] {
            paging = .counted(parameter: parameter, first: source[\.firstPage])
        } else {
            return nil
        }
        guard let request = request(source) else { return nil }
        var pages = PagesSource(description, request: request, paging: paging, extraction: extraction(source))
        pages.batch = source[\.batch]
        pages.batchParameter = source[\.batchParameter]
        pages.total = source[\.total]
        pages.pause = source[\.pause]
        pages.mostPages = source[\.mostPages]
        pages.followsOtherOrigins = source[\.otherOrigins]
        pages.retryMost = source[\.retryMost]
        pages.every = source[\.oneRun] ? nil : source[\.every]
        return .pages(pages)
    }

    private mutating func webSocket(_ source: ConfiguredSource, _ description: SourceDescription) -> Source? {
        guard let request = request(source) else { return nil }
        var webSocket = WebSocketSource(description, request: request, extraction: extraction(source))
        webSocket.subprotocols = source[\.subprotocols]
        webSocket.retryMost = source[\.retryMost]
        webSocket.subscribe = source[\.subscribe]
        webSocket.pingEvery = source[\.pingEvery]
        webSocket.pingTimeout = source[\.pingTimeout]
        return .webSocket(webSocket)
    }

    /// Builds a source that reads an agent; adds issues and returns nil when a secret or a file cannot be read.
    mutating func feed(_ source: ConfiguredSource) -> FeedSource? {
        guard let url = source[\.url] else { return nil }
        if url.scheme == .unix {
            return FeedSource(source.name, at: .socket(path: url.path.isEmpty ? nil : url.path), target: "\(url)")
        }
        return request(source).map { FeedSource(source.name, at: .http($0), target: "\(url)") }
    }

    /// Builds a source that reads many agents' lines from NATS; adds issues and returns nil when a file cannot be read.
    private mutating func nats(_ source: ConfiguredSource) -> NatsSource? {
        guard let url = source[\.url] else { return nil }
        let before = issues.count
        var servers = NatsServers(url.servers)
        // Authorities or a certificate turn TLS on, but not when they are set for every source.
        func path(_ key: SettingKey<String?>) -> String? {
            url.scheme == .tls || source.given(key) != nil ? file(key, source) : nil
        }
        servers.authorities = path(rows.authorities)
        servers.certificate = path(rows.certificate)
        servers.key = path(rows.keyFile)
        if let path = file(rows.credsFile, source) { servers.credentials = .creds(path) }
        if let path = file(rows.nkeyFile, source) { servers.credentials = .nkey(path) }
        if let path = file(rows.tokenFile, source) { servers.credentials = .token(path) }
        if servers.isTokenPlain { issues.add(source.mark(rows.tokenFile), NatsSettings.plainToken) }
        guard issues.count == before else { return nil }
        return NatsSource(
            source.name, at: servers, stream: source[\.stream], subject: source[\.subject], target: "\(url)")
    }

    private func extraction(_ source: ConfiguredSource) -> Extraction {
        // With a key, the first string is usually that key, which need not be repeated.
        let text: Extraction.Place =
            if case .at = source[\.key], !source.has(rows.text) { .nowhere } else { source[\.text] }
        return Extraction(
            items: source[\.items], key: source[\.key], value: source[\.value], text: text, time: source[\.time],
            number: source[\.number])
    }

    private mutating func request(_ source: ConfiguredSource) -> HTTPRequest? {
        let standIn = source.isStandIn ? source[\.preset]?.standIn(at: demoOrigin) : nil
        guard let url = standIn ?? source[\.url] else { return nil }
        let before = issues.count
        var request = HTTPRequest(url: url.withoutUserInfo)
        request.credentials = url.credentials.map { .init(name: $0.name, password: $0.password) }
        request.usesProxy = source[\.proxy] && !source.isStandIn
        request.timeout = source[\.timeout]
        request.maxBody = source[\.maxBody]
        request.maxRedirects = source[\.maxRedirects]
        request.caFile = file(rows.authorities, source)
        request.certificate = file(rows.certificate, source)
        request.key = file(rows.keyFile, source)
        request.userAgent = "catwatch/\(Version.current)"

        var own = headers(of: source)
        if let secret = source[\.bearer] {
            let mark = source.mark(rows.bearer)
            let field = value(of: secret, mark).flatMap { token in
                issues.noting(mark) { () throws(UsageError) in try HeaderField(bearer: token, from: "the secret") }
            }
            if let field { own.append(field) }
        }
        if let basic = source[\.basic], let password = value(of: basic.password, source.mark(rows.basic)) {
            request.credentials = .init(name: basic.user, password: password)
        }
        var names = Set(own.map { $0.name.lowercased() })
        if source[\.basic] != nil { names.insert("authorization") }
        request.headers = (headers.filter { !names.contains($0.name.lowercased()) } + own).map {
            "\($0.name): \($0.value)"
        }
        return issues.count == before ? request : nil
    }

    private mutating func headers(of source: ConfiguredSource) -> [HeaderField] {
        let mark = source.mark(rows.headers)
        return (source[\.headers] ?? []).compactMap { header in
            let text: String
            switch header.value {
            case .text(let plain): text = plain
            case .secret(let secret):
                guard let value = value(of: secret, mark) else { return nil }
                text = value
            }
            return issues.noting(mark) { () throws(UsageError) in try HeaderField("\(header.name): \(text)") }
        }
    }

    private mutating func value(of secret: Secret, _ mark: ConfigMark?) -> String? {
        var secrets = secrets
        defer { self.secrets = secrets }
        return issues.noting(mark) { () throws(UsageError) in try secrets.value(of: secret) } ?? nil
    }

    /// Whether the path can be read and is no folder or socket, or was a source before a reload; adds an issue if not.
    private mutating func canRead(_ path: String, _ source: ConfiguredSource) -> Bool {
        if filesBefore.contains(path) { return true }
        var status = stat()
        let isSocket = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        guard
            let reason = isSocket
                ? "is a socket; an agent's is read by \(rows.attach.flag)=PATH" : SystemError.reading(path)?.reason
        else { return true }
        issues.add(source.mark(rows.path), "\(UsageError.quoted(path)): \(reason)")
        return false
    }

    /// Reports an unreadable file now rather than at the first TLS connection.
    private mutating func file(_ key: SettingKey<String?>, _ source: ConfiguredSource) -> String? {
        guard let path = source.values.entry(of: key)?.value else { return nil }
        if let mark = source.given(key), access(path, R_OK) != 0 {
            let reason = SystemError(code: errno, call: "access").reason
            issues.add(mark, "\(UsageError.quoted(path)): \(reason)")
        }
        return path
    }
}
