internal import CCurl
internal import Feed
internal import Reactor

/// Owns an easy handle and the memory that its options point to.
final class EasyHandle: @unchecked Sendable {  // used only by the actor that owns it
    let pointer: UnsafeMutableRawPointer
    /// libcurl's message about a failure.
    private let errorText: UnsafeMutablePointer<CChar>
    /// The request that the options are set for; nil when none are set.
    private(set) var request: HTTPRequest?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// The first error of setting options.
    private var code = CURLE_OK

    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    // MARK: Options

    /// Sets all options, or only the callbacks if the options are set for the same request already, as in repeated
    /// polls.
    ///
    /// - Parameters:
    ///   - callbacks: sets the options that differ each time.
    ///   - options: sets the others, besides those common to every request.
    /// - Returns: the first code that is not `CURLE_OK`; then no options are set.
    func configure(for request: HTTPRequest, callbacks: () -> Void = {}, options: () -> Void) -> CURLcode {
        if self.request != request { reset() }
        code = CURLE_OK
        errorText[0] = 0
        callbacks()
        if self.request == nil || code != CURLE_OK {
            setCommonOptions(of: request)
            options()
            self.request = request
        }
        defer { if code != CURLE_OK { reset() } }
        return code
    }

    private func setCommonOptions(of request: HTTPRequest) {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)  // otherwise closing joins the resolver's thread, however slow the name server is
        let limit = max(1, Int((request.timeLeft ?? request.timeout).milliseconds))
        set(CURLOPT_TIMEOUT_MS, limit)
        set(CURLOPT_CONNECTTIMEOUT_MS, limit)
        if !request.usesProxy { set(CURLOPT_PROXY, "") }
        set(CURLOPT_USERAGENT, request.userAgent)
        set(CURLOPT_CAINFO, request.caFile)
        set(CURLOPT_SSLCERT, request.certificate)
        set(CURLOPT_SSLKEY, request.key)
        check(cw_set_error_buffer(pointer, errorText))
    }

    func set(_ option: CURLoption, _ value: Int) { check(cw_set_number(pointer, option, value)) }

    func set(_ option: CURLoption, _ value: String?) { if let value { check(cw_set_text(pointer, option, value)) } }

    func set(headers: [String]) {
        for header in headers { headerList = curl_slist_append(headerList, header) }
        check(cw_set_headers(pointer, headerList))
    }

    /// Records the result of setting an option.
    func check(_ result: CURLcode) { if code == CURLE_OK { code = result } }

    /// Forgets all options; connections and names belong to the multi handle and stay.
    private func reset() {
        curl_easy_reset(pointer)
        curl_slist_free_all(headerList)
        headerList = nil
        request = nil
    }

    // MARK: Result

    /// The time that the phases up to a connection took; `total` is their sum. libcurl's times are microseconds from
    /// the start of the request, so a phase is the difference of two.
    var connectionTiming: HTTPTiming {
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

    func milliseconds(_ info: CURLINFO) -> Double { Double(cw_get_size(pointer, info)) / 1_000 }

    /// Returns the failure of a request.
    ///
    /// - Parameters:
    ///   - connected: the libcurl time that is not 0 once there is a connection.
    ///   - received: the bytes of the body received.
    func failure(
        _ code: CURLcode, _ request: HTTPRequest, connected: CURLINFO, isRedirected: Bool = false,
        isTooLarge: Bool = false, received: Int = 0, status: Int = 0
    ) -> HTTPFailure {
        CurlFailureText(
            endpoint: request.endpoint, timeout: request.timeout, maxBody: request.maxBody, isRedirected: isRedirected,
            isTooLarge: isTooLarge, systemError: Int32(truncatingIfNeeded: cw_get_number(pointer, CURLINFO_OS_ERRNO)),
            detail: String(cString: errorText), received: received, wasConnected: cw_get_size(pointer, connected) > 0,
            wasResolved: cw_get_size(pointer, CURLINFO_NAMELOOKUP_TIME_T) > 0, status: status
        ).failure(code)
    }
}
