import Feed
import Reactor

@testable import Settings

/// The schema's regular expressions, and what they mean: no engine for them is linked here.
enum SchemaPattern {
    static let name = "^[^\\u0000-,/:-@\\[-^`{-\\u007f]+$"
    static let token = "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"
    static let url =
        "^(([Hh][Tt][Tt][Pp]|[Ww][Ss])[Ss]?://[^/?#@]+([/?#].*)?|unix:.*|([Nn][Aa][Tt][Ss]|[Tt][Ll][Ss])://[^/?#@]+/?(,.*)?)$"
    static let origin = "^[Hh][Tt][Tt][Pp][Ss]://[-.0-9A-Za-z]+(:[0-9]+)?/?$"
    static let color = "^#[0-9A-Fa-f]{6}$"
    static let duration = "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?$"
    static let size = "^[0-9]+(\\.[0-9]+)?([KMGkmg][Ii]?)?[Bb]?$"
    static let pointer = "^(/([^/~]|~[01])*)*$"
    static let key = "^(#|(/([^/~]|~[01])*)*)$"

    /// Nil when the pattern is none of these.
    static func matches(_ text: String, _ pattern: String) -> Bool? {
        switch pattern {
        case name:
            text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
                default: scalar.value >= 0x80
                }
            } && !text.isEmpty
        case token: !text.isEmpty && text.utf8.allSatisfy(HeaderField.isTokenByte)
        case url:
            text.hasPrefix("unix:")
                || ["http://", "https://", "ws://", "wss://", "nats://", "tls://"].contains { prefix in
                    guard text.lowercased().hasPrefix(prefix) else { return false }
                    let authority = text.dropFirst(prefix.count).prefix { !"/?#".contains($0) }
                    return !authority.isEmpty && !authority.contains("@")
                }
        case origin:
            text.lowercased().hasPrefix("https://")
                && {
                    let rest = text.dropFirst("https://".count).drop {
                        "-.".contains($0) || $0.isASCII && ($0.isLetter || $0.isNumber)
                    }
                    return ["", "/"].contains(rest)
                        || rest.first == ":" && rest.dropFirst().drop(while: \.isNumber).allSatisfy { $0 == "/" }
                }()
        case color:
            text.utf8.count == 7 && text.first == "#" && text.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
        case duration: unit(text).map { ["", "ms", "s", "m", "h", "d"].contains($0) } ?? false
        case size:
            unit(text).map {
                ["", "b", "k", "m", "g", "ki", "mi", "gi", "kb", "mb", "gb", "kib", "mib", "gib"].contains(
                    $0.lowercased())
            }
                ?? false
        case pointer: (try? JSONPointer.parse(text)) != nil
        case key: text == "#" || (try? JSONPointer.parse(text)) != nil
        default: nil
        }
    }

    private static func unit(_ text: String) -> String? {
        DecimalNumber(prefixOf: text.utf8).map { String(Substring($0.rest)) }
    }
}
