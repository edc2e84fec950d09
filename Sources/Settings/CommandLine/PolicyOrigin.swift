internal import Reactor

/// The origins that the page's content security policy names.
enum PolicyOrigin {
    // Origins of `--http-frame`; those of all pictures: 2,048 bytes each; wrong usage or configuration, exit 2.
    /// The origins stand in one header field of every response, which is limited here and in proxies.
    static let most = 2_048

    /// The bytes that the origins take in the header field, each with a blank.
    static func size(of origins: some Sequence<String>) -> Int { origins.reduce(0) { $0 + $1.utf8.count + 1 } }

    /// Returns an origin as browsers write it: in lower case, without the default port.
    ///
    /// - Throws: `UsageError` when the text is not an origin, or one that a policy cannot name.
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
        // A browser would silently ignore a host that a policy cannot express (CSP 3, host-source).
        let labels = url.host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") } })
        else { throw fault("has a host that no policy can name; it is letters, digits, hyphens and dots") }
        let usual = url.scheme == .https ? 443 : 80
        return url.port == usual ? "\(url.scheme.rawValue)://\(url.host)" : url.origin
    }
}
