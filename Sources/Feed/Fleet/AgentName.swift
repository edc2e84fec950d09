/// The rule for names of a fleet's agents: an agent's name precedes those of its sources, and ends at the first dot.
package enum AgentName {
    /// The rule in words, for error messages.
    package static let rule = "1 to 63 ASCII letters, digits, - or _"
    package static let longest = 63

    package static func isValid(_ name: String) -> Bool {
        1...longest ~= name.utf8.count && name.utf8.allSatisfy(isByte)
    }

    /// Splits the name of an agent's source at the first dot, which ends the agent's name; nil without a dot.
    static func split(_ source: String) -> (agent: String, source: String)? {
        guard let dot = source.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        return (String(source[..<dot]), String(source[source.index(after: dot)...]))
    }

    /// Makes a name from another one, such as a host's: `-` for each invalid character, cut at 63; nil when nothing
    /// readable would remain.
    package static func made(of text: String) -> String? {
        let characters = text.unicodeScalars.prefix(longest).map { scalar in
            scalar.isASCII && isByte(UInt8(scalar.value)) ? Character(scalar) : "-"
        }
        return characters.contains { $0 != "-" && $0 != "_" } ? String(characters) : nil
    }

    /// The default name of an agent, from its machine's; never one that fleets refuse.
    package static func of(host: String) -> String {
        guard let name = made(of: host) else { return "host" }
        return ReservedNames.all.contains(name) ? "host-\(name)" : name
    }

    /// Whether names of agents and runs may have this byte.
    static func isByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// The rule for names of sources and types, of a configuration and of other agents.
package enum NameRule {
    /// In bytes of UTF-8: 64 characters and a `-2`, or more.
    static let longest = 264

    static func isValid(_ name: String) -> Bool {
        1...longest ~= name.utf8.count && name.unicodeScalars.allSatisfy(mayHold)
    }

    /// Whether a name may have this character.
    package static func mayHold(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
        default: scalar.value >= 0x80 && !Sanitizer.isHidden(scalar) && !scalar.properties.isWhitespace
        }
    }
}

/// Names that no source and no agent of a fleet may have.
package enum ReservedNames {
    /// The types of the lines that an agent writes itself or may write in a later version, and what it is called as a
    /// source.
    package static let all: Set<String> = [
        "hello", "stats", "latency", "memory", "window", "error", "progress", "recovered", "agent", "gap", "bye",
        "resync", "restart", "refusal", "lost", "peer", "kept", "alert", "clock", "notified", "silence", "changed",
        "shape", EventStore.ownName,
    ]
}
