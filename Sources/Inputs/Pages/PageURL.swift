internal import CCurl

/// The URL of a page of a listing, without its fragment.
struct PageURL {
    private(set) var text: String

    init(_ text: String) { self.text = String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "#") })) }

    /// The URL that a link on this page leads to (RFC 3986, section 5.2); nil if libcurl can follow no such link.
    func following(_ link: String) -> PageURL? {
        let link = PageURL(link).text
        // libcurl would take this for a link to the page's directory.
        guard !link.isEmpty else { return self }
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        var target: UnsafeMutablePointer<CChar>?
        guard curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK,
            curl_url_set(handle, CURLUPART_URL, link, 0) == CURLUE_OK,
            curl_url_get(handle, CURLUPART_URL, &target, 0) == CURLUE_OK, let target
        else { return nil }
        defer { curl_free(target) }
        return PageURL(String(cString: target))
    }

    /// Whether the query has a parameter of this name.
    func hasParameter(_ name: String) -> Bool { parts.fields.contains { Self.isParameter($0, name) } }

    /// Sets a parameter of the query, replacing the first one of that name or appending it; other parameters stay the
    /// same, byte for byte.
    mutating func setParameter(_ name: String, to value: Int) {
        guard let encoded = curl_easy_escape(nil, name, Int32(name.utf8.count)) else { return }
        defer { curl_free(encoded) }
        var (path, fields) = parts
        let place = fields.firstIndex { Self.isParameter($0, name) } ?? fields.endIndex
        fields.removeAll { Self.isParameter($0, name) }
        fields.insert("\(String(cString: encoded))=\(value)", at: place)
        text = "\(path)?\(fields.joined(separator: "&"))"
    }

    /// The text before the query, and the query's fields as they are written.
    private var parts: (path: Substring, fields: [Substring]) {
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count > 1, !parts[1].isEmpty else { return (Substring(parts[0]), []) }
        let fields = parts[1].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        return (Substring(parts[0]), fields.map { Substring($0) })
    }

    /// Whether a field of the query has this name, once form encoding is undone.
    private static func isParameter(_ field: Substring, _ name: String) -> Bool {
        let bytes = field.utf8.prefix { $0 != UInt8(ascii: "=") }.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        let text = String(decoding: bytes, as: UTF8.self)
        // libcurl takes a length of zero for a text up to its zero byte, which is the same for an empty one.
        guard let decoded = curl_easy_unescape(nil, text, Int32(text.utf8.count), nil) else { return false }
        defer { curl_free(decoded) }
        return String(cString: decoded).utf8.elementsEqual(name.utf8)
    }
}
