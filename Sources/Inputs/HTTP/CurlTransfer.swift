internal import CCurl
internal import Feed
internal import Reactor

/// One request in progress: its options, the answer so far, and the waiting caller.
final class CurlTransfer: @unchecked Sendable {  // belongs to the transport's actor, and libcurl calls back on its loop
    let handle: EasyHandle
    let request: HTTPRequest
    /// Whether this request follows a redirect.
    private let isRedirected: Bool
    var continuation: UnsafeContinuation<Result<HTTPAnswer, HTTPFailure>, Never>?

    private var body: [UInt8] = []
    private var headers = HTTPAnswerHeaders()
    private var isTooLarge = false

    static let cancelled = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(.closed, "the request was cancelled"))

    /// The size of libcurl's receive buffer, in bytes; small, because libcurl allocates it for every transfer.
    private static let bufferSize = 16_384
    // Bound: a header line of a response | 8 KiB | skipped
    /// No header that a poller needs is longer.
    private static let longestHeader = 8_192

    init(_ request: HTTPRequest, handle: EasyHandle, isRedirected: Bool) {
        self.isRedirected = isRedirected
        self.request = request
        self.handle = handle
    }

    /// Sets all options, or the few that change when this handle's last request was the same.
    ///
    /// - Returns: what is wrong with the request; nil when nothing is.
    func configure() -> HTTPFailure? {
        let code = handle.configure(
            for: request,
            callbacks: {
                let context = Unmanaged.passUnretained(self).toOpaque()
                handle.check(cw_set_body_callback(handle.pointer, curlBodyArrived, context))
                handle.check(cw_set_header_callback(handle.pointer, curlHeaderArrived, context))
            },
            options: {
                handle.set(CURLOPT_URL, request.url)
                handle.set(CURLOPT_FOLLOWLOCATION, 0)  // the transport does
                handle.set(CURLOPT_BUFFERSIZE, Self.bufferSize)
                handle.set(CURLOPT_ACCEPT_ENCODING, "")  // all encodings that this libcurl supports
                handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
                handle.set(CURLOPT_USERNAME, request.credentials?.name)
                handle.set(CURLOPT_PASSWORD, request.credentials?.password)
                handle.set(headers: request.headers)
            })
        return code == CURLE_OK ? nil : failure(code)
    }

    // MARK: What arrives

    /// Appends a piece of the decompressed body; returning false ends the transfer.
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
        if bytes.starts(with: "HTTP/".utf8) {  // a second status line, as after a redirect
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

    /// Compares a field name regardless of case, without creating a string: most fields are of no interest.
    private static func name(_ bytes: UnsafeBufferPointer<UInt8>, is name: StaticString) -> Bool {
        guard bytes.count == name.utf8CodeUnitCount else { return false }
        for index in bytes.indices {
            // In bounds: both have the same length. This bit tells a capital letter from its small one.
            let byte = bytes[index]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower != name.utf8Start[index] { return false }
        }
        return true
    }

    // MARK: Result

    func result(_ code: CURLcode) -> Result<HTTPAnswer, HTTPFailure> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        var answer = HTTPAnswer(status: status, body: body, headers: headers, timing: timing)
        if [301, 302, 303, 307, 308].contains(status) {
            answer.redirect = cw_get_text(handle.pointer, CURLINFO_REDIRECT_URL).map { String(cString: $0) }
        }
        return .success(answer)
    }

    private var status: Int { cw_get_number(handle.pointer, CURLINFO_RESPONSE_CODE) }

    private var timing: HTTPTiming {
        let reused = cw_get_number(handle.pointer, CURLINFO_NUM_CONNECTS) == 0
        var timing = reused ? HTTPTiming() : handle.connectionTiming
        let secured = timing.total
        let started = max(secured, handle.milliseconds(CURLINFO_STARTTRANSFER_TIME_T))
        timing.total = handle.milliseconds(CURLINFO_TOTAL_TIME_T)
        timing.wait = started - secured
        timing.receive = max(0, timing.total - started)
        timing.bytes = Int(clamping: cw_get_size(handle.pointer, CURLINFO_SIZE_DOWNLOAD_T))
        timing.reused = reused
        return timing
    }

    private func failure(_ code: CURLcode) -> HTTPFailure {
        var failure = handle.failure(
            code, request, connected: CURLINFO_PRETRANSFER_TIME_T, isRedirected: isRedirected, isTooLarge: isTooLarge,
            received: timing.bytes, status: status)
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
