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
        unique(node, path, atMost: 32, limit: 256) { word throws(UsageError) in
            guard word.utf8.allSatisfy(HeaderField.isTokenByte) else {
                throw UsageError("\(UsageError.quoted(word)) is no token: letters, digits and hyphens")
            }
            return word
        }
    }

    /// Reads the origins that pictures may come from.
    mutating func origins(_ node: JSONTree, _ path: String) -> [String]? {
        unique(node, path, atMost: Self.mostOrigins, limit: 512) { text throws(UsageError) in
            try PolicyOrigin.parse(text, [.https])
        }
    }

    /// Reads an array of strings that differ; reports each that is wrong, and returns nil when any is.
    private mutating func unique(
        _ node: JSONTree, _ path: String, atMost most: Int, limit: Int, _ check: (String) throws(UsageError) -> String
    ) -> [String]? {
        guard let elements = elements(node, path, atMost: most) else { return nil }
        let before = issues.count
        var words: [String] = []
        for (element, path) in elements {
            guard let text = string(element, path, limit: limit),
                let word = checked(element, path, { () throws(UsageError) in try check(text) })
            else { continue }
            if words.contains(word) { issues.add(element.position, path, "is given twice; leave one out") }
            words.append(word)
        }
        return issues.count == before ? words : nil
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
