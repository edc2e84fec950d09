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
}
