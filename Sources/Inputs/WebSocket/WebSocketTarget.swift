internal import CCurl

/// What a handshake needs of a URL.
struct WebSocketTarget {
    /// The host, with the port when that is not the scheme's own.
    let authority: String
    /// Path and query.
    let path: String
    /// From the URL itself.
    let credentials: HTTPRequest.Credentials?

    /// - Parameter url: `ws` or `wss`; nil when it is no such URL.
    init?(url: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        // As the schemes whose ports libcurl knows.
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard ["ws", "wss", "http", "https"].contains(scheme) else { return nil }
        let known = scheme.hasPrefix("ws") ? "http\(url.dropFirst(2))" : url
        guard curl_url_set(handle, CURLUPART_URL, known, UInt32(CURLU_URLENCODE)) == CURLUE_OK else { return nil }
        func part(_ what: CURLUPart, _ flags: Int32 = 0) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, what, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard let host = part(CURLUPART_HOST) else { return nil }
        authority = part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT).map { "\(host):\($0)" } ?? host
        path = (part(CURLUPART_PATH) ?? "/") + (part(CURLUPART_QUERY).map { "?\($0)" } ?? "")
        credentials = part(CURLUPART_USER, CURLU_URLDECODE).map {
            HTTPRequest.Credentials(name: $0, password: part(CURLUPART_PASSWORD, CURLU_URLDECODE) ?? "")
        }
    }
}
