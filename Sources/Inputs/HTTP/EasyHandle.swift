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
    /// Signalled when more of the body has come, for an answer that is read while it comes; nil for others.
    private let arrival: Wakeup?
    /// Milliseconds that earlier redirects have taken; nil for a request that follows none.
    private(set) var spent: Double?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// The first error of setting options.
    private var code = CURLE_OK

    private var body: [UInt8] = []
    /// Bytes of header lines and trailers, for an answer that is read while it comes.
    private var headBytes = 0
    private(set) var isTooLarge = false

    /// The task that waits for the result, and the number of such waits: a late cancellation must not hit a later one.
    var continuation: UnsafeContinuation<CURLcode?, Never>?
    var uses = 0
    /// How the request ended; nil before that.
    private(set) var result: CURLcode?

    /// The size of libcurl's receive buffer, in bytes; small, because libcurl allocates it for every transfer.
    private static let bufferSize = 16_384
    // Bound: a header line of a response | 8 KiB | skipped
    /// No header that a poller needs is longer.
    private static let longestHeader = 8_192
    // Bound: head and trailers of a response of `/feed` | 16 KiB, and what libcurl allows a line (100 KiB) | `error`,
    //   another attempt
    private static let longestHead = 16 << 10

    init?(connectOnly: Bool = false, arrival: Wakeup? = nil) {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        isConnectOnly = connectOnly
        self.arrival = arrival
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
    func prepare(_ request: HTTPRequest, spent: Double? = nil) throws(HTTPFailure) {
        (isTooLarge, self.spent) = (false, spent)
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
        let context = Unmanaged.passUnretained(self).toOpaque()
        check(cw_set_data_callback(pointer, CURLOPT_WRITEFUNCTION, curlBodyArrived, CURLOPT_WRITEDATA, context))
        set(CURLOPT_URL, request.url)
        set(CURLOPT_COPYPOSTFIELDS, request.body)
        set(CURLOPT_FOLLOWLOCATION, 0)  // the transport does
        set(CURLOPT_BUFFERSIZE, Self.bufferSize)
        if isStream {
            // Paused, libcurl would hold whole windows of HTTP/2 (10 MB), and all that a compressed piece unpacks to.
            set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            check(cw_set_data_callback(pointer, CURLOPT_HEADERFUNCTION, curlHeaderArrived, CURLOPT_HEADERDATA, context))
        } else {
            set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            set(CURLOPT_ACCEPT_ENCODING, "")  // all encodings that this libcurl supports
        }
        set(CURLOPT_USERNAME, request.credentials?.name)
        set(CURLOPT_PASSWORD, request.credentials?.password)
        for header in request.headers { headerList = curl_slist_append(headerList, header) }
        check(cw_set_headers(pointer, headerList))
    }

    private func setConnectOptions(of request: HTTPRequest) {
        set(CURLOPT_URL, CurlURL.httpURL(request.url))
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

    /// Whether the answer is read while it comes.
    var isStream: Bool { arrival != nil }

    var isHeadTooLong: Bool { headBytes > Self.longestHead }

    /// Judges a header line or trailer of an answer that is read while it comes; returns what libcurl expects
    /// (CURLOPT_HEADERFUNCTION(3)).
    fileprivate func judge(header line: UnsafeRawBufferPointer) -> Int {
        headBytes += line.count
        guard headBytes <= Self.longestHead, !Self.isCompressed(line) else { return 0 }
        // Behind the head's empty line comes the body, however late.
        if line.count <= 2, status >= 200, let continuation = continuation.take() {
            set(CURLOPT_TIMEOUT_MS, 0)
            continuation.resume(returning: CURLE_OK)
        }
        return line.count
    }

    /// Whether libcurl would unpack the body unasked: 269 bytes are 60 MiB with two of these encodings.
    private static func isCompressed(_ line: UnsafeRawBufferPointer) -> Bool {
        let parts = String(decoding: line, as: UTF8.self).lowercased().split(separator: ":", maxSplits: 1)
        guard parts.first == "transfer-encoding" else { return false }
        return parts.count < 2 || !["chunked", "identity"].contains(parts[1].filter { !$0.isWhitespace })
    }

    /// Appends a piece of the decompressed body; returns what libcurl expects (CURLOPT_WRITEFUNCTION(3)).
    fileprivate func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        if let arrival {
            // Bound: unread bytes of an agent's feed by HTTP | 16 KiB, and as many in libcurl | rest stays in the
            //   socket, the agent waits
            guard body.isEmpty else { return Int(CURL_WRITEFUNC_PAUSE) }
            arrival.signal()
        } else {
            let most = request?.maxBody ?? 0
            isTooLarge = body.count + bytes.count > most
            if isTooLarge { return 0 }
            if body.isEmpty {
                let announced = cw_get_size(pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
                body.reserveCapacity(min(max(Int(clamping: announced), bytes.count), most))
            }
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Moves what has come of the body into a buffer, as far as it fits.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(body.count, buffer.count)
        buffer.copyBytes(from: body[..<count])
        body = Array(body[count...])
        return count
    }

    /// Tells all who wait how the request ended; nil when it was given up.
    func end(_ code: CURLcode?) {
        result = code ?? CURLE_ABORTED_BY_CALLBACK
        continuation.take()?.resume(returning: code)
        arrival?.open()
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

    /// The system's error code of a failure; 0 if it is not the system's.
    var systemError: Int32 { Int32(truncatingIfNeeded: cw_get_number(pointer, CURLINFO_OS_ERRNO)) }

    /// Returns the system's error, or `other` when libcurl has none.
    func failure(_ call: String, _ other: Int32) -> SystemError {
        SystemError(code: systemError == 0 ? other : systemError, call: call)
    }

    /// 0 before an answer has begun.
    var status: Int { cw_get_number(pointer, CURLINFO_RESPONSE_CODE) }

    var timing: HTTPTiming {
        let reused = cw_get_number(pointer, CURLINFO_NUM_CONNECTS) == 0
        var timing = reused ? HTTPTiming() : connectionTiming
        let secured = timing.total
        let started = max(secured, milliseconds(CURLINFO_STARTTRANSFER_TIME_T))
        let total = milliseconds(CURLINFO_TOTAL_TIME_T)
        timing.total = (spent ?? 0) + total
        timing.wait = started - secured
        timing.receive = max(0, total - started)
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
    return handle.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private func curlHeaderArrived(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    return handle.judge(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
}
