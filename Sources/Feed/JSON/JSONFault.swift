/// The reason why some bytes are not JSON, and the first position that shows it.
package struct JSONFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The offset, from 0, of the first byte that no JSON text can have there; the length of an input that ends too
    /// early.
    package let offset: Int
    package let reason: Reason

    package init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }

    /// The failure for an `error` line.
    package var failure: Failure { Failure(.notJSON, description) }

    /// One sentence: `not JSON at byte 17: 'x' where ',' or '}' should be`.
    package var description: String { "not JSON at byte \(offset): \(reason)" }

    package enum Reason: Sendable, Hashable, CustomStringConvertible {
        /// No bytes, or nothing but white space.
        case empty
        /// A U+FEFF at the start, which RFC 8259 section 8.1 forbids to send.
        case byteOrderMark
        /// The input ends where more must follow.
        case cutOff(Expectation)
        /// A byte that is not allowed at its position.
        case unexpected(UInt8, Expectation)
        /// A control character, below U+0020, in a string without an escape (RFC 8259 section 7).
        case controlCharacter(UInt8)
        /// Not UTF-8: overlong, a surrogate, above U+10FFFF, or a stray byte (RFC 3629).
        case invalidUTF8
        /// A digit after a leading zero (RFC 8259 section 6).
        case leadingZero
        /// More levels of arrays and objects than `JSONMinifier.maximumDepth`.
        case tooDeep

        package var description: String {
            switch self {
            case .empty: "there is nothing there"
            case .byteOrderMark: "it starts with a byte order mark"
            case .cutOff(let expectation): "it ends where \(expectation) should be"
            case .unexpected(UInt8(ascii: "<"), .value): "'<' where a value should be, as in HTML"
            case .unexpected(let byte, .end): "\(Self.name(of: byte)) after the end of the value"
            case .unexpected(let byte, let expectation): "\(Self.name(of: byte)) where \(expectation) should be"
            case .controlCharacter(let byte): "\(Self.name(of: byte)) in a string must be escaped"
            case .invalidUTF8: "invalid UTF-8"
            case .leadingZero: "a number must not start with 0"
            case .tooDeep: "nested deeper than \(JSONMinifier.maximumDepth) levels"
            }
        }

        /// Names a byte; shows it only if it is printable ASCII, because upstream bytes may attack terminals.
        private static func name(of byte: UInt8) -> String {
            switch byte {
            case 0x21...0x7E: "'\(Unicode.Scalar(byte))'"
            case 0x20: "a space"
            case 0x0A: "a line break"
            default: "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
    }

    /// The tokens that a fault's position could have had.
    package enum Expectation: String, Sendable, Hashable, CustomStringConvertible {
        case value = "a value"
        case valueOrBracket = "a value or ']'"
        case key = "a key in quotes"
        case keyOrBrace = "a key in quotes or '}'"
        case colon = "':'"
        case commaOrBracket = "',' or ']'"
        case commaOrBrace = "',' or '}'"
        case closingQuote = "a closing quote"
        case escape = "one of \" \\ / b f n r t u after '\\'"
        case hexDigit = "a hexadecimal digit"
        case digit = "a digit"
        case `true` = "true"
        case `false` = "false"
        case null = "null"
        case continuation = "the rest of a UTF-8 character"
        case end = "the end"

        package var description: String { rawValue }
    }
}

/// Properties of valid JSON that some readers of lines do not accept (decision 0026); found by the pass that validates
/// it.
package struct JSONFlaws: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// More levels of arrays and objects than a line may have.
    package static let deep = JSONFlaws(rawValue: 1)
    /// A number beyond the range of a double.
    package static let overflow = JSONFlaws(rawValue: 2)
    /// Half of a surrogate pair, alone; it can be replaced.
    package static let surrogate = JSONFlaws(rawValue: 4)
    /// A repeated key in a line: readers differ in which one counts, and so could mistake the line for another.
    package static let doubled = JSONFlaws(rawValue: 8)

    /// No flaw in these bytes: someone upstream had already left out a part.
    package static let cut = JSONFlaws(rawValue: 16)

    /// Whether a line with these flaws must be marked as truncated.
    var areTruncating: Bool { contains(.deep) || contains(.overflow) || contains(.cut) }

    /// Whether a value with these flaws cannot be part of a line.
    package var areFatal: Bool { contains(.deep) || contains(.overflow) }
}
