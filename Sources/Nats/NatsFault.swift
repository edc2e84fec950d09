package import Feed
internal import Reactor

/// The reason why an operation with NATS servers failed.
package struct NatsFault: Error, Sendable, Equatable {
    package enum Kind: Sendable {
        /// No server can be reached.
        case unreachable
        /// TLS could not be established.
        case secure
        /// The credentials are wrong or have expired.
        case refused
        /// A permission is missing.
        case denied
        /// No answer came in time.
        case silent
        /// Nobody accepts the message: no stream takes its subject, or the stream has no leader.
        case nobody
        /// The stream does not exist, or JetStream is off.
        case absent
        /// The stream or its servers have no room.
        case full
        /// The message exceeds the limit of the server or the stream.
        case tooLarge
        /// The stream's last message is not the expected one.
        case sequenceConflict
        /// The connection is gone.
        case lost
        /// A setting or a file is invalid.
        case settings
        case other

        /// The failure's code in an `error` line.
        package var code: Failure.Code {
            switch self {
            case .unreachable: .connect
            case .secure: .tls
            case .silent, .nobody: .timeout
            case .lost: .closed
            case .tooLarge: .tooLarge
            case .sequenceConflict, .other: .protocol
            case .refused, .denied, .absent, .full, .settings: .config
            }
        }
    }

    package let kind: Kind
    /// The fault and a possible remedy, for people.
    package let reason: String

    /// - Parameter reason: may quote a server; is sanitised here.
    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = Sanitizer.visible(reason, limit: 1_000)
    }

    /// The fault for a JetStream error code, in the server's words.
    ///
    /// - Parameters:
    ///   - code: nats-server's `err_code`, from 1.
    ///   - description: the server's description; not trusted.
    package init(code: Int, description: String) {
        let said = Sanitizer.visible(description, limit: 200)
        let kind: Kind =
            switch code {
            case 10_002, 10_023, 10_026, 10_028, 10_047, 10_077: .full
            case 10_109: .absent
            default: .other
            }
        // The description says which limit of the stream it is.
        let remedy = code == 10_077 && said.holds("maximum") ? "; let discard be old, or raise the stream's limits" : ""
        self.init(kind, "\(said.isEmpty ? "JetStream refuses it" : said)\(remedy) (\(code))")
    }
}

/// The rule for retrying after each kind of fault, for publishing and reading alike.
package struct RetryRule: Sendable, Equatable {
    /// The longest pause before the next try.
    package let pause: Duration
    /// Whether to keep the connection. A new one reads the files of credentials again.
    package let keepsConnection: Bool
    /// Which failed try in a row is the first to be reported.
    package let telling: Int
    /// Whether the fault may pass by itself: then it is not reported after another one was.
    package let isBrief: Bool

    /// - Parameters:
    ///   - telling: the first failed try to report, for faults that may pass by themselves.
    ///   - pause: the longest pause for faults of the stream, and for unknown faults.
    package init(after kind: NatsFault.Kind, telling: Int, pause: Duration) {
        (self.pause, keepsConnection, self.telling, isBrief) =
            switch kind {
            case .nobody, .silent: (.seconds(1), true, telling, true)
            case .lost, .unreachable: (.seconds(5), false, telling, true)
            case .absent, .full, .tooLarge, .sequenceConflict, .other: (pause, true, telling - 1, false)
            case .secure, .refused, .settings, .denied: (.seconds(30), false, 1, false)
            }
    }
}
