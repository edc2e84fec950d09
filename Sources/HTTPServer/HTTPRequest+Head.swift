extension HTTPRequest {
    /// Normalizes a head for handlers: a target that is a full URL becomes its path, and its host replaces the `Host`
    /// field (RFC 9112, section 3.2.2).
    ///
    /// Refuses ambiguous requests, which a proxy in front may read differently: `Host` (section 3.2), blanks in names
    /// (section 5.1), the length of a body (section 6.3). libmicrohttpd 0.9.75 accepts all of these; in its strict mode
    /// it sends the head of its refusal twice. It also accepts a blank in the target, and reads a body with another
    /// coding than chunks until the connection ends. It takes a folded line (section 5.2) for one with a folded name.
    ///
    /// - Returns: why it is refused; nil when it is not.
    mutating func validateHead(version: String) -> HTTPResponse? {
        var hosts: [Int] = []
        var (lengths, codings) = (0, 0)
        for (index, field) in fields.enumerated() {
            guard Self.isToken(field.name) else { return .text(400, "a field has a name without blanks") }
            if field.name.isSame(as: "Host") {
                guard !field.value.utf8.contains(where: { $0 <= 0x20 }) else {
                    return .text(400, "a host has no blanks")
                }
                hosts.append(index)
            } else if field.name.isSame(as: "Content-Length") {
                lengths += 1
            } else if field.name.isSame(as: "Transfer-Encoding") {
                codings += 1
                guard field.value.isSame(as: "chunked") else {
                    return .text(501, "a body comes in chunks or whole")
                }
            }
        }
        let isOld = version == "HTTP/1.0"
        guard hosts.count == 1 || hosts.isEmpty && isOld else { return .text(400, "a request has one Host") }
        guard lengths + codings <= 1, codings == 0 || !isOld else { return .text(400, "a body has one length") }
        guard !target.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            return .text(400, "a target has no blanks")
        }
        if target.utf8.first == UInt8(ascii: "/") || target == "*" && method == "OPTIONS" { return nil }
        guard let host = removeHost() else { return .text(400, "a target is a path") }
        if let index = hosts.first { fields[index].value = host } else { fields.append(HTTPField("Host", host)) }
        return nil
    }

    /// RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60,
                    0x7C, 0x7E:
                    true
                default: false
                }
            }
    }

    /// Removes scheme and host from the target.
    ///
    /// - Returns: the host with its port; nil when there is none.
    private mutating func removeHost() -> String? {
        guard let colon = target.firstIndex(of: ":"), target[colon...].hasPrefix("://") else { return nil }
        let scheme = String(target[..<colon])
        guard scheme.isSame(as: "http") || scheme.isSame(as: "https") else { return nil }
        let rest = target[colon...].dropFirst(3)
        let host = rest.prefix { $0 != "/" && $0 != "?" }
        guard !host.isEmpty, !host.utf8.contains(UInt8(ascii: "@")) else { return nil }
        let path = rest[host.endIndex...]
        target = path.hasPrefix("/") ? String(path) : "/\(path)"
        return String(host)
    }
}
