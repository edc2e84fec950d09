/// Which subjects catwatch's messages have: the name of an agent is the last token.
package enum NatsSubject {
    /// Where an agent publishes.
    package static func of(_ agent: String) -> String { "catwatch.v1.\(agent)" }
    /// Where all of them do.
    package static let all = of("*")

    /// In front of the subjects that answers to an agent come to, and to no other.
    package static func inbox(of agent: String) -> String { "_INBOX.catwatch.\(agent)" }

    /// The same for who reads them all.
    package static let readersInbox = "_INBOX.catwatch-reader"

    /// The name at its end, whoever gave it: the last token.
    package static func agent(of subject: String) -> Substring {
        subject[(subject.lastIndex(of: ".").map { subject.index(after: $0) } ?? subject.startIndex)...]
    }

    /// Whether a server takes it as what to read: tokens with dots between, `*` for any one of them, `>` at the end for all that
    /// follow.
    package static func isPattern(_ text: String) -> Bool {
        let tokens = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= longest
            && tokens.enumerated().allSatisfy { index, token in
                if token.elementsEqual(">".utf8) { return index == tokens.count - 1 }
                return token.elementsEqual("*".utf8)
                    || !token.isEmpty && token.allSatisfy { 0x21...0x7E ~= $0 && !"*>".utf8.contains($0) }
            }
    }

    /// How long a pattern may be, in bytes.
    package static let longest = 256

    /// Whether there is a subject that both patterns stand for.
    static func overlap(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.split(separator: "."), right.split(separator: "."))
        for (one, other) in zip(left, right) {
            if one == ">" || other == ">" { return true }
            guard one == other || one == "*" || other == "*" else { return false }
        }
        return left.count == right.count
    }
}
