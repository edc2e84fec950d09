/// What an agent is called among others: ASCII letters, digits, `-` and `_`, so that a dot ends it.
package enum AgentName {
    /// In bytes.
    package static let most = 63

    package static func isName(_ text: some StringProtocol) -> Bool {
        1...most ~= text.utf8.count && text.utf8.allSatisfy(isLetter)
    }

    /// Of a machine by its own name: what has no place in a name becomes `-`.
    package static func of(host: String) -> String {
        let letters = host.utf8.prefix(most).map { isLetter($0) ? $0 : UInt8(ascii: "-") }
        return letters.isEmpty ? "catwatch" : String(decoding: letters, as: UTF8.self)
    }

    /// Where an agent publishes: its name is the last token.
    package static func subject(of name: String) -> String { "catwatch.v1.\(name)" }
    /// Where all of them do.
    package static let subjects = subject(of: "*")

    /// In front of the subjects that answers to an agent come to, and to no other.
    package static func inbox(of name: String) -> String { "_INBOX.catwatch.\(name)" }

    /// The same for who reads them all.
    package static let readersInbox = "_INBOX.catwatch-reader"

    private static func isLetter(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
