import Feed
import Testing

/// Documents that a JSON reader must take, and ones that it must not, by the rules of RFC 8259.
enum JSONCases {
    struct Valid: Sendable, CustomTestStringConvertible {
        var input: [UInt8]
        var minified: [UInt8]

        init(_ input: String, _ minified: String? = nil) {
            self.input = Array(input.utf8)
            self.minified = Array((minified ?? input).utf8)
        }

        var testDescription: String { String(decoding: input.prefix(60), as: UTF8.self).debugDescription }
    }

    struct Invalid: Sendable, CustomTestStringConvertible {
        var input: [UInt8]
        var offset: Int
        var reason: JSONFault.Reason

        init(_ input: String, _ offset: Int, _ reason: JSONFault.Reason) {
            self.init(Array(input.utf8), offset, reason)
        }

        init(_ input: [UInt8], _ offset: Int, _ reason: JSONFault.Reason) {
            self.input = input
            self.offset = offset
            self.reason = reason
        }

        var testDescription: String { String(decoding: input.prefix(60), as: UTF8.self).debugDescription }
    }

    static let valid: [Valid] = [
        // Structure and white space.
        .init("[]"), .init("{}"), .init("[[]]"), .init(#"{"a":{}}"#), .init("[ ]", "[]"), .init("{\n}", "{}"),
        .init(" \t\r\n[ 1 ,\n2 ] \n", "[1,2]"), .init(#" { "a" : [ true , null ] } "#, #"{"a":[true,null]}"#),
        .init("[[],[{}],{\"b\":[[]]}]"), .init("                          7                         ", "7"),
        .init("{\n        \"deep\"        :\n                \"x\"\n}", #"{"deep":"x"}"#),
        // Scalars may be documents.
        .init("true"), .init("false"), .init("null"), .init("0"), .init(#""""#), .init("\n\"a b\"\n", "\"a b\""),
        // Numbers.
        .init("-0"), .init("-1"), .init("0.0"), .init("1e5"), .init("1E+05"), .init("1e-0"), .init("0e1"),
        .init("-0.5e-7"),
        .init("123456789012345678901234567890"), .init("1e999"), .init("-1e999"), .init("1e-999"),
        .init("[1.7976931348623159e308]"),
        .init("0.00000000000000000000000000000000000000000000001"),
        // Strings.
        .init(#""\"\\\/\b\f\n\r\t\u0041\uABCD\uabcd""#), .init(#""\ud83d\ude3a""#), .init(#""\u0000""#),
        .init(#"["\ud800"]"#), .init(#"["\udc00\ud800x"]"#), .init(#""\\u12""#), .init("\"\u{7F}\""),
        .init("\"\u{2028}\u{2029}\""),
        .init("\"\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}\""), .init("\"\u{FEFF}\u{FFFE}\""),
        .init("\"spaces   stay, \\\" even   here: [ 1 , 2 ]  \""), .init("\"猫は眠る é 😺\""),
        // Keys.
        .init(#"{"a":1,"a":2}"#), .init(#"{"":0}"#), .init(#"{"\u0061":1,"a/b~":2}"#),
        .init("{\"é\" : \"e\"}", "{\"é\":\"e\"}"),
    ]

    static let invalid: [Invalid] = [
        .init("", 0, .empty), .init("  \n", 3, .empty),
        .init([0xEF, 0xBB, 0xBF, 0x31], 0, .byteOrderMark), .init([0xFF, 0xFE, 0x31, 0], 0, .unexpected(0xFF, .value)),
        // Literals.
        .init("nul", 3, .cutOff(.null)), .init("NaN", 0, .unexpected(0x4E, .value)),
        .init("[Infinity]", 1, .unexpected(0x49, .valueOrBracket)),
        .init("-Infinity", 1, .unexpected(0x49, .digit)), .init("True", 0, .unexpected(0x54, .value)),
        .init("falsy", 4, .unexpected(0x79, .false)),
        .init("[tru]", 4, .unexpected(0x5D, .true)), .init("nulll", 4, .unexpected(0x6C, .end)),
        .init("undefined", 0, .unexpected(0x75, .value)),
        // Numbers.
        .init("01", 1, .leadingZero), .init("-01", 2, .leadingZero), .init("1.", 2, .cutOff(.digit)),
        .init("[1.]", 3, .unexpected(0x5D, .digit)),
        .init("+1", 0, .unexpected(0x2B, .value)), .init(".5", 0, .unexpected(0x2E, .value)),
        .init("-", 1, .cutOff(.digit)),
        .init("1e", 2, .cutOff(.digit)), .init("1e+", 3, .cutOff(.digit)), .init("1.e3", 2, .unexpected(0x65, .digit)),
        .init("1.5.6", 3, .unexpected(0x2E, .end)), .init("0x1F", 1, .unexpected(0x78, .end)),
        .init("1_000", 1, .unexpected(0x5F, .end)),
        .init("--1", 1, .unexpected(0x2D, .digit)), .init("[1 000]", 3, .unexpected(0x30, .commaOrBracket)),
        .init("1e1.5", 3, .unexpected(0x2E, .end)),
        .init("１", 0, .unexpected(0xEF, .value)),
        // Arrays.
        .init("[", 1, .cutOff(.valueOrBracket)), .init("[1", 2, .cutOff(.commaOrBracket)),
        .init("[1,", 3, .cutOff(.value)),
        .init("[1,]", 3, .unexpected(0x5D, .value)), .init("[,1]", 1, .unexpected(0x2C, .valueOrBracket)),
        .init("[1,,2]", 3, .unexpected(0x2C, .value)),
        .init("[1}", 2, .unexpected(0x7D, .commaOrBracket)), .init("[1:2]", 2, .unexpected(0x3A, .commaOrBracket)),
        .init("]", 0, .unexpected(0x5D, .value)),
        .init("[1]]", 3, .unexpected(0x5D, .end)), .init("[1][2]", 3, .unexpected(0x5B, .end)),
        .init("[1]x", 3, .unexpected(0x78, .end)),
        // Objects.
        .init("{", 1, .cutOff(.keyOrBrace)), .init(#"{"a""#, 4, .cutOff(.colon)), .init(#"{"a":"#, 5, .cutOff(.value)),
        .init(#"{"a":1"#, 6, .cutOff(.commaOrBrace)),
        .init(#"{"a":1,"#, 7, .cutOff(.key)), .init(#"{"a":1,}"#, 7, .unexpected(0x7D, .key)),
        .init(#"{"a" 1}"#, 5, .unexpected(0x31, .colon)),
        .init(#"{"a"}"#, 4, .unexpected(0x7D, .colon)), .init("{a:1}", 1, .unexpected(0x61, .keyOrBrace)),
        .init("{'a':1}", 1, .unexpected(0x27, .keyOrBrace)),
        .init("{1:1}", 1, .unexpected(0x31, .keyOrBrace)), .init(#"{"a":}"#, 5, .unexpected(0x7D, .value)),
        .init(#"{"a":1 "b":2}"#, 7, .unexpected(0x22, .commaOrBrace)),
        .init(#"{"a":1]"#, 6, .unexpected(0x5D, .commaOrBrace)), .init(#"{"a"::1}"#, 5, .unexpected(0x3A, .value)),
        .init("{,}", 1, .unexpected(0x2C, .keyOrBrace)),
        // Strings.
        .init("\"", 1, .cutOff(.closingQuote)), .init("\"abc", 4, .cutOff(.closingQuote)),
        .init("\"abc\\\"", 6, .cutOff(.closingQuote)),
        .init(#""\q""#, 2, .unexpected(0x71, .escape)), .init(#""\"#, 2, .cutOff(.escape)),
        .init(#""\u12"#, 5, .cutOff(.hexDigit)),
        .init(#""\u12g4""#, 5, .unexpected(0x67, .hexDigit)), .init(#""\U0041""#, 2, .unexpected(0x55, .escape)),
        .init(#""\x41""#, 2, .unexpected(0x78, .escape)),
        .init(#""\ud83d\uZ""#, 9, .unexpected(0x5A, .hexDigit)), .init("\"a\nb\"", 2, .controlCharacter(0x0A)),
        .init("\"a\tb\"", 2, .controlCharacter(0x09)),
        .init("\"a\0b\"", 2, .controlCharacter(0)), .init("'a'", 0, .unexpected(0x27, .value)),
        .init("\"a\"b", 3, .unexpected(0x62, .end)),
        .init("\"\\\u{1F}\"", 2, .unexpected(0x1F, .escape)),
        // UTF-8: overlong, surrogate, too large, stray and missing bytes.
        .init([0x22, 0xC0, 0xAF, 0x22], 1, .invalidUTF8), .init([0x22, 0xE0, 0x80, 0xAF, 0x22], 2, .invalidUTF8),
        .init([0x22, 0xF0, 0x80, 0x80, 0xAF, 0x22], 2, .invalidUTF8),
        .init([0x22, 0xED, 0xA0, 0x80, 0x22], 2, .invalidUTF8),
        .init([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 2, .invalidUTF8),
        .init([0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], 1, .invalidUTF8),
        .init([0x22, 0x80, 0x22], 1, .invalidUTF8), .init([0x22, 0xC3, 0x22], 2, .invalidUTF8),
        .init([0x22, 0xC3], 2, .cutOff(.continuation)),
        .init([0x22, 0xE7, 0x8C, 0x22], 3, .invalidUTF8), .init([0x22, 0xFF, 0x22], 1, .invalidUTF8),
        .init([0x22, 0x61, 0xF0, 0x9F, 0x98], 5, .cutOff(.continuation)), .init("é", 0, .unexpected(0xC3, .value)),
        // White space and comments of other languages.
        .init("[1\u{C}]", 2, .unexpected(0x0C, .commaOrBracket)), .init("\u{A0}1", 0, .unexpected(0xC2, .value)),
        .init("1\u{B}", 1, .unexpected(0x0B, .end)),
        .init("[1] // x", 4, .unexpected(0x2F, .end)), .init("/*x*/1", 0, .unexpected(0x2F, .value)),
        .init("1\0", 1, .unexpected(0, .end)),
        .init("<html>", 0, .unexpected(0x3C, .value)),
    ]
}
