internal import CCurl

/// A request's target without secrets: method, origin and path, but no query, fragment or credentials.
package struct Endpoint: Sendable, Hashable {
    /// `GET https://catfact.ninja/fact`
    package let name: String
    /// `https://catfact.ninja`
    package let origin: String
    /// `catfact.ninja`, with the port when the URL names one.
    package let authority: String
    /// `catfact.ninja`
    package let host: String

    // Name of an endpoint: 256 characters; cut, with `…`.
    private static let longestName = 256

    /// The end of a message that refuses a request because of its origin.
    var isElsewhere: String { "\(origin.prefix(200)), which is only followed when other origins are allowed" }

    /// - Parameter url: an absolute URL; one that cannot be parsed is shown as `?`, never verbatim.
    package init(url: String) {
        let text: String
        if let url = CurlURL(url, CURLU_NON_SUPPORT_SCHEME) {
            host = url.part(CURLUPART_HOST) ?? "?"
            authority = url.authority
            origin = "\(url.part(CURLUPART_SCHEME) ?? "?")://\(authority)"
            text = "GET \(origin)\(url.path)"
        } else {
            (host, authority, origin, text) = ("?", "?", "?", "GET ?")
        }
        name = text.count > Self.longestName ? String(text.prefix(Self.longestName - 1)) + "…" : text
    }
}
