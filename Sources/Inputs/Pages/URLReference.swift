/// A URL or a relative reference in its five parts; every text can be parsed as one (RFC 3986, appendix B).
struct URLReference: Equatable {
    /// Without its colon; nil when there is none.
    var scheme: Substring?
    var authority: Substring?
    var path: Substring
    /// Without its question mark; nil when there is none, which is not the same as an empty one.
    var query: Substring?
    var fragment: Substring?

    init(_ text: String) {
        var rest = text[...]
        if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[rest.utf8.index(after: hash)...]
            rest = rest[..<hash]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon]
            rest = rest[rest.utf8.index(after: colon)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            let start = rest.utf8.index(rest.startIndex, offsetBy: 2)
            let end = rest.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = rest[start..<end]
            rest = rest[end...]
        }
        path = rest
    }

    /// RFC 3986, section 5.3.
    var text: String {
        var text = ""
        if let scheme { text += "\(scheme):" }
        if let authority { text += "//\(authority)" }
        text += path
        if let query { text += "?\(query)" }
        if let fragment { text += "#\(fragment)" }
        return text
    }

    /// Resolves this reference on a page with the URL `base`. (RFC 3986, section 5.2.2.)
    func resolved(against base: URLReference) -> URLReference {
        var target = self
        if scheme == nil {
            target.scheme = base.scheme
            if authority == nil {
                target.authority = base.authority
                if path.isEmpty {
                    target.path = base.path
                    if query == nil { target.query = base.query }
                    return target
                }
                if path.utf8.first != UInt8(ascii: "/") { target.path = merged(with: base) }
            }
        }
        target.path = Self.withoutDots(target.path)
        return target
    }

    /// RFC 3986, section 5.2.3.
    private func merged(with base: URLReference) -> Substring {
        if base.authority != nil, base.path.isEmpty { return "/" + path }
        guard let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return base.path[...slash] + path
    }

    /// Removes `.` and `..`. (RFC 3986, section 5.2.4, by segments.)
    private static func withoutDots(_ path: Substring) -> Substring {
        guard !path.isEmpty else { return path }
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(isAbsolute ? 1 : 0)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return (isAbsolute ? "/" : "") + kept.joined(separator: "/")[...]
    }

    /// A letter, then letters, digits, `+`, `-` and `.` (RFC 3986, section 3.1).
    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension URLReference {
    /// Whether the query has a parameter of this name.
    func hasParameter(_ name: String) -> Bool {
        guard let query else { return false }
        return query.utf8.split(separator: UInt8(ascii: "&")).contains { Self.isParameter($0, name) }
    }

    /// Sets a parameter of the query, replacing the first one of that name or appending it; other parameters stay the
    /// same, byte for byte.
    mutating func setParameter(_ name: String, to value: Int) {
        let field = "\(CurlURL.escaped(name))=\(value)"
        guard let query, !query.isEmpty else {
            self.query = field[...]
            return
        }
        var fields: [Substring] = []
        var isSet = false
        for part in query.split(separator: "&", omittingEmptySubsequences: false) {
            guard Self.isParameter(part.utf8, name) else {
                fields.append(part)
                continue
            }
            if !isSet { fields.append(field[...]) }
            isSet = true
        }
        if !isSet { fields.append(field[...]) }
        self.query = fields.joined(separator: "&")[...]
    }

    private static func isParameter(_ field: Substring.UTF8View, _ name: String) -> Bool {
        let encoded = field.prefix { $0 != UInt8(ascii: "=") }.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return CurlURL.unescaped(encoded).elementsEqual(name.utf8)
    }
}
