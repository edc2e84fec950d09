/// The reason for closing a WebSocket, in a close frame (RFC 6455, section 7.4).
package struct CloseCode: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(rawValue: 1000)
    /// A server that is shut down, or a client that ends.
    package static let goingAway = CloseCode(rawValue: 1001)
    package static let protocolError = CloseCode(rawValue: 1002)
    /// Text that is not UTF-8.
    package static let invalidData = CloseCode(rawValue: 1007)
    package static let tooBig = CloseCode(rawValue: 1009)

    /// Whether a close frame may carry it: 1004 to 1006 and 1015 are reserved for endings without one, and unregistered
    /// codes below 3000 have no meaning.
    package var isValid: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The code's name, for a person; nil for an application's own codes.
    package var name: String? {
        switch rawValue {
        case 1000: "normal closure"
        case 1001: "going away"
        case 1002: "protocol error"
        case 1003: "unsupported data"
        case 1007: "invalid data"
        case 1008: "policy violation"
        case 1009: "message too big"
        case 1010: "extension wanted"
        case 1011: "internal error"
        case 1012: "service restart"
        case 1013: "try again later"
        case 1014: "bad gateway"
        default: nil
        }
    }
}
