/// The reason why a line of the feed cannot be read, and its position.
package struct LineFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// A byte offset in the line, from 0: the first byte that is not JSON, or the start of the faulty value.
    package let offset: Int
    package let reason: Reason

    package init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }

    init(_ fault: JSONFault) { self.init(offset: fault.offset, reason: .notJSON(fault.reason)) }

    /// One sentence: `not a line of the feed, at byte 7: "seq" is not a whole number from 1 on`.
    package var description: String {
        if case .notJSON(let reason) = reason { return JSONFault(offset: offset, reason: reason).description }
        return "not a line of the feed, at byte \(offset): \(reason)"
    }

    package enum Reason: Sendable, Hashable, CustomStringConvertible {
        case notJSON(JSONFault.Reason)
        /// JSON, but an array, a string, …
        case notAnObject
        /// A key that lines of this type always have.
        case missing(key: String)
        /// A value of the wrong kind or out of range; `expected` is a phrase with its article.
        case wrong(key: String, expected: String)
        case tooLong
        /// A `hello` of a format that this version cannot read.
        case format(Int)

        package var description: String {
            switch self {
            case .notJSON(let reason): "\(reason)"
            case .notAnObject: "it is not a JSON object"
            case .missing(let key): "\"\(key)\" is missing"
            case .wrong(let key, let expected): "\"\(key)\" is not \(expected)"
            case .tooLong: "it is longer than any line may be"
            case .format(let format): "format \(format) is newer than this program, which reads format 1"
            }
        }
    }
}
