/// The kind of a JSON value.
package enum JSONKind: String, Sendable, Hashable, CustomStringConvertible {
    case object = "an object"
    case array = "an array"
    case string = "a string"
    case number = "a number"
    case `true` = "true"
    case `false` = "false"
    case null = "null"

    /// The kind with its article, for messages.
    package var description: String { rawValue }

    /// The kind of a valid JSON value, by its first byte.
    package init(firstByte: UInt8?) {
        self =
            switch firstByte {
            case UInt8(ascii: "{"): .object
            case UInt8(ascii: "["): .array
            case UInt8(ascii: "\""): .string
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            case UInt8(ascii: "n"): .null
            default: .number
            }
    }
}
