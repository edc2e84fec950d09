internal import Nats

extension NatsSettings {
    /// The keys of the object that sets them.
    static let keys: [ObjectKey<NatsSettings>] = {
        let rows = SettingTable.rows
        func secret(
            _ row: SettingKey<String?>, _ help: String, _ credentials: @escaping @Sendable (String) -> NatsCredentials
        ) -> ObjectKey<NatsSettings> {
            ObjectKey(row.name, Types.path, help) { settings in
                // The file of the credentials is the first one, if there are any.
                settings.servers.files.first.flatMap { credentials($0) == settings.servers.credentials ? $0 : nil }
            } set: {
                $0.servers.credentials = credentials($1)
            }
        }
        return [
            .init(
                urls, SettingType(.nats, tree: { .strings($0.map(\.description)) }, read: { $2.addresses($0, $1) }),
                "The servers of one cluster, any of which will do: `nats://HOST:4222`, or `tls://HOST:4222` for all.",
                isNeeded: true, \.servers.addresses),
            .init(
                rows.stream.name, Types.stream, "The stream that has to take it; `CATWATCH` without it.", \.stream),
            secret(
                rows.credsFile, "A file with a user's JWT and the seed of its key, read at every connect.",
                NatsCredentials.creds),
            secret(
                rows.nkeyFile, "A file with the seed of a user's nkey, read at every connect.", NatsCredentials.nkey),
            secret(
                rows.tokenFile, "A file with a token, which is sent as it is: only by TLS.", NatsCredentials.token),
            .init(
                rows.authorities.name, Types.path,
                "A PEM file of the authorities to trust besides the system's; TLS then, whatever the URLs say.",
                \.servers.authorities),
            .init(
                rows.certificate.name, Types.path, "A PEM file with the client's certificate.",
                \.servers.certificate),
            .init(
                rows.keyFile.name, Types.path, "A PEM file with its private key, if that is not in `certificate`.",
                \.servers.key),
            .init(
                rows.every.name, Types.duration(.milliseconds(10)...(.seconds(60))),
                "The least time between two messages while lines are few, 10ms to 1m; `200ms` without it.", \.every),
            .init(
                "lines", Types.flag,
                "Whether each line is a message, with where it comes from as its last keys, for who takes no batches."
            ) {
                $0.sendsLines ? true : nil
            } set: {
                $0.sendsLines = $1
            },
        ]
    }()

    private static let urls = "urls"
    /// The most servers that may be named.
    static let mostServers = 32
    /// The error for servers with different schemes.
    fileprivate static let mixture = "has nats:// beside tls://; write the same for all servers of a cluster"
    /// The error for a token without TLS.
    static let plainToken = "is sent as it is: needs tls://, ca_file or certificate"

    /// Reads servers separated by commas.
    init(urls text: String) throws(UsageError) { self.init(to: NatsServers(try NatsAddress.list(text))) }

    /// The settings as a configuration writes them; secrets appear only as the names of their files.
    var tree: JSONTree { ObjectKey.tree(of: self, Self.keys) }
}

/// Reads the settings for publishing to NATS.
extension ConfigReader {
    mutating func nats(_ node: JSONTree, _ path: String) -> NatsSettings? {
        switch node.value {
        case .object: break
        case .string:
            return string(node, path, limit: 8_192).flatMap { text in
                checked(node, path) { () throws(UsageError) in try NatsSettings(urls: text) }
            }
        default: return wrong(node, path, "a string or an object")
        }
        var settings = NatsSettings(to: NatsServers([]))
        let before = issues.count
        guard let given = object(node, path, NatsSettings.keys, into: &settings)?.given else { return nil }
        let rows = SettingTable.rows
        let (secrets, key) = ([rows.credsFile, rows.nkeyFile, rows.tokenFile].map(\.name), rows.keyFile.name)
        if given.intersection(secrets).count > 1 {
            issues.add(node.position, path, "takes one of \(secrets[0]), \(secrets[1]) and \(secrets[2])")
        }
        if given.contains(key), !given.contains(rows.certificate.name) {
            issues.add(node.position, path, "has a \(key) without the \(rows.certificate.name) that it belongs to")
        }
        if settings.servers.isTokenPlain {
            issues.add(node.position, path, "\(rows.tokenFile.name) \(NatsSettings.plainToken)")
        }
        return issues.count == before ? settings : nil
    }

    fileprivate mutating func addresses(_ node: JSONTree, _ path: String) -> [NatsAddress]? {
        let nodes: [(node: JSONTree, path: String)]
        if case .string = node.value {
            nodes = [(node, path)]
        } else {
            nodes = elements(node, path, atMost: NatsSettings.mostServers) ?? []
            if case .array([]) = node.value { issues.add(node.position, path, "is empty") }
        }
        let addresses = nodes.compactMap { node, path in
            string(node, path, limit: 512).flatMap { text in
                checked(node, path) { () throws(UsageError) in try NatsAddress(url: text) }
            }
        }
        if Set(addresses.map(\.isSecure)).count > 1 { issues.add(node.position, path, NatsSettings.mixture) }
        return addresses
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
        guard addresses.count <= NatsSettings.mostServers else {
            throw UsageError("names more than \(NatsSettings.mostServers) servers")
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
