internal import Inputs
internal import Nats
internal import Reactor

/// A checked URL: http, https, ws or wss; `unix:PATH` for an agent's socket; or `nats://HOST,HOST` for the servers that
/// many agents publish to. It prints without its secrets.
///
/// The user name and password (RFC 3986, 3.2.1) are kept for the request and never printed; neither is the query,
/// because it may hold an API key.
package struct FeedURL: Sendable, Hashable {
    package enum Scheme: String, Sendable, CaseIterable {
        case http, https, ws, wss, unix, nats, tls

        /// Whether the scheme is one of NATS.
        package var isNats: Bool { self == .nats || self == .tls }

        /// Whether the scheme is one of WebSockets (RFC 6455, 3).
        package var isWebSocket: Bool { self == .ws || self == .wss }
    }

    package let scheme: Scheme
    /// `user:password`, percent-encoded as it was written. A secret.
    package private(set) var userInfo: String?
    /// In lower case; an IPv6 address has its brackets.
    package private(set) var host = ""
    /// 1 to 65535; nil for the scheme's default port.
    package private(set) var port: Int?
    /// Begins with a slash; non-ASCII is percent-encoded. A socket's path is kept as written, empty for the default.
    package private(set) var path = ""
    /// Without its question mark; non-ASCII bytes are percent-encoded. May hold a secret.
    package private(set) var query: String?
    /// The NATS servers; empty for every other scheme. With them, host, port and path are empty.
    private(set) var servers: [NatsAddress] = []

    /// The URL of an agent's socket.
    ///
    /// - Parameter path: empty for the default socket.
    package init(socket path: String) { (scheme, self.path) = (.unix, path) }

    /// The same URL; a socket's path is without its `.` and double slashes, so that equal ones are found.
    var standardized: FeedURL {
        let names = path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        guard scheme == .unix, !names.isEmpty else { return self }
        return FeedURL(socket: path.hasPrefix("/") ? "/\(names)" : names)
    }

    /// Checks a URL; a fragment is dropped, because it is never sent.
    ///
    /// - Throws: `UsageError` that says what is wrong, without the user name and password.
    package init(_ text: String) throws(UsageError) {
        func fault(_ what: String) -> UsageError { UsageError("\(Self.redact(text)) \(what)") }

        if text.hasPrefix("unix:") {
            let path = text.dropFirst("unix:".count)
            guard !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw fault("holds a control character")
            }
            self = FeedURL(socket: String(path.hasPrefix("///") ? path.dropFirst(2) : path))
            return
        }
        guard !text.isEmpty else { throw UsageError("the URL is empty; write http://HOST/PATH") }
        if ["nats://", "tls://"].contains(where: { text.lowercased().hasPrefix($0) }) {
            servers = try NatsAddress.list(text)
            scheme = servers.contains(where: \.isSecure) ? .tls : .nats
            return
        }
        for byte in text.utf8 where byte <= 0x20 || byte == 0x7F {
            throw fault("holds a space or a control character; write %20 for a space")
        }
        // Some parsers take a backslash for a slash, others for a part of the host: refuse it.
        guard !text.utf8.contains(UInt8(ascii: "\\")) else { throw fault("holds a backslash; write / or %5C") }

        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.startIndex
        let name = Substring(text.utf8[..<colon]).lowercased()
        let hasSlashes = text.utf8[colon...].starts(with: "://".utf8)
        guard hasSlashes || Scheme(rawValue: name) != nil else {
            throw fault("has no scheme; write http:// or https:// in front")
        }
        guard hasSlashes else { throw fault("needs two slashes after '\(name):'") }
        guard let scheme = Scheme(rawValue: name), scheme != .unix else {
            throw fault("is no http, https, ws or wss URL")
        }
        self.scheme = scheme
        let rest = text.utf8[colon...].dropFirst("://".utf8.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        var hostAndPort = authority
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            userInfo = Self.percentEncoded(authority[..<at])
            hostAndPort = authority[authority.index(after: at)...]
        }
        (host, port) = try Self.splitPort(hostAndPort, fault)

        let target = rest[authority.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        self.path = path.isEmpty ? "/" : Self.percentEncoded(path)
        if path.endIndex != target.endIndex { query = Self.percentEncoded(target[path.endIndex...].dropFirst()) }
    }

    /// `https://host:port`: the server, without any secret.
    package var origin: String {
        scheme.isNats
            ? servers.map(\.description).joined(separator: ",")
            : scheme == .unix ? "unix:" : "\(scheme.rawValue)://\(host)" + (port.map { ":\($0)" } ?? "")
    }

    /// User name and password, percent-decoded; nil when the URL has none. Never show them.
    package var credentials: (name: String, password: String)? {
        guard let userInfo else { return nil }
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (Self.percentDecoded(parts[0]), parts.count > 1 ? Self.percentDecoded(parts[1]) : "")
    }

    private static func percentDecoded(_ text: Substring) -> String {
        String(decoding: CurlURL.unescaped(Array(text.utf8)), as: UTF8.self)
    }

    /// The URL to request, without user name and password. Its query may still hold a secret.
    package var withoutUserInfo: String { origin + target }

    /// Path and query. The query may hold a secret.
    var target: String { path + (query.map { "?\($0)" } ?? "") }

    /// Reads `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.
    static func splitPort(
        _ text: Substring.UTF8View, _ fault: (String) -> UsageError
    ) throws(UsageError) -> (host: String, port: Int?) {
        let host: Substring.UTF8View
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { throw fault("has no ] after its address") }
            host = text[...end]
            let address = host.dropFirst().dropLast()
            guard address.contains(UInt8(ascii: ":")), address.allSatisfy(isAddressByte) else {
                throw fault("has no IPv6 address between its brackets")
            }
        } else {
            host = text.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty else { throw fault("has no host") }
            guard host.allSatisfy({ $0 < 0x80 }) else {
                throw fault("has a host outside ASCII; write its xn-- form")
            }
            guard host.count <= 253, host.allSatisfy(isHostByte) else {
                throw fault("has a host that is no valid name")
            }
        }
        let name = Substring(host).lowercased()
        let tail = text[host.endIndex...]
        guard let colon = tail.first else { return (name, nil) }
        let digits = tail.dropFirst()
        // The port itself is not printed: it may be half a password before a slash that should have been %2F.
        guard colon == UInt8(ascii: ":"), digits.allSatisfy(\.isDecimalDigit),
            let port = Int(String(Substring(digits))), (1...65_535).contains(port)
        else { throw fault("has a port that is not a number from 1 to 65535") }
        return (name, port)
    }

    static func isHostByte(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "-._".utf8.contains(byte) }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        byte.isDecimalDigit || (0x61...0x66).contains(byte | 0x20) || ":.".utf8.contains(byte)
    }

    private static func percentEncoded(_ bytes: Substring.UTF8View) -> String {
        bytes.map { byte in
            byte < 0x80 ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// The text, which need not be a valid URL, in quotes for a message; user name, password and query are left out.
    package static func redact(_ text: String) -> String {
        var shown = text[...]
        // Everything before the last @ may belong to the password, so only a well-formed scheme is kept.
        if let at = shown.indices.last(where: { shown[$0] == "@" || shown[$0...].hasPrefix("%40") }) {
            let scheme = Scheme.allCases.map { "\($0)://" }.first { text.lowercased().hasPrefix($0) } ?? ""
            shown = "\(scheme)…\(shown[at...])"
        }
        if let query = shown.firstIndex(of: "?") { shown = shown[..<query] + "?…" }
        return UsageError.quoted(shown)
    }
}

extension FeedURL: CustomStringConvertible, CustomReflectable {
    /// The URL without user name, password and query.
    package var description: String { origin + path + (query == nil ? "" : "?…") }

    /// Holds only the description, so that `dump` and a failed `#expect` show no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["location": description]) }
}
