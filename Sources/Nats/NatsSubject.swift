/// The subjects of catwatch's messages; the last token is the agent's name.
package enum NatsSubject {
    /// The subject that an agent publishes to.
    package static func of(_ agent: String) -> String { "catwatch.v1.\(agent)" }
    /// The pattern for all agents' subjects.
    package static let all = of("*")

    /// The prefix of the subjects for answers to one agent only.
    package static func inbox(of agent: String) -> String { "_INBOX.catwatch.\(agent)" }

    /// The prefix of the subjects for answers to readers of all agents.
    package static let readersInbox = "_INBOX.catwatch-reader"

    /// The agent's name, not validated: the subject's last token.
    package static func agent(of subject: String) -> Substring {
        subject[(subject.lastIndex(of: ".").map { subject.index(after: $0) } ?? subject.startIndex)...]
    }

    /// Whether a server accepts the text as a subject to read: tokens separated by dots, with `*` for any one token,
    /// and `>` at the end for all that follow.
    package static func isPattern(_ text: String) -> Bool {
        let tokens = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= longest
            && tokens.enumerated().allSatisfy { index, token in
                if token.elementsEqual(">".utf8) { return index == tokens.count - 1 }
                return token.elementsEqual("*".utf8)
                    || !token.isEmpty && token.allSatisfy { 0x21...0x7E ~= $0 && !"*>".utf8.contains($0) }
            }
    }

    /// The longest pattern, in bytes.
    package static let longest = 256

    /// Whether some subject matches both patterns; `*` stands for one token, `>` for all that follow.
    package static func overlap(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.split(separator: "."), right.split(separator: "."))
        for (one, other) in zip(left, right) {
            if one == ">" || other == ">" { return true }
            guard one == other || one == "*" || other == "*" else { return false }
        }
        return left.count == right.count
    }
}
