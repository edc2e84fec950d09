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

    // Bound: name of an endpoint | 256 characters | cut, with `…`
    private static let longestName = 256

    /// - Parameter url: an absolute URL; one that cannot be parsed is shown as `?`, never verbatim.
    package init(url: String) {
        let parts = Self.parts(of: url)
        origin = parts.origin
        host = parts.host
        authority = parts.authority
        name = parts.name.count > Self.longestName ? String(parts.name.prefix(Self.longestName - 1)) + "…" : parts.name
    }

    private static func parts(
        of url: String
    ) -> (name: String, origin: String, authority: String, host: String) {
        let unknown = (name: "GET ?", origin: "?", authority: "?", host: "?")
        guard let handle = curl_url() else { return unknown }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            return unknown
        }
        func part(_ what: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, what, &text, UInt32(CURLU_NO_DEFAULT_PORT)) == CURLUE_OK, let text else {
                return nil
            }
            defer { curl_free(text) }
            return String(cString: text)
        }
        let host = part(CURLUPART_HOST) ?? "?"
        let authority = part(CURLUPART_PORT).map { "\(host):\($0)" } ?? host
        let origin = "\(part(CURLUPART_SCHEME) ?? "?")://\(authority)"
        return ("GET \(origin)\(part(CURLUPART_PATH) ?? "/")", origin, authority, host)
    }
}
