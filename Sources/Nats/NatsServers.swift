/// The address of a NATS server.
package struct NatsAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an address; an IPv6 address has its brackets.
    package let host: String
    package let port: UInt16
    /// Whether it is reached over TLS.
    package let isSecure: Bool

    /// The servers' default port.
    package static let usualPort: UInt16 = 4222

    package init(host: String, port: UInt16 = Self.usualPort, isSecure: Bool = false) {
        (self.host, self.port, self.isSecure) = (host, port, isSecure)
    }

    package var description: String { "\(isSecure ? "tls" : "nats")://\(host):\(port)" }
}

/// How a client authenticates. Secrets are in files, which are read at every connect, so that they can be replaced.
package enum NatsCredentials: Sendable, Equatable {
    case none
    /// A file with a user's JWT and the seed of its key.
    case creds(String)
    /// A file with the seed of an nkey.
    case nkey(String)
    /// A file with a token, which is sent as it is.
    case token(String)

    /// Whether the client signs a challenge of the server at each connect.
    var isSigning: Bool {
        switch self {
        case .creds, .nkey: true
        case .none, .token: false
        }
    }
}

/// The servers of a cluster, and how to authenticate to them.
package struct NatsServers: Sendable, Equatable {
    /// Not empty; any of them will do.
    package var addresses: [NatsAddress]
    package var credentials: NatsCredentials
    /// PEM files: the authorities to trust besides the system's, which the library always trusts; the client's
    /// certificate; and its key, unless that is in the certificate's file.
    package var authorities: String?
    package var certificate: String?
    package var key: String?

    package init(_ addresses: [NatsAddress], credentials: NatsCredentials = .none) {
        (self.addresses, self.credentials) = (addresses, credentials)
    }

    /// Whether to use TLS; the library ignores an address's scheme and has to be told.
    var isSecure: Bool {
        addresses.contains(where: \.isSecure) || authorities != nil || certificate != nil
    }

    /// Whether a token would be sent without TLS, even on loopback.
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
