internal import CCurl
internal import Feed
internal import Reactor

/// A connection in progress: libcurl's options for one without a request (CURLOPT_CONNECT_ONLY(3)), and the waiting
/// caller.
final class CurlConnect: @unchecked Sendable {  // belongs to the transport's actor
    let handle: EasyHandle
    let request: HTTPRequest
    var continuation: UnsafeContinuation<HTTPFailure?, Never>?

    init(_ request: HTTPRequest, handle: EasyHandle) {
        self.request = request
        self.handle = handle
    }

    /// Sets the options.
    ///
    /// - Returns: what is wrong with the request; nil when nothing is.
    func configure() -> HTTPFailure? {
        let code = handle.configure(for: request) {
            handle.set(CURLOPT_URL, Self.url(for: request.url))
            handle.set(CURLOPT_CONNECT_ONLY, 1)
            handle.set(CURLOPT_FRESH_CONNECT, 1)  // a connection left open by a poll has a request's state
            handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)  // HTTP/2 has no upgrade
            // For plain HTTP too: a proxy would want whole requests otherwise.
            if request.usesProxy { handle.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        }
        return code == CURLE_OK ? nil : failure(code)
    }

    /// `ws` and `wss` are `http` and `https` up to the handshake (RFC 6455, section 3).
    private static func url(for url: String) -> String {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return ["ws", "wss"].contains(scheme) ? "http\(url.dropFirst(2))" : url
    }

    /// The failure for a libcurl code.
    func failure(_ code: CURLcode) -> HTTPFailure {
        handle.failure(code, request, connected: CURLINFO_CONNECT_TIME_T)
    }
}
