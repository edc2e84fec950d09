package import Feed

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
            case .refused, .denied, .absent, .settings: .config
            }
        }
    }

    package let kind: Kind
    /// For a person: what it is, and what may help.
    package let reason: String

    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
