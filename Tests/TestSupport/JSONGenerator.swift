/// Random JSON documents, and the ways in which documents get broken.
package struct JSONGenerator {
    package var random: SeededGenerator

    /// How often a random test goes round: `CATWATCH_LONG=1` asks for the full size.
    package static func rounds(_ short: Int, long: Int) -> Int { LongRun.rounds(short: short, long: long) }

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// One value with white space in it.
    package mutating func document(depth: Int = 4) -> [UInt8] {
        var text = ""
        value(depth: depth, into: &text)
        return Array((space() + text + space()).utf8)
    }

    /// One to three bytes flipped, inserted, removed, doubled or cut off.
    package mutating func broken(_ document: [UInt8]) -> [UInt8] {
        var bytes = document
        for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.insert(Array("{}[],:\"\\0.-+eEtnu \u{1}".utf8).randomElement(using: &random) ?? 0, at: index)
            case 3: bytes.remove(at: index)
            case 4: bytes.removeSubrange(index...)
            default: bytes.insert(contentsOf: bytes[index...].prefix(5), at: index)
            }
        }
        return bytes
    }

    package mutating func number() -> String {
        let samples = [
            "0", "-0", "1e999", "-1E-999", "123456789012345678901234567890", "0.1", "5e-324", "1E+2",
            "12e9223372036854775806", "-0.01E-9223372036854775808",
        ]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return samples.randomElement(using: &random) ?? "0"
        case 1: return "\(Int64.random(in: .min ... .max, using: &random))"
        case 2: return "\(Double.random(in: -1e6...1e6, using: &random))"
        default: return "\(Int.random(in: -999...999, using: &random))"
        }
    }

    /// With its quotes.
    package mutating func string() -> String {
        let parts = [
            "a", "cat", "length", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\ud83d\\ude3a", "\\ud800", "\\udc00x", "é",
            "猫",
            "😺", "{", "]", ",", ":", " ", "  ", "a rather long run of plain letters, with spaces", "\u{7F}", "~1/",
        ]
        var text = "\""
        for _ in 0..<Int.random(in: 0..<5, using: &random) { text += parts.randomElement(using: &random) ?? "" }
        return text + "\""
    }

    private mutating func value(depth: Int, into text: inout String) {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
        case 0: text += ["true", "false", "null"].randomElement(using: &random) ?? "null"
        case 1, 2: text += number()
        case 3, 4: text += string()
        case 5, 6:
            text += "{" + space()
            for index in 0..<Int.random(in: 0..<5, using: &random) {
                text += (index > 0 ? "," : "") + space() + string() + space() + ":" + space()
                value(depth: depth - 1, into: &text)
                text += space()
            }
            text += "}"
        default:
            text += "[" + space()
            for index in 0..<Int.random(in: 0..<6, using: &random) {
                text += (index > 0 ? "," : "") + space()
                value(depth: depth - 1, into: &text)
                text += space()
            }
            text += "]"
        }
    }

    private mutating func space() -> String {
        guard Int.random(in: 0..<3, using: &random) == 0 else { return "" }
        return [" ", "\n", "\r\n\t", "          ", "\n                 "].randomElement(using: &random) ?? ""
    }
}
