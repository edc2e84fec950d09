internal import Nats

extension NatsSettings {
    /// The keys of the object that sets them.
    static let keys: [ObjectKey<NatsSettings>] = {
        let rows = SettingTable.rows
        func secret(
            _ row: SettingKey<String?>, _ credentials: @escaping @Sendable (String) -> NatsCredentials
        ) -> ObjectKey<NatsSettings> {
            ObjectKey(row.name, Types.path, row.source?.help ?? "") { settings in
                // The file of the credentials is the first one, if there are any.
                settings.servers.files.first.flatMap { credentials($0) == settings.servers.credentials ? $0 : nil }
            } set: {
                $0.servers.credentials = credentials($1)
            }
        }
        return [
            .init(
                urls, SettingType(.servers, tree: { .strings($0.map(\.description)) }, read: addresses),
                "The servers of one cluster, any of which will do: `nats://HOST:4222`, or `tls://HOST:4222` for all.",
                isNeeded: true, \.servers.addresses),
            .init(
                rows.stream.name, Types.stream, "The stream that has to take it; `CATWATCH` without it.", \.stream),
            secret(rows.credsFile, NatsCredentials.creds), secret(rows.nkeyFile, NatsCredentials.nkey),
            secret(rows.tokenFile, NatsCredentials.token),
            .init(
                rows.authorities.name, Types.path,
                "A PEM file of the authorities to trust besides the system's; TLS then, whatever the URLs say.",
                \.servers.authorities),
            .init(rows.certificate, \.servers.certificate), .init(rows.keyFile, \.servers.key),
            .init(
                rows.every.name, Types.duration(.milliseconds(10)...(.seconds(60))),
                "The least time between two messages while lines are few, 10ms to 1m; `200ms` without it.", \.every),
            .init(
                "lines",
                flag:
                    "Whether each line is a message, for consumers without batches; its last keys say where it comes from.",
                \.sendsLines),
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

    /// Reads servers, or an object.
    init(_ node: ConfigNode) throws(UsageError) {
        switch node.value {
        case .object: break
        case .string:
            self = try NatsSettings(urls: try node.string(limit: 8_192))
            return
        default: throw node.wrong("a string or an object")
        }
        let rows = SettingTable.rows
        self = try node.object(Self.keys, into: NatsSettings(to: NatsServers([]))) {
            settings, given throws(UsageError) in
            var issues = ConfigIssues()
            let (secrets, key) = ([rows.credsFile, rows.nkeyFile, rows.tokenFile].map(\.name), rows.keyFile.name)
            if given.intersection(secrets).count > 1 {
                issues.add(node.mark, "takes one of \(secrets[0]), \(secrets[1]) and \(secrets[2])")
            }
            if given.contains(key), !given.contains(rows.certificate.name) {
                issues.add(node.mark, "has a \(key) without the \(rows.certificate.name) that it belongs to")
            }
            if settings.servers.isTokenPlain {
                issues.add(node.mark, "\(rows.tokenFile.name) \(Self.plainToken)")
            }
            try issues.check()
            return settings
        }
    }

    private static func addresses(_ node: ConfigNode) throws(UsageError) -> [NatsAddress] {
        func address(_ node: ConfigNode) throws(UsageError) -> NatsAddress {
            try NatsAddress(url: try node.string(limit: 512))
        }
        if case .string = node.value { return [try address(node)] }
        let addresses = try node.elements(atMost: mostServers, address)
        guard !addresses.isEmpty else { throw UsageError("is empty") }
        guard Set(addresses.map(\.isSecure)).count < 2 else { throw UsageError(mixture) }
        return addresses
    }

    /// The settings as a configuration writes them; secrets appear only as the names of their files.
    var tree: JSONTree { ObjectKey.tree(of: self, Self.keys) }
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
        let (host, port) = try FeedURL.splitPort(rest, fault)
        self.init(host: host, port: port.map(UInt16.init) ?? Self.usualPort, isSecure: scheme == "tls://")
    }
}
