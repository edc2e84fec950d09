/// Where a NATS server is.
package struct NatsAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address; one of IPv6 has its brackets.
    package let host: String
    package let port: UInt16
    /// Whether it is spoken to by TLS.
    package let isSecure: Bool

    /// Where servers listen if nobody says anything.
    package static let usualPort: UInt16 = 4222

    package init(host: String, port: UInt16 = Self.usualPort, isSecure: Bool = false) {
        self.host = host
        self.port = port
        self.isSecure = isSecure
    }

    package var description: String { "\(isSecure ? "tls" : "nats")://\(host):\(port)" }
}

/// What a client proves with who it is. Secrets are in files, which are read at every connect, so that others can take their
/// place.
package enum NatsCredentials: Sendable, Equatable {
    case none
    /// A file with a user's JWT and the seed of its key.
    case creds(String)
    /// A file with the seed of an nkey.
    case nkey(String)
    /// A file with a token, which is sent as it is.
    case token(String)

    /// Whether what the server asks for is signed at each connect.
    var isSigning: Bool {
        switch self {
        case .creds, .nkey: true
        case .none, .token: false
        }
    }
}

/// The servers of a cluster, and what it takes to be let in.
package struct NatsServers: Sendable, Equatable {
    /// Not empty; any of them will do.
    package var addresses: [NatsAddress]
    package var credentials: NatsCredentials
    /// PEM files: of the authorities to trust besides the system's, which the library always does, of the client's certificate,
    /// and of its key, if that is not in the certificate's.
    package var authorities: String?
    package var certificate: String?
    package var key: String?

    package init(_ addresses: [NatsAddress], credentials: NatsCredentials = .none) {
        self.addresses = addresses
        self.credentials = credentials
    }

    /// A scheme in an address is nothing to the library: it is told.
    var isSecure: Bool {
        addresses.contains(where: \.isSecure) || authorities != nil || certificate != nil
    }

    /// Whether a token would be sent in plain text, on loopback as anywhere.
    package var isTokenPlain: Bool {
        guard case .token = credentials else { return false }
        return !isSecure
    }

    /// The files of secrets and certificates.
    package var files: [String] {
        let secret: String? =
            switch credentials {
            case .none: nil
            case .creds(let path), .nkey(let path), .token(let path): path
            }
        return [secret, authorities, certificate, key].compactMap(\.self)
    }
}
