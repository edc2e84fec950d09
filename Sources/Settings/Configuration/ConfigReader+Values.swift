extension ConfigReader {
    mutating func url(_ node: ConfigNode, _ path: String) -> FeedURL? {
        guard let text = string(node, path, limit: 8_192) else { return nil }
        guard let url = checked(node, path, { () throws(UsageError) in try FeedURL(text) }) else { return nil }
        guard url.userInfo == nil else {
            issues.add(node.offset, path, "holds a user name or password; write basic or bearer with a secret instead")
            return nil
        }
        return url
    }

    mutating func tokens(_ node: ConfigNode, _ path: String) -> [String]? {
        guard let elements = elements(node, path, atMost: 32) else { return nil }
        var words: [String] = []
        for (element, path) in elements {
            guard let word = string(element, path, limit: 256) else { continue }
            if !word.utf8.allSatisfy(HeaderField.isTokenByte) {
                issues.add(element.offset, path, "\(UsageError.quoted(word)) is no token: letters, digits and hyphens")
            } else if words.contains(word) {
                issues.add(element.offset, path, "is given twice; leave one out")
            } else {
                words.append(word)
            }
        }
        return words
    }

    /// Origins for the page's policy, as browsers write them: in small letters, without the usual port.
    mutating func origins(_ node: ConfigNode, _ path: String) -> [String]? {
        guard let elements = elements(node, path, atMost: Self.mostOrigins) else { return nil }
        var origins: [String] = []
        var isWhole = true
        for (element, path) in elements {
            let origin = string(element, path, limit: 512).flatMap { text in
                checked(element, path) { () throws(UsageError) in try Self.origin(text) }
            }
            if let origin, origins.contains(origin) {
                issues.add(element.offset, path, "is given twice; leave one out")
            } else if let origin {
                origins.append(origin)
                continue
            }
            isWhole = false
        }
        return isWhole ? origins : nil
    }

    /// The most origins of one source's pictures.
    static let mostOrigins = 16

    private static func origin(_ text: String) throws(UsageError) -> String {
        func fault(_ what: String) -> UsageError { UsageError("\(FeedURL.redact(text)) \(what)") }
        guard !text.contains("*") else { throw fault("has a wildcard; write each origin out") }
        let url = try FeedURL(text)
        guard url.scheme == .https else { throw fault("is not https") }
        guard url.userInfo == nil else { throw fault("holds a user name or password; an origin has none") }
        guard url.path == "/", url.query == nil, !text.contains("#") else {
            throw fault("is more than an origin; write \(url.origin)")
        }
        // What a policy has no words for (CSP 3, host-source) would be left out of it without a sound.
        let labels = url.host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") } })
        else { throw fault("has a host that no policy can name; it is letters, digits, hyphens and dots") }
        return url.port == 443 ? "https://\(url.host)" : url.origin
    }

    /// JSON is sent as compact text.
    mutating func message(_ node: ConfigNode, _ path: String) -> String? {
        let text: String
        if case .string(let plain) = node.value { text = plain } else { text = node.tree.compact }
        guard text.utf8.count <= 64 << 10 else {
            issues.add(node.offset, path, "is longer than 64KiB")
            return nil
        }
        return text
    }
}

extension ConfigNode {
    /// The value as it was, with comments and white space left out.
    var tree: JSONTree {
        switch value {
        case .object(let members): .object(members.map { .init($0.name, $0.value.tree) })
        case .array(let elements): .array(elements.map(\.tree))
        case .string(let text): .string(text)
        case .number(let text): .raw(text)
        case .boolean(let flag): .boolean(flag)
        case .null: .raw("null")
        }
    }
}
