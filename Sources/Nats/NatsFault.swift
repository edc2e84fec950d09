package import Feed
internal import Reactor

/// Why something could not be done with the servers.
package struct NatsFault: Error, Sendable, Equatable {
    package enum Kind: Sendable {
        /// No server is there.
        case unreachable
        /// TLS came to nothing.
        case secure
        /// The credentials are wrong, or not any more.
        case refused
        /// A permission is missing.
        case denied
        /// Nothing came in time.
        case silent
        /// Nobody takes what was sent: there is no stream for it, or none that has a leader.
        case nobody
        /// The stream is not there, or JetStream is not.
        case absent
        /// The stream or its servers have no room.
        case full
        /// The message is larger than the server or the stream takes.
        case tooLarge
        /// The subject's last message is another one than was expected.
        case outrun
        /// The connection is gone.
        case lost
        /// A setting or a file makes no sense.
        case settings
        case other

        /// What an `error` line calls it.
        package var code: Failure.Code {
            switch self {
            case .unreachable: .connect
            case .secure: .tls
            case .silent, .nobody: .timeout
            case .lost: .closed
            case .tooLarge: .tooLarge
            case .outrun, .other: .protocol
            case .refused, .denied, .absent, .full, .settings: .config
            }
        }
    }

    package let kind: Kind
    /// For a person: what it is, and what may help.
    package let reason: String

    /// - Parameter reason: of which servers may have said a part, whatever they are.
    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = Sanitizer.visible(reason, limit: 1_000)
    }

    /// Of a code that JetStream gives its answers: one that somebody can do something about has words of ours.
    ///
    /// - Parameters:
    ///   - code: nats-server's `err_code`, from 1.
    ///   - description: the server's own words, whatever they are.
    package init(code: Int, description: String) {
        let said = Sanitizer.visible(description, limit: 200)
        let (kind, words): (Kind, String) =
            switch code {
            case 10_002: (.full, "JetStream's limits for the account are reached; raise them, or let streams keep less")
            case 10_023:
                (.full, "the servers have not the resources for that; see what JetStream has of disk and memory")
            case 10_026: (.full, "no more consumers may be made; raise the account's or the stream's max_consumers")
            case 10_028: (.full, "JetStream's memory is used up; raise max_memory_store of the servers")
            case 10_047:
                (.full, "JetStream's disk is used up; raise max_file_store of the servers, or let streams keep less")
            // Its description tells which.
            case 10_077 where said.holds("maximum"):
                (.full, "the stream is full and refuses what is new: \(said); let discard be old, or raise its limits")
            case 10_077: (.full, "the stream's server cannot store it: \(said)")
            case 10_109: (.absent, "the stream is sealed, and takes nothing any more")
            default: (.other, said.isEmpty ? "JetStream refuses it" : said)
            }
        self.init(kind, "\(words) (\(code))")
    }
}
