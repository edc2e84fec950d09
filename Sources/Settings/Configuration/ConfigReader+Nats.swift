internal import Nats

/// Reads the settings for publishing to NATS.
extension ConfigReader {
    private enum Key {
        static let urls = "urls"
        static let lines = "lines"
        // The keys that sources have too.
        static var stream: String { SettingTable.rows.stream.name }
        static var creds: String { SettingTable.rows.credsFile.name }
        static var nkey: String { SettingTable.rows.nkeyFile.name }
        static var token: String { SettingTable.rows.tokenFile.name }
        static var authorities: String { SettingTable.rows.authorities.name }
        static var certificate: String { SettingTable.rows.certificate.name }
        static var key: String { SettingTable.rows.keyFile.name }
        static var every: String { SettingTable.rows.every.name }
    }

    /// The keys of the object, for the documentation.
    static let natsKeys: [(name: String, help: String)] = [
        (
            Key.urls,
            "The servers of one cluster, any of which will do: `nats://HOST:4222`, or `tls://HOST:4222` for all."
        ),
        (Key.stream, "The stream that has to take it; `CATWATCH` without it."),
        (Key.creds, "A file with a user's JWT and the seed of its key, read at every connect."),
        (Key.nkey, "A file with the seed of a user's nkey, read at every connect."),
        (Key.token, "A file with a token, which is sent as it is: only by TLS."),
        (
            Key.authorities,
            "A PEM file of the authorities to trust besides the system's; TLS then, whatever the URLs say."
        ),
        (Key.certificate, "A PEM file with the client's certificate."),
        (Key.key, "A PEM file with its private key, if that is not in `certificate`."),
        (Key.every, "The least time between two messages while lines are few, 10ms to 1m; `200ms` without it."),
        (
            Key.lines,
            "Whether each line is a message, with where it comes from as its last keys, for who takes no batches."
        ),
    ]

    /// The most servers that may be named.
    static let mostServers = 32

    mutating func nats(_ node: ConfigNode, _ path: String) -> NatsSettings? {
        guard case .object = node.value else {
            guard case .string = node.value else {
                wrong(node, path, "a string or an object")
                return nil
            }
            return string(node, path, limit: 8_192).flatMap { text in
                checked(node, path) { () throws(UsageError) in try NatsSettings(urls: text) }
            }
        }
        guard let members = members(node, path, known: Self.natsKeys.map(\.name)) else { return nil }
        let before = issues.count
        var settings = NatsSettings(to: NatsServers([]))
        var secrets = 0
        func prove(_ credentials: (String) -> NatsCredentials, _ member: ConfigNode, _ path: String) {
            secrets += 1
            if let file = string(member, path) { settings.servers.credentials = credentials(file) }
        }
        for (member, path) in members {
            let value = member.value
            switch member.name {
            case Key.urls: settings.servers.addresses = addresses(value, path)
            case Key.stream:
                settings.stream = Types.stream.value(of: value, path, &self) ?? settings.stream
            case Key.creds: prove(NatsCredentials.creds, value, path)
            case Key.nkey: prove(NatsCredentials.nkey, value, path)
            case Key.token: prove(NatsCredentials.token, value, path)
            case Key.authorities: settings.servers.authorities = string(value, path)
            case Key.certificate: settings.servers.certificate = string(value, path)
            case Key.key: settings.servers.key = string(value, path)
            case Key.every: settings.every = NatsSettings.pace.value(of: value, path, &self) ?? settings.every
            default: settings.sendsLines = boolean(value, path) ?? false
            }
        }
        let given = Set(members.map(\.member.name))
        if !given.contains(Key.urls) { issues.add(node.offset, path, "needs \(Key.urls)") }
        if secrets > 1 {
            issues.add(node.offset, path, "takes one of \(Key.creds), \(Key.nkey) and \(Key.token)")
        }
        if given.contains(Key.key), !given.contains(Key.certificate) {
            issues.add(node.offset, path, "has a \(Key.key) without the \(Key.certificate) that it belongs to")
        }
        if settings.servers.isTokenPlain { issues.add(node.offset, path, "\(Key.token) \(NatsSettings.plainToken)") }
        return issues.count == before ? settings : nil
    }

    private mutating func addresses(_ node: ConfigNode, _ path: String) -> [NatsAddress] {
        let nodes: [(node: ConfigNode, path: String)]
        if case .string = node.value {
            nodes = [(node, path)]
        } else {
            nodes = elements(node, path, atMost: Self.mostServers) ?? []
            if case .array(let all) = node.value, all.isEmpty { issues.add(node.offset, path, "is empty") }
        }
        let addresses = nodes.compactMap { node, path in
            string(node, path, limit: 512).flatMap { text in
                checked(node, path) { () throws(UsageError) in try NatsAddress(url: text) }
            }
        }
        if Set(addresses.map(\.isSecure)).count > 1 {
            issues.add(node.offset, path, NatsSettings.mixture)
        }
        return addresses
    }
}

extension NatsSettings {
    /// The error for servers with different schemes.
    static let mixture = "has nats:// beside tls://; write the same for all servers of a cluster"
    /// The error for a token without TLS.
    static let plainToken = "is sent as it is: needs tls://, ca_file or certificate"
    fileprivate static let pace = Types.duration(.milliseconds(10)...(.seconds(60)))

    /// Reads servers separated by commas.
    init(urls text: String) throws(UsageError) { self.init(to: NatsServers(try NatsAddress.list(text))) }

    /// The settings as a configuration writes them; secrets appear only as the names of their files.
    var tree: JSONTree {
        let keys = ConfigReader.natsKeys.map(\.name)
        func text(_ text: String?) -> JSONTree? { text.map(JSONTree.string) }
        var (creds, nkey, token): (String?, String?, String?)
        switch servers.credentials {
        case .none: break
        case .creds(let path): creds = path
        case .nkey(let path): nkey = path
        case .token(let path): token = path
        }
        // In the order of the keys.
        let values: [JSONTree?] = [
            .strings(servers.addresses.map(\.description)), .string(stream), text(creds), text(nkey), text(token),
            text(servers.authorities), text(servers.certificate), text(servers.key), Self.pace.tree(every),
            sendsLines ? .boolean(true) : nil,
        ]
        return .object(zip(keys, values).compactMap { key, value in value.map { .init(key, $0) } })
    }
}

extension NatsAddress {
    /// Reads servers separated by commas; all but the first may lack the scheme.
    static func list(_ text: String) throws(UsageError) -> [NatsAddress] {
        // Checked before splitting, because a password may hold a comma.
        try refusePassword(in: text)
        var addresses: [NatsAddress] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let scheme =
                String(part).utf8.containsScheme ? nil : addresses.first.map { $0.isSecure ? "tls://" : "nats://" }
            addresses.append(try NatsAddress(url: (scheme ?? "") + part))
        }
        guard addresses.count <= ConfigReader.mostServers else {
            throw UsageError("names more than \(ConfigReader.mostServers) servers")
        }
        guard Set(addresses.map(\.isSecure)).count < 2 else { throw UsageError(NatsSettings.mixture) }
        return addresses
    }

    private static func refusePassword(in text: String) throws(UsageError) {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return }
        throw UsageError(
            "\(FeedURL.redact(text)) holds a user name or password; write a configuration with a file that has it")
    }

    /// Reads `nats://HOST:PORT` or `tls://HOST:PORT`; the port is optional.
    ///
    /// - Throws: `UsageError`, which does not show what may be a password.
    init(url text: String) throws(UsageError) {
        func fault(_ what: String) -> UsageError { UsageError("\(FeedURL.redact(text)) \(what)") }
        let scheme = ["nats://", "tls://"].first { text.lowercased().hasPrefix($0) }
        guard let scheme else { throw fault("is no address of NATS; write nats://HOST or tls://HOST") }
        try Self.refusePassword(in: text)
        var rest = text.utf8.dropFirst(scheme.utf8.count)
        if rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
        guard !rest.contains(where: { "/?#".utf8.contains($0) }) else {
            throw fault("has more than a host and a port; leave the rest out")
        }
        let host: Substring.UTF8View
        if rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
            host = rest[...end]
            guard host.dropFirst().dropLast().allSatisfy({ $0.isAlphanumeric || $0 == 0x3A || $0 == 0x2E }) else {
                throw fault("has no IPv6 address between its brackets")
            }
        } else {
            host = rest.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty, host.count <= 253, host.allSatisfy({ $0.isAlphanumeric || "-._".utf8.contains($0) })
            else { throw fault("has a host that is no valid name") }
        }
        let tail = rest[host.endIndex...]
        var port = Self.usualPort
        if !tail.isEmpty {
            guard tail.first == UInt8(ascii: ":"), tail.dropFirst().allSatisfy(\.isDecimalDigit),
                let number = UInt16(String(Substring(tail.dropFirst()))), number > 0
            else { throw fault("has a port that is not a number from 1 to 65535") }
            port = number
        }
        self.init(host: Substring(host).lowercased(), port: port, isSecure: scheme == "tls://")
    }
}
