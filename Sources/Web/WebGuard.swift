package import HTTPServer
package import Outputs
internal import WebSocket

/// Checks access before a handler sees a request: see docs/security.md.
package enum WebGuard {
    /// Returns why a request is refused; nil when it is not.
    ///
    /// - Parameter isOpen: whether the request needs no token.
    static func refusal(of request: HTTPRequest, isOpen: Bool, _ settings: WebSettings) -> HTTPResponse? {
        if let host = request["Host"], !isKnown(host, settings.hosts) {
            return .refusal(421, "this server has another name; see --http-host")
        }
        if let token = settings.token, !isOpen, !isAllowed(request["Authorization"], token) {
            let realm = #"realm="catwatch", charset="UTF-8""#
            return .refusal(
                401, "this needs the token of --http-token-file",
                [HTTPField("WWW-Authenticate", "Basic \(realm)"), HTTPField("WWW-Authenticate", "Bearer \(realm)")])
        }
        if request.method != "GET", request.method != "HEAD", !isOwn(request) {
            return .refusal(403, "another site's page may not do this")
        }
        return nil
    }

    /// Whether a `Host` is one of this machine's: any address, `localhost`, or a name of `--http-host`. In DNS
    /// rebinding, a site points its own name at this machine to read its private data; such requests carry that name.
    package static func isKnown(_ host: String, _ names: [String]) -> Bool {
        guard let authority = Authority(host) else { return false }
        return authority.isAddress || authority.host == "localhost" || names.contains(authority.host)
    }

    /// Whether a request that changes something comes from the page itself, or from no web page at all.
    package static func isOwn(_ request: HTTPRequest) -> Bool {
        if let site = request["Sec-Fetch-Site"] { return site == "same-origin" }
        guard let origin = request["Origin"] else { return true }
        guard let host = request["Host"].flatMap({ Authority($0) }), let end = origin.firstIndex(of: ":"),
            origin[end...].hasPrefix("://")
        else { return false }
        let usual: UInt16? = ["http": 80, "https": 443][String(origin[..<end])]
        guard let usual, let from = Authority(origin[end...].dropFirst(3)) else { return false }
        return from.host == host.host && from.port ?? usual == host.port ?? usual
    }

    /// Whether `Authorization` has the token: as a bearer token (RFC 6750), or as a password with any user name (RFC
    /// 7617).
    package static func isAllowed(_ authorization: String?, _ token: WebToken) -> Bool {
        guard let authorization, let blank = authorization.utf8.firstIndex(of: 0x20) else { return false }
        let credentials = authorization.utf8[blank...].drop { $0 == 0x20 }
        switch authorization[..<blank].lowercased() {
        case "bearer": return token.matches(credentials)
        case "basic":
            guard let said = Base64.decode(credentials), let colon = said.firstIndex(of: UInt8(ascii: ":")) else {
                return false
            }
            return token.matches(said[(colon + 1)...])
        default: return false
        }
    }
}

extension HTTPResponse {
    /// A refusal as plain text.
    package static func refusal(_ status: Int, _ message: String, _ fields: [HTTPField] = []) -> HTTPResponse {
        .text(status, message, [HTTPField("Cache-Control", "no-store")] + fields)
    }

    /// A temporary refusal. It closes the connection: while waiting for a further request, a surplus client would take
    /// the place of another one.
    static func notNow(_ message: String, retryAfter seconds: Int) -> HTTPResponse {
        refusal(503, message, [HTTPField("Retry-After", "\(seconds)"), HTTPField("Connection", "close")])
    }
}
