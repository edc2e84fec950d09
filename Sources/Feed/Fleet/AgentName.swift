/// What an agent of a fleet may be called: its name stands before those of its sources, and the first dot ends it.
package enum AgentName {
    /// In words, for whoever wrote another one.
    package static let rule = "1 to 63 ASCII letters, digits, - or _"
    package static let longest = 63

    package static func isValid(_ name: String) -> Bool {
        1...longest ~= name.utf8.count && name.utf8.allSatisfy(isByte)
    }

    /// A name made of another one, such as a host's: `-` for every character that may not be, cut at 63; nil when nothing would be
    /// left that a person could read.
    package static func made(of text: String) -> String? {
        let characters = text.unicodeScalars.prefix(longest).map { scalar in
            scalar.isASCII && isByte(UInt8(scalar.value)) ? Character(scalar) : "-"
        }
        return characters.contains { $0 != "-" && $0 != "_" } ? String(characters) : nil
    }

    /// Of an agent that is told no name, by its machine's; none of those that fleets refuse.
    package static func of(host: String) -> String {
        guard let name = made(of: host) else { return "host" }
        return ReservedNames.all.contains(name) ? "host-\(name)" : name
    }

    private static func isByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// What a source, or the type of its lines, may be called by somebody else: as a configuration may.
enum PeerName {
    /// Bytes of UTF-8: 64 characters and a `-2`, or more.
    static let longest = 264

    static func isValid(_ name: String) -> Bool {
        guard 1...longest ~= name.utf8.count else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
            default: scalar.value >= 0x80 && !Sanitizer.isHidden(scalar) && !scalar.properties.isWhitespace
            }
        }
    }
}
