internal import Feed

/// Names sources.
package enum SourceName {
    /// What no data source may be called: the types of the lines the agent writes itself, and its own source.
    package static let reserved: Set<String> = [
        "hello", "stats", "latency", "memory", "window", "error", "progress", "agent", "gap", "bye", "resync",
        "restart", "refusal", "catwatch",
    ]

    /// The longest name, in characters, before a `-2` is added.
    package static let maximumLength = 64

    /// Gives names, no two alike and none reserved.
    struct Register {
        private var taken = reserved
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

    /// One name for each URL, in order, no two alike and none reserved.
    ///
    /// A source is named after the last component of its URL's path, or the host when there is none. Characters outside
    /// `[A-Za-z0-9._-]` become `-`. A name that is taken or reserved gets `-2`, `-3`, … added.
    package static func names(for urls: [FeedURL]) -> [String] {
        var register = Register()
        return urls.map { register.name(base(for: $0)) }
    }

    /// A name that somebody chose, for a source or for its lines' type.
    ///
    /// - Throws: `UsageError` when it is reserved or holds what lines and series need for themselves.
    static func check(_ name: String) throws(UsageError) -> String {
        let quoted = UsageError.quoted(name)
        guard !reserved.contains(name) else {
            throw UsageError("\(quoted) is reserved for what the agent says itself; choose another name")
        }
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

    /// What a source is named after its URL, when nobody else is.
    static func base(for url: FeedURL) -> String {
        let components = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = components.last, let name = cleaned(last) { return name }
        return cleaned(url.host.utf8[...]) ?? "source"
    }

    /// Nil when nothing is left that a person could read: a name of dots and dashes only.
    private static func cleaned(_ bytes: Substring.UTF8View) -> String? {
        var name = ""
        var readable = false
        for byte in bytes.prefix(maximumLength) {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                readable = true
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                name += "-"
            }
        }
        return readable ? name : nil
    }
}
