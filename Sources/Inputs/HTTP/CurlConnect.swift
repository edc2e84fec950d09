internal import CCurl
internal import Feed
internal import Reactor

/// A connection on its way: libcurl's options for one without a request (CURLOPT_CONNECT_ONLY(3)), and who waits for it.
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
    /// - Returns: what is wrong with the request, if anything is.
    func configure() -> HTTPFailure? {
        let easy = handle.pointer
        var code = CURLE_OK
        func check(_ result: CURLcode) { if code == CURLE_OK { code = result } }
        func set(_ option: CURLoption, _ value: Int) { check(cw_set_number(easy, option, value)) }
        func set(_ option: CURLoption, _ value: String?) { if let value { check(cw_set_text(easy, option, value)) } }

        set(CURLOPT_URL, Self.url(for: request.url))
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_CONNECT_ONLY, 1)
        set(CURLOPT_FRESH_CONNECT, 1)  // one that a poll has left open has a request's state
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)  // or closing joins the resolver's thread, however long the name server takes
        let limit = max(1, Int(request.timeout.milliseconds))
        set(CURLOPT_TIMEOUT_MS, limit)
        set(CURLOPT_CONNECTTIMEOUT_MS, limit)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)  // or TLS agrees on HTTP/2, where there is no upgrade
        if request.usesProxy {
            set(CURLOPT_HTTPPROXYTUNNEL, 1)  // for plain HTTP too: a proxy would want whole requests otherwise
        } else {
            set(CURLOPT_PROXY, "")
        }
        set(CURLOPT_USERAGENT, request.userAgent)
        set(CURLOPT_CAINFO, request.caFile)
        set(CURLOPT_SSLCERT, request.certificate)
        set(CURLOPT_SSLKEY, request.key)
        check(cw_set_error_buffer(easy, handle.errorText))
        return code == CURLE_OK ? nil : failure(code)
    }

    /// `ws` and `wss` are `http` and `https` up to the handshake (RFC 6455, section 3).
    private static func url(for url: String) -> String {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return ["ws", "wss"].contains(scheme) ? "http\(url.dropFirst(2))" : url
    }

    /// What the phases took; `total` is their sum.
    var timing: HTTPTiming {
        func milliseconds(_ info: CURLINFO) -> Double { Double(cw_get_size(handle.pointer, info)) / 1_000 }
        let resolved = milliseconds(CURLINFO_NAMELOOKUP_TIME_T)
        let connected = max(resolved, milliseconds(CURLINFO_CONNECT_TIME_T))
        let secured = max(connected, milliseconds(CURLINFO_APPCONNECT_TIME_T))
        var timing = HTTPTiming()
        timing.dns = resolved
        timing.connect = connected - resolved
        timing.tls = secured - connected
        timing.total = secured
        return timing
    }

    /// The failure for a libcurl code.
    func failure(_ code: CURLcode) -> HTTPFailure {
        let wasResolved = cw_get_size(handle.pointer, CURLINFO_NAMELOOKUP_TIME_T) > 0
        let text = CurlFailureText(
            endpoint: request.endpoint, timeout: request.timeout, maxBody: request.maxBody, isRedirected: false,
            isTooLarge: false, systemError: Int32(truncatingIfNeeded: cw_get_number(handle.pointer, CURLINFO_OS_ERRNO)),
            detail: String(cString: handle.errorText), received: 0,
            wasConnected: cw_get_size(handle.pointer, CURLINFO_CONNECT_TIME_T) > 0, wasResolved: wasResolved, status: 0)
        return text.failure(code)
    }
}
