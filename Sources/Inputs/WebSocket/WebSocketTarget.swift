internal import CCurl
internal import WebSocket

/// The parts of a URL that a request by hand needs.
struct WebSocketTarget {
    /// The host, and the port unless it is the scheme's default.
    let authority: String
    /// Path and query.
    let path: String
    /// Name and password in the URL.
    private let credentials: HTTPRequest.Credentials?

    /// - Parameter url: `ws`, `wss`, `http` or `https`; the result is nil for other text.
    init?(url: String) {
        let known = Self.httpURL(url)
        guard ["http", "https"].contains(known.prefix { $0 != ":" }.lowercased()),
            let parts = CurlURL(known, CURLU_URLENCODE)
        else { return nil }
        authority = parts.authority
        path = (parts.part(CURLUPART_PATH) ?? "/") + (parts.part(CURLUPART_QUERY).map { "?\($0)" } ?? "")
        credentials = parts.part(CURLUPART_USER, CURLU_URLDECODE).map {
            HTTPRequest.Credentials(name: $0, password: parts.part(CURLUPART_PASSWORD, CURLU_URLDECODE) ?? "")
        }
    }

    /// The same URL for libcurl, which knows the default ports of `http` and `https` only: `ws` and `wss` are these up
    /// to the handshake (RFC 6455, section 3).
    static func httpURL(_ url: String) -> String {
        ["ws", "wss"].contains(url.prefix { $0 != ":" }.lowercased()) ? "http\(url.dropFirst(2))" : url
    }

    /// Returns the header lines of a request: its own, the user agent, and the credentials.
    func fields(of request: HTTPRequest) -> [String] {
        var fields = request.headers
        func has(_ name: String) -> Bool { fields.contains { $0.lowercased().hasPrefix(name + ":") } }
        if !has("user-agent") { fields.append("User-Agent: \(request.userAgent)") }
        if let credentials = request.credentials ?? credentials, !has("authorization") {
            let pair = Base64.encode("\(credentials.name):\(credentials.password)".utf8)
            fields.append("Authorization: Basic \(pair)")
        }
        return fields
    }
}
