package import Feed
package import Reactor

/// Makes HTTP requests: over the network (`CurlTransport`), or simulated in a test.
package protocol HTTPTransport: Sendable {
    /// Makes one GET request and waits for the whole answer, at most until the request's deadline.
    ///
    /// - Throws: `HTTPFailure`; when the task is cancelled, one with the code `closed`.
    func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer

    /// Makes one request, and waits until the body of its answer begins or the answer is over, at most until the
    /// request's deadline. Redirects are not followed.
    ///
    /// - Returns: the status, and the body as it comes, compressed or not, for as long as it lasts.
    /// - Throws: like `get`.
    func open(_ request: HTTPRequest) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>)
}

/// The URL to get, and the options.
package struct HTTPRequest: Sendable, Equatable {
    /// Name and password for Basic authentication, unencoded.
    package struct Credentials: Sendable, Equatable {
        package var name: String
        package var password: String

        package init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    /// Absolute, `http` or `https`; the query may hold a secret, so print `endpoint` instead.
    package private(set) var url: String
    package private(set) var endpoint: Endpoint
    /// Nil for none.
    package var credentials: Credentials?
    /// Whether the environment's proxies are used.
    package var usesProxy = true
    /// Whole header lines, `Name: value`; may hold secrets.
    package var headers: [String] = []
    /// The body of a POST request; nil for GET.
    package var body: String?
    /// From name resolution to the last byte of the body.
    package var timeout: Duration = .seconds(10)
    /// The time left after redirects; nil before any.
    private(set) var timeLeft: Duration?
    // Body of a response, after decompression: 1 MiB (`--max-body`); `error` `too_large`.
    /// The most bytes of the body, after decompression.
    package var maxBody = 1 << 20
    // Redirects: 10 (`--max-redirects`); `error` `redirect`.
    package var maxRedirects = 10
    /// The origins that redirects may lead to, in lower case; nil for all.
    package var origins: Set<String>?
    /// PEM files; nil for the system's authorities and no client certificate.
    package var caFile: String?
    package var certificate: String?
    package var key: String?
    package var userAgent = "catwatch"

    package init(url: String) {
        self.url = url
        endpoint = Endpoint(url: url)
    }

    /// The request for `target`, to which an answer redirects. Secrets (headers, credentials, the client's certificate)
    /// stay with their origin.
    func redirected(to target: String, timeLeft: Duration) -> HTTPRequest {
        var next = moved(to: target)
        next.timeLeft = timeLeft
        return next
    }

    /// The same request for another URL, without secrets if that has another origin.
    func moved(to target: String) -> HTTPRequest {
        var next = self
        next.url = target
        next.endpoint = Endpoint(url: target)
        if next.endpoint.origin != endpoint.origin {
            next.headers = []
            next.credentials = nil
            next.certificate = nil
            next.key = nil
        }
        return next
    }
}

/// A whole answer, whatever its status.
package struct HTTPAnswer: Sendable {
    package var status: Int
    /// Decompressed.
    package var body: [UInt8]
    package var headers: HTTPAnswerHeaders
    package var timing: HTTPTiming
    /// The URL of the answer, if redirects led to another than the request's.
    package var location: String?
    /// The target of a redirect, for a transport that follows them.
    var redirect: String?

    package init(
        status: Int, body: [UInt8], headers: HTTPAnswerHeaders = HTTPAnswerHeaders(),
        timing: HTTPTiming = HTTPTiming()
    ) {
        self.status = status
        self.body = body
        self.headers = headers
        self.timing = timing
    }
}

/// The headers of an answer that a poller uses.
package struct HTTPAnswerHeaders: Sendable, Equatable {
    package var retryAfter: String?
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?

    package init(
        retryAfter: String? = nil, etag: String? = nil, lastModified: String? = nil, contentType: String? = nil
    ) {
        self.retryAfter = retryAfter
        self.etag = etag
        self.lastModified = lastModified
        self.contentType = contentType
    }

    /// The header line that asks whether the answer still holds (RFC 9110, section 13.1); nil when it has no validator
    /// that can be sent back: only printable ASCII can, as other bytes might inject a header.
    var condition: String? {
        func isPrintable(_ text: String) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        }
        if let etag, isPrintable(etag) { return "If-None-Match: \(etag)" }
        if let lastModified, isPrintable(lastModified) { return "If-Modified-Since: \(lastModified)" }
        return nil
    }
}

/// The duration of a request's phases, in milliseconds; see `LatencySample`.
package struct HTTPTiming: Sendable, Equatable {
    package var total = 0.0
    package var dns = 0.0
    package var connect = 0.0
    package var tls = 0.0
    package var wait = 0.0
    package var receive = 0.0
    /// The bytes of the body on the wire.
    package var bytes = 0
    package var reused = false

    package init() {}
}

/// A request without a whole answer.
package struct HTTPFailure: Error, Sendable {
    package var code: Failure.Code
    /// The message for a person, without query and credentials.
    package var message: String
    /// The status and the timing, when the answer had begun.
    package var begun: (status: Int, timing: HTTPTiming)?

    package init(_ code: Failure.Code, _ message: String, begun: (status: Int, timing: HTTPTiming)? = nil) {
        self.code = code
        self.message = message
        self.begun = begun
    }
}
