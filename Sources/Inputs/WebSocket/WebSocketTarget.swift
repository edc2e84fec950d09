internal import CCurl

/// The parts of a URL that a handshake needs.
struct WebSocketTarget {
    /// The host, and the port unless it is the scheme's default.
    let authority: String
    /// Path and query.
    let path: String
    /// Name and password in the URL.
    let credentials: HTTPRequest.Credentials?

    /// - Parameter url: `ws`, `wss`, `http` or `https`; the result is nil for other text.
    init?(url: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        // libcurl knows the default ports of `http` and `https` only.
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
