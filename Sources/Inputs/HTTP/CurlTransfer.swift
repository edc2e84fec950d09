internal import CCurl
internal import Feed
internal import Reactor

/// Owns an easy handle, and what its options point to.
final class EasyHandle: @unchecked Sendable {  // used by the one actor that has it
    let pointer: UnsafeMutableRawPointer
    /// libcurl's own words on a failure.
    let errorText: UnsafeMutablePointer<CChar>
    /// What the options were set for; nil when nothing is set.
    var request: HTTPRequest?
    var headerList: UnsafeMutablePointer<curl_slist>?

    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    /// Forgets all options; connections and names are the multi handle's and stay.
    func reset() {
        curl_easy_reset(pointer)
        curl_slist_free_all(headerList)
        headerList = nil
        request = nil
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }
}

/// One request under way: its options, what has arrived, and who waits for it.
final class CurlTransfer: @unchecked Sendable {  // belongs to the transport's actor, and libcurl calls back on its loop
    let handle: EasyHandle
    let request: HTTPRequest
    /// Whether another answer pointed here.
    private let isRedirected: Bool
    var continuation: UnsafeContinuation<Result<HTTPAnswer, HTTPFailure>, Never>?

    private var body: [UInt8] = []
    private var headers = HTTPAnswerHeaders()
    private var isTooLarge = false

    static let cancelled = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(.closed, "the request was cancelled"))

    /// Bytes read at once; small, as documents are: libcurl allocates it for every transfer.
    private static let bufferSize = 16_384
    /// A header line longer than this says nothing that a poller wants.
    private static let longestHeader = 8_192

    init(_ request: HTTPRequest, handle: EasyHandle, isRedirected: Bool) {
        self.isRedirected = isRedirected
        self.request = request
        self.handle = handle
    }

    /// Sets all options, or the few that change when this handle's last request was the same.
    ///
    /// - Returns: what is wrong with the request, if anything is.
    func configure() -> HTTPFailure? {
        let easy = handle.pointer
        var code = CURLE_OK
        func check(_ result: CURLcode) { if code == CURLE_OK { code = result } }
        func set(_ option: CURLoption, _ value: Int) { check(cw_set_number(easy, option, value)) }
        func set(_ option: CURLoption, _ value: String?) { if let value { check(cw_set_text(easy, option, value)) } }

        if handle.request != request { handle.reset() }
        handle.errorText[0] = 0
        let context = Unmanaged.passUnretained(self).toOpaque()
        check(cw_set_body_callback(easy, curlBodyArrived, context))
        check(cw_set_header_callback(easy, curlHeaderArrived, context))
        // A poller makes the same request again and again, and its options are still set.
        if handle.request != nil, code == CURLE_OK { return nil }
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)  // the transport does
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)  // or closing joins the resolver's thread, however long the name server takes
        let limit = max(1, Int((request.timeLeft ?? request.timeout).milliseconds))
        set(CURLOPT_TIMEOUT_MS, limit)
        set(CURLOPT_CONNECTTIMEOUT_MS, limit)
        set(CURLOPT_BUFFERSIZE, Self.bufferSize)
        set(CURLOPT_ACCEPT_ENCODING, "")  // all that this libcurl knows
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        if !request.usesProxy { set(CURLOPT_PROXY, "") }
        set(CURLOPT_USERNAME, request.credentials?.name)
        set(CURLOPT_PASSWORD, request.credentials?.password)
        set(CURLOPT_USERAGENT, request.userAgent)
        set(CURLOPT_CAINFO, request.caFile)
        set(CURLOPT_SSLCERT, request.certificate)
        set(CURLOPT_SSLKEY, request.key)
        for header in request.headers { handle.headerList = curl_slist_append(handle.headerList, header) }
        check(cw_set_headers(easy, handle.headerList))
        check(cw_set_error_buffer(easy, handle.errorText))
        handle.request = request
        guard code == CURLE_OK else {
            defer { handle.reset() }
            return failure(code)
        }
        return nil
    }

    // MARK: What arrives

    /// Takes a piece of the decompressed body; false ends the transfer.
    fileprivate func take(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard body.count + bytes.count <= request.maxBody else {
            isTooLarge = true
            return false
        }
        if body.isEmpty {
            let announced = cw_get_size(handle.pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
            body.reserveCapacity(min(max(Int(clamping: announced), bytes.count), request.maxBody))
        }
        body.append(contentsOf: bytes)
        return true
    }

    fileprivate func takeHeader(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= Self.longestHeader else { return }
        if bytes.starts(with: "HTTP/".utf8) {  // a redirect's headers came before
            headers = HTTPAnswerHeaders()
            return
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
        func value() -> String {
            let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
            let start = bytes[(colon + 1)...].firstIndex { !isBlank($0) } ?? bytes.endIndex
            let end = bytes[start...].lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
            return String(decoding: bytes[start..<end], as: UTF8.self)
        }
        let name = UnsafeBufferPointer(rebasing: bytes[..<colon])
        if Self.name(name, is: "retry-after") {
            headers.retryAfter = value()
        } else if Self.name(name, is: "etag") {
            headers.etag = value()
        } else if Self.name(name, is: "last-modified") {
            headers.lastModified = value()
        } else if Self.name(name, is: "content-type") {
            headers.contentType = value()
        }
    }

    /// Compares a field's name without its case; no string is made, since most fields are of no interest.
    private static func name(_ bytes: UnsafeBufferPointer<UInt8>, is name: StaticString) -> Bool {
        guard bytes.count == name.utf8CodeUnitCount else { return false }
        for index in bytes.indices {
            // In bounds: both have as many bytes. A capital letter differs from its small one in this bit.
            let byte = bytes[index]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower != name.utf8Start[index] { return false }
        }
        return true
    }

    // MARK: What it came to

    func result(_ code: CURLcode) -> Result<HTTPAnswer, HTTPFailure> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        var answer = HTTPAnswer(status: status, body: body, headers: headers, timing: timing)
        if [301, 302, 303, 307, 308].contains(status) {
            answer.redirect = cw_get_text(handle.pointer, CURLINFO_REDIRECT_URL).map { String(cString: $0) }
        }
        return .success(answer)
    }

    private var status: Int { cw_get_number(handle.pointer, CURLINFO_RESPONSE_CODE) }

    /// libcurl's times are microseconds from the start of the request, so a phase is the difference of two.
    private var timing: HTTPTiming {
        func milliseconds(_ info: CURLINFO) -> Double { Double(cw_get_size(handle.pointer, info)) / 1_000 }
        let total = milliseconds(CURLINFO_TOTAL_TIME_T)
        let reused = cw_get_number(handle.pointer, CURLINFO_NUM_CONNECTS) == 0
        let resolved = reused ? 0 : milliseconds(CURLINFO_NAMELOOKUP_TIME_T)
        let connected = reused ? 0 : max(resolved, milliseconds(CURLINFO_CONNECT_TIME_T))
        let secured = reused ? 0 : max(connected, milliseconds(CURLINFO_APPCONNECT_TIME_T))
        let started = max(secured, milliseconds(CURLINFO_STARTTRANSFER_TIME_T))
        var timing = HTTPTiming()
        timing.total = total
        timing.dns = resolved
        timing.connect = connected - resolved
        timing.tls = secured - connected
        timing.wait = started - secured
        timing.receive = max(0, total - started)
        timing.bytes = Int(clamping: cw_get_size(handle.pointer, CURLINFO_SIZE_DOWNLOAD_T))
        timing.reused = reused
        return timing
    }

    private func failure(_ code: CURLcode) -> HTTPFailure {
        let text = CurlFailureText(
            endpoint: request.endpoint, timeout: request.timeout, maxBody: request.maxBody,
            isRedirected: isRedirected, isTooLarge: isTooLarge,
            systemError: Int32(truncatingIfNeeded: cw_get_number(handle.pointer, CURLINFO_OS_ERRNO)),
            detail: String(cString: handle.errorText), received: timing.bytes,
            wasConnected: cw_get_size(handle.pointer, CURLINFO_PRETRANSFER_TIME_T) > 0,
            wasResolved: cw_get_size(handle.pointer, CURLINFO_NAMELOOKUP_TIME_T) > 0, status: status)
        var failure = text.failure(code)
        if status > 0 { failure.begun = (status, timing) }
        return failure
    }
}

private func curlBodyArrived(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    let length = size * count
    return bytes.withMemoryRebound(to: UInt8.self, capacity: length) {
        transfer.take(UnsafeBufferPointer(start: $0, count: length)) ? length : 0
    }
}

private func curlHeaderArrived(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    let length = size * count
    bytes.withMemoryRebound(to: UInt8.self, capacity: length) {
        transfer.takeHeader(UnsafeBufferPointer(start: $0, count: length))
    }
    return length
}
