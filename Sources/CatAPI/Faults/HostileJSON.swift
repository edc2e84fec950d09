/// Documents that a reader of JSON has to cope with: some invalid, some valid but unusual, some only unexpected.
///
/// | kind | document | valid by RFC 8259 |
/// | --- | --- | --- |
/// | `nan`, `infinity` | `NaN`, `-Infinity` as the length | no |
/// | `overflow` | `1e999` as the length | yes, but no double |
/// | `big-integer` | thirty digits as the length | yes |
/// | `leading-zero` | `012` as the length | no |
/// | `deep` | `levels` arrays in each other after the fact | yes |
/// | `duplicate` | `fact` and `length` twice | yes |
/// | `surrogate` | a `\ud800` alone | yes |
/// | `utf8` | bytes that are not UTF-8 in the text | no |
/// | `nul` | a NUL byte in the text | no |
/// | `nul-escape` | `\u0000` in the text | yes |
/// | `control` | ESC sequences, escaped, that would clear a terminal, and a bidi override | yes |
/// | `quoted` | the length as a string | yes |
/// | `comma` | an empty place in an array | no |
/// | `cut` | the first half | no |
/// | `trailing` | a second document after the first | no |
/// | `bom` | a byte order mark before it | readers may pass over it |
/// | `scalar`, `array`, `null` | not an object | yes |
/// | `missing` | neither `fact` nor `length` | yes |
/// | `blank` | blanks and nothing else | no |
enum HostileJSON {
    private static let documents: [(kind: String, json: [UInt8])] = [
        ("nan", bytes(#"{"fact":"Not a number.","length":NaN}"#)),
        ("infinity", bytes(#"{"fact":"Less than any number.","length":-Infinity}"#)),
        ("overflow", bytes(#"{"fact":"More than a double holds.","length":1e999}"#)),
        ("big-integer", bytes(#"{"fact":"Thirty digits.","length":123456789012345678901234567890}"#)),
        ("leading-zero", bytes(#"{"fact":"Octal?","length":012}"#)),
        ("duplicate", bytes(#"{"fact":"The first.","length":10,"fact":"The second.","length":11}"#)),
        ("surrogate", bytes(#"{"fact":"Half a \ud800 pair.","length":14}"#)),
        ("utf8", bytes(#"{"fact":""#) + [0xC3, 0x28, 0xFF, 0xED, 0xA0, 0x80] + bytes(#"","length":6}"#)),
        ("nul", bytes(#"{"fact":"nothing"#) + [0x00] + bytes(#"follows","length":15}"#)),
        ("nul-escape", bytes(#"{"fact":"nothing\u0000follows","length":15}"#)),
        ("control", bytes(#"{"fact":"\u001b[2J\u001b]0;cat\u0007\u202egnp.tac\u009b1m\r\n","length":27}"#)),
        ("quoted", bytes(#"{"fact":"A number in quotes.","length":"19"}"#)),
        ("comma", bytes(#"{"fact":"A hole.","length":7,"list":[1,,2]}"#)),
        ("cut", bytes(#"{"fact":"Cut off in the mid"#)),
        ("trailing", bytes(#"{"fact":"One.","length":4}{"fact":"Two.","length":4}"#)),
        ("bom", [0xEF, 0xBB, 0xBF] + bytes(#"{"fact":"Marked.","length":7}"#)),
        ("scalar", bytes("42")),
        ("array", bytes(#"["fact",42]"#)),
        ("null", bytes("null")),
        ("missing", bytes(#"{"message":"no such field"}"#)),
        ("blank", bytes(" \r\n\t ")),
    ]

    /// The names of all documents, for a message.
    static var kinds: String { (documents.map(\.kind) + ["deep"]).joined(separator: ", ") }

    /// The document of this kind; nil when there is none.
    static func document(_ kind: String, levels: Int) -> [UInt8]? {
        if kind == "deep" { return deep(levels) }
        return documents.first { $0.kind == kind }?.json
    }

    /// A valid document of exactly `size` bytes, at least 32, with a correct length field.
    static func large(_ size: Int) -> [UInt8] {
        let head = bytes(#"{"fact":""#)
        var length = size - head.count
        // The digits of the length take room from the text, so the length is found by counting down.
        while head.count + length + tail(length).count > size { length -= 1 }
        let padding = size - head.count - length - tail(length).count
        let text = [UInt8](repeating: UInt8(ascii: "m"), count: length)
        return head + text + tail(length) + [UInt8](repeating: UInt8(ascii: " "), count: padding)
    }

    /// The numbers from 0 up to, but not including, `count` in one array.
    static func items(_ count: Int) -> [UInt8] { bytes("[\((0..<count).map(String.init).joined(separator: ","))]") }

    /// Bytes that no decoder of gzip, deflate, brotli or zstd accepts.
    static let noise: [UInt8] = (0..<512).map { UInt8(truncatingIfNeeded: 0xF7 &+ $0 &* 73) }

    private static func tail(_ length: Int) -> [UInt8] { bytes(#"","length":\#(length)}"#) }

    private static func deep(_ levels: Int) -> [UInt8] {
        bytes(#"{"fact":"It goes deep.","length":13,"nest":"#)
            + [UInt8](repeating: UInt8(ascii: "["), count: levels)
            + [UInt8](repeating: UInt8(ascii: "]"), count: levels) + bytes("}")
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
