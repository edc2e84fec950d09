internal import Feed
internal import Reactor

/// Chooses and checks the names of sources.
package enum SourceName {
    /// The longest name, in characters, before a `-2` is added.
    package static let maximumLength = 64

    /// Hands out names that are unique and not reserved.
    struct Register {
        private var taken = ReservedNames.all
        /// The next suffix for each base, so that many equal names do not try all suffixes again.
        private var next: [String: Int] = [:]

        /// - Returns: false when the name is taken already.
        mutating func claim(_ name: String) -> Bool { taken.insert(name).inserted }

        /// Returns a free name: `base`, or `base` with `-2`, `-3`, … added.
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

    /// Checks a name that a person chose for a source, or for the type of its lines.
    ///
    /// - Throws: `UsageError` when it is reserved or holds characters that lines and series need for themselves.
    static func check(_ name: String) throws(UsageError) -> String {
        if let fault = reserved(name) { throw UsageError(fault) }
        let quoted = UsageError.quoted(name)
        if case let prefix = SeriesKind(of: name).prefix, !prefix.isEmpty {
            throw UsageError("\(quoted): names with '\(prefix)' in front are the agent's own; choose another name")
        }
        guard name.unicodeScalars.allSatisfy(NameRule.mayHold) else {
            throw UsageError("\(quoted) may hold letters, digits, '.', '_' and '-' only")
        }
        return name
    }

    /// What is wrong with a name that is reserved for the agent itself; nil for any other.
    static func reserved(_ name: String) -> String? {
        ReservedNames.all.contains(name)
            ? "\(UsageError.quoted(name)) is reserved for what the agent says itself; choose another name" : nil
    }

    /// The default name of a source with this URL: the last component of its path, or the host when there is none, with
    /// `-` for every character outside `[A-Za-z0-9._-]`.
    static func base(for url: FeedURL) -> String {
        base(forPath: url.path) ?? cleaned(url.host.utf8[...]) ?? "source"
    }

    /// The default name of an agent at this address: its host or socket's file, reduced to characters that are valid.
    static func agent(at url: FeedURL) -> String {
        var name = url.host
        if url.scheme == .unix {
            name = url.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
            if name.hasSuffix(".sock") { name.removeLast(".sock".count) }
        }
        return AgentName.made(of: name) ?? "local"
    }

    /// The default name of a source with this file: the last component of the path, cleaned as for a URL; nil when that
    /// has no letter or digit.
    static func base(forPath path: String) -> String? {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { cleaned($0) }
    }

    /// Replaces all but ASCII letters, digits, `.`, `_` and `-` by `-`; nil when no letter or digit is left.
    private static func cleaned(_ bytes: Substring.UTF8View) -> String? {
        let name = bytes.prefix(maximumLength).map {
            $0.isAlphanumeric || "._-".utf8.contains($0) ? $0 : UInt8(ascii: "-")
        }
        return name.contains(where: \.isAlphanumeric) ? String(decoding: name, as: UTF8.self) : nil
    }
}
