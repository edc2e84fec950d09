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
        guard let url = CurlURL(text, 0), url.follow(link) else { return nil }
        return url.part(CURLUPART_URL).map { PageURL($0) }
    }

    /// Whether the query has a parameter of this name.
    func hasParameter(_ name: String) -> Bool { parts.fields.contains { Self.isParameter($0, name) } }

    /// Sets a parameter of the query, replacing the first one of that name or appending it; other parameters stay the
    /// same, byte for byte.
    mutating func setParameter(_ name: String, to value: Int) {
        var (path, fields) = parts
        let index = fields.firstIndex { Self.isParameter($0, name) } ?? fields.endIndex
        fields.removeAll { Self.isParameter($0, name) }
        fields.insert("\(CurlURL.escaped(name))=\(value)", at: index)
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
        return CurlURL.unescaped(bytes).elementsEqual(name.utf8)
    }
}
