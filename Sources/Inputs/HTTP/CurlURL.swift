internal import CCurl

/// A URL in its parts, as libcurl reads it (curl_url_get(3)).
package struct CurlURL: ~Copyable {
    private let handle: OpaquePointer

    /// - Parameter flags: those of curl_url_set(3).
    /// - Returns: nil for a text that is not an absolute URL.
    init?(_ text: String, _ flags: Int32) {
        guard !Self.isCut(text), let handle = curl_url() else { return nil }
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(flags)) == CURLUE_OK else {
            curl_url_cleanup(handle)
            return nil
        }
        self.handle = handle
    }

    /// Moves to the URL that a link leads to (RFC 3986, section 5.2); returns false if libcurl cannot read the link.
    func follow(_ link: String) -> Bool {
        !Self.isCut(link) && curl_url_set(handle, CURLUPART_URL, link, 0) == CURLUE_OK
    }

    /// Whether libcurl would get only the beginning of a text, up to its NUL. It refuses other control characters itself.
    private static func isCut(_ text: String) -> Bool { text.utf8.contains(0) }

    deinit { curl_url_cleanup(handle) }

    /// A part; nil when the URL lacks it.
    func part(_ what: CURLUPart, _ flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, what, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// The path; a URL without one means the root.
    var path: String { part(CURLUPART_PATH) ?? "/" }

    /// The host, and the port unless it is the scheme's default.
    var authority: String {
        let host = part(CURLUPART_HOST) ?? "?"
        return part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT).map { "\(host):\($0)" } ?? host
    }

    /// The same URL for libcurl, which knows the default ports of `http` and `https` only: `ws` and `wss` are these up
    /// to the handshake (RFC 6455, section 3).
    static func httpURL(_ url: String) -> String {
        ["ws", "wss"].contains(url.prefix { $0 != ":" }.lowercased()) ? "http\(url.dropFirst(2))" : url
    }

    /// Undoes percent-encoding; a percent sign without two hexadecimal digits stands for itself.
    package static func unescaped(_ text: [UInt8]) -> [UInt8] {
        // Given no length, libcurl would look for a zero byte.
        guard !text.isEmpty else { return [] }
        var count: Int32 = 0
        let bytes = text.withUnsafeBytes {
            curl_easy_unescape(nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), &count)
        }
        guard let bytes else { return [] }
        defer { curl_free(bytes) }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }

    /// Percent-encodes every byte that is not unreserved (RFC 3986, section 2.3).
    static func escaped(_ text: String) -> String {
        guard !text.isEmpty, let escaped = curl_easy_escape(nil, text, Int32(text.utf8.count)) else { return "" }
        defer { curl_free(escaped) }
        return String(cString: escaped)
    }
}
