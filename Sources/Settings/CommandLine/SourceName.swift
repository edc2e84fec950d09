internal import Feed

/// Names sources.
package enum SourceName {
    /// The longest name, in characters, before a `-2` is added.
    package static let maximumLength = 64

    /// Gives names, no two alike and none reserved.
    struct Register {
        private var taken = ReservedNames.all
        /// How often a base was asked for, so that many alike do not try all suffixes again.
        private var next: [String: Int] = [:]

        /// - Returns: false when somebody has it already.
        mutating func take(_ name: String) -> Bool { taken.insert(name).inserted }

        /// A name that is free: `base`, or with `-2`, `-3`, … added.
        mutating func name(_ base: String) -> String {
            var name = base
            while !taken.insert(name).inserted {
                let suffix = next[base, default: 2]
                next[base] = suffix + 1
                name = "\(base)-\(suffix)"
            }
            return name
        }
    }

    /// A name that somebody chose, for a source or for its lines' type.
    ///
    /// - Throws: `UsageError` when it is reserved or holds what lines and series need for themselves.
    static func check(_ name: String) throws(UsageError) -> String {
        try checkReserved(name)
        let quoted = UsageError.quoted(name)
        if case let prefix = SeriesKind(of: name).prefix, !prefix.isEmpty {
            throw UsageError("\(quoted): names with '\(prefix)' in front are the agent's own; choose another name")
        }
        for scalar in name.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": continue
            case _ where scalar.value >= 0x80 && !Sanitizer.isHidden(scalar) && !scalar.properties.isWhitespace:
                continue
            default: throw UsageError("\(quoted) may hold letters, digits, '.', '_' and '-' only")
            }
        }
        return name
    }

    /// - Throws: `UsageError` when no source and no agent may be called so.
    static func checkReserved(_ name: String) throws(UsageError) {
        guard ReservedNames.all.contains(name) else { return }
        throw UsageError("\(UsageError.quoted(name)) is reserved for what the agent says itself; choose another name")
    }

    /// What a source is named after its URL, when nobody else is: the last component of its path, or the host when there
    /// is none, with `-` for every character outside `[A-Za-z0-9._-]`.
    static func base(for url: FeedURL) -> String {
        base(forPath: url.path) ?? cleaned(url.host.utf8[...]) ?? "source"
    }

    /// What an agent is called after its address: the host, or the socket's file, as far as a name of an agent has it.
    static func agent(at url: FeedURL) -> String {
        var name = url.host
        if url.scheme == .unix {
            name = url.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
            if name.hasSuffix(".sock") { name.removeLast(".sock".count) }
        }
        return AgentName.made(of: name) ?? "local"
    }

    /// What a source is named after its file: the last component of the path, as for a URL; nil when there is nothing in it
    /// that a person could read.
    static func base(forPath path: String) -> String? {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { cleaned($0) }
    }

    /// Nil when nothing is left that a person could read: a name of dots and dashes only.
    private static func cleaned(_ bytes: Substring.UTF8View) -> String? {
        var name = ""
        var readable = false
        for byte in bytes.prefix(maximumLength) {
            if byte.isAlphanumeric { readable = true }
            let isKept = byte.isAlphanumeric || "._-".utf8.contains(byte)
            name.unicodeScalars.append(isKept ? Unicode.Scalar(byte) : "-")
        }
        return readable ? name : nil
    }
}
