internal import CCurl
internal import Feed
internal import Glibc
internal import Reactor

/// Owns an easy handle, the memory that its options point to, and the answer to its request so far.
final class EasyHandle: @unchecked Sendable {  // used only by the transport that owns it, on its loop
    let pointer: UnsafeMutableRawPointer
    /// libcurl's message about a failure.
    let errorText: UnsafeMutablePointer<CChar>
    /// The request that the options are set for; nil before the first one.
    private(set) var request: HTTPRequest?
    /// Whether it only makes a connection (CURLOPT_CONNECT_ONLY(3)).
    let isConnectOnly: Bool
    /// Whether the request follows a redirect.
    private(set) var isRedirected = false
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// The first error of setting options.
    private var code = CURLE_OK

    private var body: [UInt8] = []
    private(set) var isTooLarge = false

    /// The task that waits for the result, and the number of such waits: a late cancellation must not hit a later one.
    var continuation: UnsafeContinuation<CURLcode?, Never>?
    var uses = 0

    /// The size of libcurl's receive buffer, in bytes; small, because libcurl allocates it for every transfer.
    private static let bufferSize = 16_384
    // Bound: a header line of a response | 8 KiB | skipped
    /// No header that a poller needs is longer.
    private static let longestHeader = 8_192

    init?(connectOnly: Bool = false) {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        isConnectOnly = connectOnly
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    // MARK: Options

    /// Prepares a request; sets options only if they differ from those of this handle's last request, as repeated polls
    /// have the same.
    ///
    /// - Throws: what is wrong with the request; the handle cannot be used again then.
    func prepare(_ request: HTTPRequest, isRedirected: Bool = false) throws(HTTPFailure) {
        (isTooLarge, self.isRedirected) = (false, isRedirected)
        errorText[0] = 0
        guard self.request != request else { return }
        // Connections and names belong to the multi handle and stay.
        curl_easy_reset(pointer)
        curl_slist_free_all(headerList)
        headerList = nil
        self.request = request
        setCommonOptions(of: request)
        if isConnectOnly { setConnectOptions(of: request) } else { setTransferOptions(of: request) }
        guard code == CURLE_OK else { throw failure(code, of: request) }
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

    private func setTransferOptions(of request: HTTPRequest) {
        check(cw_set_body_callback(pointer, curlBodyArrived, Unmanaged.passUnretained(self).toOpaque()))
        set(CURLOPT_URL, request.url)
        set(CURLOPT_FOLLOWLOCATION, 0)  // the transport does
        set(CURLOPT_BUFFERSIZE, Self.bufferSize)
        set(CURLOPT_ACCEPT_ENCODING, "")  // all encodings that this libcurl supports
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        set(CURLOPT_USERNAME, request.credentials?.name)
        set(CURLOPT_PASSWORD, request.credentials?.password)
        for header in request.headers { headerList = curl_slist_append(headerList, header) }
        check(cw_set_headers(pointer, headerList))
    }

    private func setConnectOptions(of request: HTTPRequest) {
        set(CURLOPT_URL, WebSocketTarget.httpURL(request.url))
        set(CURLOPT_CONNECT_ONLY, 1)
        set(CURLOPT_FRESH_CONNECT, 1)  // a connection left open by a poll has a request's state
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)  // HTTP/2 has no upgrade
        // For plain HTTP too: a proxy would want whole requests otherwise.
        if request.usesProxy { set(CURLOPT_HTTPPROXYTUNNEL, 1) }
    }

    private func set(_ option: CURLoption, _ value: Int) { check(cw_set_number(pointer, option, value)) }

    private func set(_ option: CURLoption, _ value: String?) {
        if let value { check(cw_set_text(pointer, option, value)) }
    }

    /// Records the result of setting an option.
    private func check(_ result: CURLcode) { if code == CURLE_OK { code = result } }

    // MARK: Result

    /// Appends a piece of the decompressed body; returning false ends the transfer.
    fileprivate func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let most = request?.maxBody ?? 0
        guard body.count + bytes.count <= most else {
            isTooLarge = true
            return false
        }
        if body.isEmpty {
            let announced = cw_get_size(pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
            body.reserveCapacity(min(max(Int(clamping: announced), bytes.count), most))
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Takes the answer of a request that libcurl has completed.
    func answer() -> HTTPAnswer {
        let headers = HTTPAnswerHeaders(
            retryAfter: header("retry-after"), etag: header("etag"), lastModified: header("last-modified"),
            contentType: header("content-type"))
        var answer = HTTPAnswer(status: status, body: body, headers: headers, timing: timing)
        body = []
        if [301, 302, 303, 307, 308].contains(status) {
            answer.redirect = cw_get_text(pointer, CURLINFO_REDIRECT_URL).map { String(cString: $0) }
        }
        return answer
    }

    /// A header of the last answer, not of an interim one (curl_easy_header(3)). A static name costs no allocation.
    private func header(_ name: StaticString) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        guard curl_easy_header(pointer, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK,
            let value = found?.pointee.value, strlen(value) <= Self.longestHeader
        else { return nil }
        return String(cString: value)
    }

    /// Returns the failure of a request for a libcurl code.
    func failure(_ code: CURLcode, of request: HTTPRequest) -> HTTPFailure {
        var failure = CurlFailureText(handle: self, request: request).failure(code)
        if status > 0, !isConnectOnly { failure.begun = (status, timing) }
        return failure
    }

    /// 0 before an answer has begun.
    var status: Int { cw_get_number(pointer, CURLINFO_RESPONSE_CODE) }

    var timing: HTTPTiming {
        let reused = cw_get_number(pointer, CURLINFO_NUM_CONNECTS) == 0
        var timing = reused ? HTTPTiming() : connectionTiming
        let secured = timing.total
        let started = max(secured, milliseconds(CURLINFO_STARTTRANSFER_TIME_T))
        timing.total = milliseconds(CURLINFO_TOTAL_TIME_T)
        timing.wait = started - secured
        timing.receive = max(0, timing.total - started)
        timing.bytes = Int(clamping: cw_get_size(pointer, CURLINFO_SIZE_DOWNLOAD_T))
        timing.reused = reused
        return timing
    }

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

    private func milliseconds(_ info: CURLINFO) -> Double { Double(cw_get_size(pointer, info)) / 1_000 }
}

private func curlBodyArrived(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    return handle.append(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}
