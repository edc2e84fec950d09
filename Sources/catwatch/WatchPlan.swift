internal import Feed
internal import Glibc
internal import Inputs
internal import Reactor

/// What `catwatch` is to do, worked out as far as that needs no loop: files are read here, before anything runs.
struct WatchPlan: Sendable {
    let options: Options
    let headers: [String]
    let environment: [String: String]
    /// Checked pointers by their text.
    private let pointers: [String: JSONPointer]

    /// - Throws: `UsageError` when a secret cannot be read or a pointer is none.
    init(_ options: Options, environment: [String: String]) throws {
        self.options = options
        self.environment = environment
        try Self.check(options.request)
        headers = try options.request.headerFields(environment: environment).map { "\($0.name): \($0.value)" }
        var pointers: [String: JSONPointer] = [:]
        for (name, text) in [("--value", options.value), ("--text", options.text)] {
            guard let text else { continue }
            do throws(Failure) {
                pointers[text] = try JSONPointer(text)
            } catch {
                throw UsageError("\(name): \(error.message)")
            }
        }
        self.pointers = pointers
    }

    /// Says now that a file cannot be read, not at the first secure connection.
    private static func check(_ request: RequestOptions) throws(UsageError) {
        for (name, path) in [("--cacert", request.caFile), ("--cert", request.certificate), ("--key", request.key)] {
            guard let path, access(path, R_OK) != 0 else { continue }
            let reason = SystemError(code: errno, call: "access").reason
            throw UsageError("\(UsageError.quoted(path)): \(reason)", option: name)
        }
    }

    /// The sources to poll.
    ///
    /// - Parameter demoOrigin: where the stand-in API is, when it runs.
    func sources(demoOrigin: String?) throws -> [HTTPSource] {
        try options.feeds(demoOrigin: demoOrigin).map { feed in
            var request = HTTPRequest(url: feed.url.withoutUserInfo)
            request.credentials = feed.url.credentials.map { .init(name: $0.name, password: $0.password) }
            request.usesProxy = demoOrigin != feed.url.origin
            request.headers = headers
            request.timeout = options.request.timeout
            request.maxBody = options.request.maxBody
            request.maxRedirects = options.request.maxRedirects
            request.caFile = options.request.caFile
            request.certificate = options.request.certificate
            request.key = options.request.key
            request.userAgent = "catwatch/\(Version.current)"
            return HTTPSource(
                SourceDescription(name: feed.name), request: request, every: feed.every,
                extraction: Extraction(value: try place(feed.value), text: try place(feed.text)))
        }
    }

    private func place(_ text: String?) throws(Failure) -> Extraction.Place {
        guard let text else { return .first }
        if let known = pointers[text] { return .at(known) }
        return .at(try JSONPointer(text))
    }
}
