internal import Feed
internal import Glibc
internal import Inputs
internal import Reactor

/// Makes sources ready to be started: their secrets are read and their files looked at.
struct SourceBuilder {
    /// What every request carries.
    let headers: [HeaderField]
    var secrets: SecretValues
    var issues: ConfigIssues

    /// Nil, and told, when a secret or a file cannot be read.
    mutating func build(_ source: EffectiveSource) -> Source? {
        let description = SourceDescription(
            name: source.name, type: source.string("type"), unit: source.string("unit") ?? source.scale?.unit,
            bands: source.scale?.scale)
        switch source.kind {
        case .http:
            guard let request = request(source), let every = source.duration("every") else { return nil }
            return .http(HTTPSource(description, request: request, every: every, extraction: extraction(source)))
        case .pages: return pages(source, description)
        case .websocket: return webSocket(source, description)
        case .stdin:
            var stdin = StdinSource(description, extraction: extraction(source))
            stdin.maxLine = source.integer("max_line") ?? stdin.maxLine
            return .stdin(stdin)
        case .fibonacci:
            guard let n = source.integer("n") else { return nil }
            var fibonacci = FibonacciSource(description, n: n, every: source.duration("every"))
            fibonacci.emission = source.string("emit").flatMap(FibonacciSource.Emission.init) ?? .summary
            return .fibonacci(fibonacci)
        }
    }

    private mutating func pages(_ source: EffectiveSource, _ description: SourceDescription) -> Source? {
        let paging: PagesSource.Paging
        if let next = source.pointer("next") {
            paging = .next(next)
        } else if let parameter = source.string("page_parameter") {
            paging = .counted(parameter: parameter, first: source.integer("first_page") ?? 1)
        } else {
            return nil
        }
        guard let request = request(source) else { return nil }
        var pages = PagesSource(description, request: request, paging: paging, extraction: extraction(source))
        pages.batch = source.integer("batch")
        pages.batchParameter = source.string("batch_parameter") ?? pages.batchParameter
        pages.total = source.pointer("total")
        pages.pause = source.duration("pause") ?? pages.pause
        pages.mostPages = source.integer("most_pages") ?? pages.mostPages
        pages.followsOtherOrigins = source.flag("other_origins")
        pages.every = source.flag("once") ? nil : source.duration("every")
        return .pages(pages)
    }

    private mutating func webSocket(_ source: EffectiveSource, _ description: SourceDescription) -> Source? {
        guard let request = request(source) else { return nil }
        var webSocket = WebSocketSource(description, request: request, extraction: extraction(source))
        if case .strings(let words)? = source.values["subprotocols"] { webSocket.subprotocols = words }
        webSocket.subscribe = source.string("subscribe")
        webSocket.pingEvery = source.duration("ping_every") ?? webSocket.pingEvery
        webSocket.pingTimeout = source.duration("ping_timeout") ?? webSocket.pingTimeout
        return .webSocket(webSocket)
    }

    private func extraction(_ source: EffectiveSource) -> Extraction {
        func place(_ key: String) -> Extraction.Place {
            switch source.values[key] {
            case .pointer(let pointer)?: .at(pointer)
            case .null?: .nowhere
            default: .first
            }
        }
        let key: Extraction.Key? =
            switch source.values["key"] {
            case .pointer(let pointer)?: .at(pointer)
            case .position?: .position
            default: nil
            }
        // With a key the first string is mostly the key, which need not be said twice.
        let text: Extraction.Place = if case .at = key, source.values["text"] == nil { .nowhere } else { place("text") }
        return Extraction(
            items: source.pointer("items"), key: key, value: place("value"), text: text,
            time: source.pointer("time"), number: source.string("number").flatMap(Extraction.NumberRule.init) ?? .strict
        )
    }

    private mutating func request(_ source: EffectiveSource) -> HTTPRequest? {
        guard let url = source.url else { return nil }
        let before = issues.count
        var request = HTTPRequest(url: url.withoutUserInfo)
        request.credentials = url.credentials.map { .init(name: $0.name, password: $0.password) }
        request.usesProxy = source.flag("proxy") && !source.isStandIn
        request.timeout = source.duration("timeout") ?? request.timeout
        request.maxBody = source.integer("max_body") ?? request.maxBody
        request.maxRedirects = source.integer("max_redirects") ?? request.maxRedirects
        request.caFile = file("ca_file", source)
        request.certificate = file("certificate", source)
        request.key = file("key_file", source)
        request.userAgent = "catwatch/\(Version.current)"

        var own = headers(of: source)
        if case .secret(let secret)? = source.values["bearer"] {
            let mark = source.draft.mark("bearer")
            if let token = value(of: secret, mark) {
                do throws(UsageError) {
                    own.append(try HeaderField(bearer: token, from: "the secret"))
                } catch {
                    issues.add(mark, error.message)
                }
            }
        }
        if case .basic(let user, let secret)? = source.values["basic"],
            let password = value(of: secret, source.draft.mark("basic"))
        {
            request.credentials = .init(name: user, password: password)
        }
        var names = Set(own.map { $0.name.lowercased() })
        if source.values["basic"] != nil { names.insert("authorization") }
        request.headers = (headers.filter { !names.contains($0.name.lowercased()) } + own).map {
            "\($0.name): \($0.value)"
        }
        return issues.count == before ? request : nil
    }

    private mutating func headers(of source: EffectiveSource) -> [HeaderField] {
        guard case .headers(let headers)? = source.values["headers"] else { return [] }
        let mark = source.draft.mark("headers")
        return headers.compactMap { header in
            let text: String
            switch header.value {
            case .text(let plain): text = plain
            case .secret(let secret):
                guard let value = value(of: secret, mark) else { return nil }
                text = value
            }
            do throws(UsageError) {
                return try HeaderField("\(header.name): \(text)")
            } catch {
                issues.add(mark, error.message)
                return nil
            }
        }
    }

    private mutating func value(of secret: Secret, _ mark: ConfigMark?) -> String? {
        do throws(UsageError) {
            return try secrets.value(of: secret)
        } catch {
            issues.add(mark, error.message)
            return nil
        }
    }

    /// Says now that a file cannot be read, not at the first secure connection.
    private mutating func file(_ key: String, _ source: EffectiveSource) -> String? {
        guard let path = source.string(key) else { return nil }
        if let mark = source.draft.marks[key], access(path, R_OK) != 0 {
            let reason = SystemError(code: errno, call: "access").reason
            issues.add(mark, "\(UsageError.quoted(path)): \(reason)")
        }
        return path
    }
}
