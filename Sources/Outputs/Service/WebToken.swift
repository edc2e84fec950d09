/// The token that HTTP requests need. It is never printed.
package struct WebToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The allowed lengths, in bytes of visible ASCII.
    package static let lengths = 16...1_024
    private let bytes: [UInt8]

    /// - Returns: nil when it is too short, too long for a header field, or has blanks or control characters.
    package init?(_ text: String) {
        bytes = Array(text.utf8)
        guard Self.lengths ~= bytes.count, bytes.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
    }

    /// Whether the token was given, in a time that depends only on the length of the given text.
    package func matches(_ said: some Collection<UInt8>) -> Bool {
        var difference = said.count ^ bytes.count
        for (index, byte) in said.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    package var description: String { "a token" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
