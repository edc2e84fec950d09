/// One line of NDJSON as a test looks at it: read without the program's own decoder, and no further than its own members.
///
/// Whether lines are right in every respect is for validate_lines.py to say.
struct FeedLine: Sendable, CustomStringConvertible {
    let bytes: [UInt8]
    /// The members' values as they stand in the line.
    private let members: [String: String]

    /// Nil when the line is not one whole object.
    init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard let text = String(validating: self.bytes, as: UTF8.self), text.hasPrefix("{"), text.hasSuffix("}") else {
            return nil
        }
        var members: [String: String] = [:]
        var rest = self.bytes.dropFirst().dropLast()
        while !rest.isEmpty {
            let name = Self.takeValue(&rest)
            guard name.count >= 2, name.first == UInt8(ascii: "\""), rest.popFirst() == UInt8(ascii: ":") else {
                return nil
            }
            let value = Self.takeValue(&rest)
            guard !value.isEmpty else { return nil }
            members[String(decoding: name.dropFirst().dropLast(), as: UTF8.self)] = String(
                decoding: value, as: UTF8.self)
            if let comma = rest.popFirst(), comma != UInt8(ascii: ",") || rest.isEmpty { return nil }
        }
        self.members = members
    }

    /// The lines of an output; nil for each that is torn.
    static func lines(_ output: [UInt8]) -> [FeedLine?] {
        var parts = output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // What follows the last newline is a line that is not finished, and has to be nothing.
        let isWhole = parts.last?.isEmpty == true
        if isWhole { parts.removeLast() }
        let lines = parts.map { FeedLine($0) }
        return isWhole ? lines : lines.dropLast() + [nil]
    }

    var description: String { String(decoding: bytes, as: UTF8.self) }
    var type: String { string("type") ?? "?" }
    var source: String { string("source") ?? "?" }
    /// The line's number; 0 when it has none.
    var seq: Int { Int(number("seq") ?? 0) }
    /// Whether it is an event of an upstream.
    var isData: Bool { string("series") != nil && type != "window" }

    /// A member's value as it stands in the line.
    func raw(_ name: String) -> String? { members[name] }

    func number(_ name: String) -> Double? { members[name].flatMap { Double($0) } }

    /// The member's text; nil when it is no string.
    func string(_ name: String) -> String? {
        guard let raw = members[name], raw.hasPrefix("\"") else { return nil }
        return Self.unescaped(raw.utf8.dropFirst().dropLast())
    }

    /// Takes one value off the front: up to the comma, colon or end that follows it.
    private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var depth = 0
        var isInString = false
        var index = rest.startIndex
        loop: while index < rest.endIndex {
            switch rest[index] {
            case UInt8(ascii: "\\") where isInString: index += 1
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                if depth == 0 { break loop }
            default: break
            }
            index += 1
        }
        let value = rest[..<min(index, rest.endIndex)]
        rest = rest[value.endIndex...]
        return value
    }

    private static func unescaped(_ bytes: some Sequence<UInt8>) -> String {
        let letters: [UInt8: UInt16] = [
            UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "f"): 12,
            UInt8(ascii: "r"): 13,
        ]
        var units: [UInt16] = []
        var rest = Array(bytes)[...]
        while let byte = rest.first {
            if byte != UInt8(ascii: "\\") {
                let plain = rest.prefix { $0 != UInt8(ascii: "\\") }
                units += Array(String(decoding: plain, as: UTF8.self).utf16)
                rest = rest[plain.endIndex...]
            } else if rest.dropFirst().first == UInt8(ascii: "u") {
                units.append(UInt16(String(decoding: rest.dropFirst(2).prefix(4), as: UTF8.self), radix: 16) ?? 0xFFFD)
                rest = rest.dropFirst(6)
            } else {
                let letter = rest.dropFirst().first ?? 0
                units.append(letters[letter] ?? UInt16(letter))
                rest = rest.dropFirst(2)
            }
        }
        return String(decoding: units, as: UTF16.self)
    }
}
