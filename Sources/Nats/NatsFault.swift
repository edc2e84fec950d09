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

    /// The fault for a JetStream error code. Codes that an operator can do something about get our own words.
    ///
    /// - Parameters:
    ///   - code: nats-server's `err_code`, from 1.
    ///   - description: the server's description; not trusted.
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
            // The description says which limit it is.
            case 10_077 where said.holds("maximum"):
                (.full, "the stream is full and refuses what is new: \(said); let discard be old, or raise its limits")
            case 10_077: (.full, "the stream's server cannot store it: \(said)")
            case 10_109: (.absent, "the stream is sealed, and takes nothing any more")
            default: (.other, said.isEmpty ? "JetStream refuses it" : said)
            }
        self.init(kind, "\(words) (\(code))")
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
