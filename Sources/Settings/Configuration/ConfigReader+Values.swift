extension ConfigReader {
    mutating func url(_ node: JSONTree, _ path: String) -> FeedURL? {
        guard let text = string(node, path, limit: 8_192) else { return nil }
        guard let url = checked(node, path, { () throws(UsageError) in try FeedURL(text) }) else { return nil }
        guard url.userInfo == nil else {
            return refuse(node, path, "holds a user name or password; write basic or bearer with a secret instead")
        }
        return url
    }

    mutating func tokens(_ node: JSONTree, _ path: String) -> [String]? {
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

    /// Reads the origins that pictures may come from.
    mutating func origins(_ node: JSONTree, _ path: String) -> [String]? {
        guard let elements = elements(node, path, atMost: Self.mostOrigins) else { return nil }
        var origins: [String] = []
        var isWhole = true
        for (element, path) in elements {
            let origin = string(element, path, limit: 512).flatMap { text in
                checked(element, path) { () throws(UsageError) in try PolicyOrigin.parse(text, [.https]) }
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

    // Bound: origins of a source's pictures | 16 | wrong configuration, exit 2
    static let mostOrigins = 16

    /// Reads a message to send: a string, or JSON, which becomes compact text.
    mutating func message(_ node: JSONTree, _ path: String) -> String? {
        let text: String
        if case .string(let plain) = node.value { text = plain } else { text = node.compact }
        return text.utf8.count <= 64 << 10 ? text : refuse(node, path, "is longer than 64KiB")
    }
}
