/// The origins that the policy of the page names.
enum PolicyOrigin {
    /// What those of one kind may take together, in bytes: they stand in one header field of every answer, which has a bound
    /// here and in proxies.
    static let most = 2_048

    /// What they take there, in bytes, each with a blank.
    static func size(of origins: some Sequence<String>) -> Int { origins.reduce(0) { $0 + $1.utf8.count + 1 } }

    /// An origin as browsers write it: in small letters, without the usual port.
    ///
    /// - Throws: `UsageError` when it is none, or one that no policy can name.
    static func parse(_ text: String, _ schemes: [FeedURL.Scheme]) throws(UsageError) -> String {
        func fault(_ what: String) -> UsageError { UsageError("\(FeedURL.redact(text)) \(what)") }
        guard !text.contains("*") else { throw fault("has a wildcard; write each origin out") }
        let url = try FeedURL(text)
        guard schemes.contains(url.scheme) else {
            throw fault("is not \(UsageError.list(schemes.map(\.rawValue)))")
        }
        guard url.userInfo == nil else { throw fault("holds a user name or password; an origin has none") }
        guard url.path == "/", url.query == nil, !text.contains("#") else {
            throw fault("is more than an origin; write \(url.origin)")
        }
        // What a policy has no words for (CSP 3, host-source) would be left out of it without a sound.
        let labels = url.host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") } })
        else { throw fault("has a host that no policy can name; it is letters, digits, hyphens and dots") }
        let usual = url.scheme == .https ? 443 : 80
        return url.port == usual ? "\(url.scheme.rawValue)://\(url.host)" : url.origin
    }
}
