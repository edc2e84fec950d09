/// What whoever asks by HTTP has to know. It is not printed by anything.
package struct WebToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// How long one is, in bytes of visible ASCII.
    package static let lengths = 16...1_024
    private let bytes: [UInt8]

    /// - Returns: nil when it is too short to be one, too long for a header field, or has blanks or control characters.
    package init?(_ text: String) {
        bytes = Array(text.utf8)
        guard Self.lengths ~= bytes.count, bytes.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
    }

    /// Whether somebody said it, in a time that only depends on how long what was said is.
    package func matches(_ said: some Collection<UInt8>) -> Bool {
        var difference = said.count ^ bytes.count
        for (index, byte) in said.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    package var description: String { "a token" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
