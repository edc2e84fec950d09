internal import CMicroHTTPD
internal import Glibc
internal import Reactor

/// One connection and its current request. Everything in it runs on the loop's thread.
final class HTTPConnection {
    private enum Phase {
        /// Waits for a further request, of which nothing has come.
        case idle
        /// Waits for a request, whose header fields may have begun to come.
        case head
        /// The header fields are complete, and the body is coming.
        case body
        /// The body exceeds its limit: the rest is dropped.
        case tooLong
        /// The request is complete.
        case answering
    }

    private let handle: OpaquePointer
    private unowned let server: HTTPServer
    private let socket: Int32
    /// Whether the connection exceeds the limit: it gets a refusal.
    private let isSurplus: Bool
    private var phase = Phase.head
    private var request = HTTPRequest(method: "", target: "", fields: [], body: [])
    /// The answer to a promise, until libmicrohttpd asks for it.
    private var reply: HTTPReply?
    private var promise: HTTPPromise?
    private var stream: HTTPStream?
    /// Whether the request is HEAD: the response has no body.
    private var isForHead = false
    private var upgrade: ((any ByteStream) -> Void)?
    private var isSuspended = false
    /// Whether the producer called `resume` while it was being asked.
    private var isResumed = false
    /// Whether the client has closed its side, and whether it counts as gone therefore: a client that waits for an
    /// answer does not close its side.
    private var hasEnded = false
    private var hasLeft = false
    /// Whether another writer has the connection, and notices its end.
    private var isLent = false
    /// libmicrohttpd ignores a suspended connection, and misses an end of input that comes with the last bytes: so we
    /// watch for a client that leaves. We also watch for the first byte of a request, which libmicrohttpd does not
    /// report.
    private var watch: Watch?
    /// The target within the head that is being read.
    private var targetBytes: UnsafeRawBufferPointer?
    /// The memory that libmicrohttpd needs for the target, computed before it parses the parameters.
    private var targetMemory = 0
    /// When the wait for a request began.
    private(set) var awaitedSince: LoopInstant
    /// Whether the last answer was sent, and the connection is about to be closed.
    private var isEnding = false
    /// Whether it was closed to make room for another connection.
    private(set) var hasGivenWay = false
    /// When the client must have sent a request, or accepted more of a stream.
    private var deadline: LoopInstant?
    /// Checks the deadline. It stays when the deadline is extended, which happens several times a request.
    private var timer: LoopTimer?
    /// The server's turn in which the previous request ended.
    private var lastTurn = 0
    private static let pauseBeforeLooking = Duration.milliseconds(10)

    /// The client's address, if connections per address are counted.
    let peer: HTTPPeer?

    init(_ handle: OpaquePointer, of server: HTTPServer, from peer: HTTPPeer?, isSurplus: Bool) {
        self.handle = handle
        self.server = server
        self.peer = peer
        self.isSurplus = isSurplus
        socket = cw_mhd_socket(handle)
        awaitedSince = server.loop.clock.now
        watch = try? server.loop.watch(socket, interest: [.read, .readHangUp, .edgeTriggered]) {
            [unowned self] ready in
            if ready.isDisjoint(with: [.readHangUp, .hangUp, .error]) { handleReadable() } else { handleHangUp() }
        }
        expect(within: server.limits.head)
    }

    // MARK: What is expected of the client

    private func expect(within time: Duration) {
        let deadline = server.loop.clock.now.advanced(by: time)
        self.deadline = deadline
        look(at: deadline)
    }

    private func look(at deadline: LoopInstant) {
        if let timer {
            guard deadline < timer.deadline else { return }
            server.loop.cancel(timer)
        }
        timer = server.loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            look()
        }
    }

    private func look() {
        guard let deadline else { return }
        if server.loop.clock.now < deadline {
            look(at: deadline)
        } else if stream != nil {
            // Otherwise, unsent bytes would stay in the kernel for minutes.
            self.deadline = nil
            cw_mhd_reset(socket)
            cw_mhd_shut_down(socket)  // closes a socket that has no reset
        } else if hasEnded, cw_mhd_unread(socket) > 0 {
            // Bytes from before the end are still processed.
            expect(within: Self.pauseBeforeLooking)
        } else {
            self.deadline = nil
            cw_mhd_shut_down(socket)
        }
    }

    /// Handles readiness to read. After an answer this is the start of the next request, unless the event belongs to
    /// the previous one: it may arrive after the turn in which libmicrohttpd has read that.
    private func handleReadable() {
        guard phase == .idle, server.turns != lastTurn || cw_mhd_unread(socket) > 0 else { return }
        phase = .head
        expect(within: server.limits.head)
    }

    /// Whether it may be closed for another connection: no request is complete.
    var mayGiveWay: Bool { (phase == .idle || phase == .head) && !isEnding }

    /// Closes the connection to make room for another one, with an answer to a request that may have begun.
    func giveWay() {
        hasGivenWay = true
        end(Self.tooMany)
    }

    /// Ends the connection with an answer, at any point of the request.
    private func end(_ response: HTTPResponse) {
        isEnding = true
        sendAtOnce(response)
        cw_mhd_shut_down(socket)
    }

    /// A half-closed connection counts as gone while an answer is pending, as with other servers: a browser that leaves
    /// looks the same.
    private func handleHangUp() {
        hasEnded = true
        if phase != .answering { expect(within: Self.pauseBeforeLooking) }
        guard isSuspended, !isLent else { return }
        leave()
    }

    // MARK: Callbacks of libmicrohttpd

    /// Handles a request line. A target that is too long is refused before libmicrohttpd parses its parameters: without
    /// memory for these, it neither answers nor closes the connection.
    func begin(_ target: UnsafePointer<CChar>) {
        let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
        targetMemory = bytes.count + bytes.count { $0 == UInt8(ascii: "&") } * Self.record
        guard bytes.count <= server.limits.target, targetMemory <= mostHead else {
            return end(.text(414, "a target has \(server.limits.target) bytes at the most", Self.lastField))
        }
        request.target = String(cString: target)
        targetBytes = bytes
    }

    /// Handles the header fields, a piece of the body, its end, or a request that was suspended.
    func advance(
        method: UnsafePointer<CChar>, version: UnsafePointer<CChar>, piece: UnsafeRawBufferPointer
    ) -> MHD_Result {
        guard !server.isStopping, !isEnding else { return .NO }
        switch phase {
        case .idle, .head:
            phase = .body
            expect(within: server.limits.patience)
            request.method = String(cString: method)
            isForHead = request.method == "HEAD"
            let head = UnsafeRawBufferPointer(start: method, count: cw_mhd_head_size(handle))
            let reading = read(HTTPHeadReading(head, behind: version))
            request.fields = reading.fields
            if let refusal = refusal(ofHead: head, method, version, hasZero: reading.hasZero) {
                end(refusal)
                return .NO
            }
            // An answer before the body ends the connection.
            return refusal(version: String(cString: version)).map { carryOut(.now($0)) } ?? .YES
        case .body:
            guard piece.isEmpty else {
                if request.body.count + piece.count > server.limits.body {
                    phase = .tooLong
                    request.body = []
                } else {
                    request.body += piece
                }
                return .YES
            }
            // Frees the request's memory while the answer is pending.
            let whole = request
            request = HTTPRequest(method: "", target: "", fields: [], body: [])
            return carryOut(server.handler(whole))
        case .tooLong:
            return piece.isEmpty ? carryOut(.now(bodyRefusal)) : .YES
        case .answering:
            guard let reply, !hasLeft else { return .NO }
            self.reply = nil
            return carryOut(reply)
        }
    }

    /// Ends the request.
    func finish(isComplete: Bool) {
        let (stream, promise) = (self.stream, self.promise)
        (self.stream, self.promise, reply, upgrade) = (nil, nil, nil, nil)
        (isSuspended, isResumed, isLent) = (false, false, false)
        phase = .idle
        isForHead = false
        awaitedSince = server.loop.clock.now
        lastTurn = server.turns
        request = HTTPRequest(method: "", target: "", fields: [], body: [])
        expect(within: hasEnded ? Self.pauseBeforeLooking : server.limits.patience)
        stream?.finish(isComplete: isComplete)
        promise?.leave()
    }

    /// Ends the connection; its socket is still open.
    func close() {
        if let timer { server.loop.cancel(timer) }
        timer = nil
        watch?.cancel()
        watch = nil
    }

    /// Hands the connection over after the 101 response.
    func hand(over handle: OpaquePointer, received: [UInt8]) {
        guard let upgrade, !server.isStopping,
            let stream = server.upgraded(socket, received: received, whenClosed: { cw_mhd_close_upgraded(handle) })
        else { return cw_mhd_close_upgraded(handle) }
        self.upgrade = nil
        // The new owner of the stream watches it.
        watch?.cancel()
        watch = nil
        upgrade(stream)
    }

    /// Asks the producer for more of a stream.
    ///
    /// - Returns: the number of bytes, 0 when the connection was suspended, or one of libmicrohttpd's codes.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int {
        guard let stream, !hasLeft, !server.isStopping else { return Self.endWithError }
        isResumed = false
        switch stream.next(into: buffer, at: position) {
        case .bytes(let count):
            precondition(1...buffer.count ~= count, "a producer gives what there is room for")
            expect(within: server.limits.patience)
            return count
        case .nothingNow:
            suspend()
            // `resume` was called meanwhile: asks again in the next turn, so that a busy producer does not occupy the
            // loop.
            if isResumed { resume() }
            return 0
        case .end: return Self.endOfStream
        case .broken(let byReset):
            if byReset { cw_mhd_reset(socket) }
            return Self.endWithError
        }
    }

    /// MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, which are macros with a cast.
    private static let endOfStream = -1
    static let endWithError = -2

    // MARK: Waiting

    private func suspend() {
        MHD_suspend_connection(handle)
        isSuspended = true
        deadline = nil
        if hasEnded { server.loop.schedule(after: .zero) { [weak self] in self?.handleHangUp() } }
    }

    /// Makes libmicrohttpd ask again; does nothing when the connection is not suspended.
    func resume() {
        guard isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(handle)
        server.turnSoon()
    }

    func resumeStream() {
        isResumed = true
        resume()
    }

    /// Stores the answer to a promise.
    func keep(_ reply: HTTPReply) {
        promise = nil
        self.reply = reply
        resume()
    }

    // MARK: Answering

    private func carryOut(_ reply: HTTPReply) -> MHD_Result {
        phase = .answering
        deadline = nil
        switch reply {
        case .now(let response): return queue(response)
        case .later(let begin):
            let promise = HTTPPromise(of: self)
            self.promise = promise
            suspend()
            begin(promise)
            return .YES
        case .closed(let byReset):
            if byReset { cw_mhd_reset(socket) }
            return .NO
        }
    }

    /// Returns why a request is refused; nil when it is not.
    private func refusal(version: String) -> HTTPResponse? {
        if isSurplus { return Self.tooMany }
        if let refusal = request.validateHead(version: version) { return refusal }
        // A value that is not a number was refused earlier.
        guard let announced = request["Content-Length"] else { return nil }
        return Int(announced) ?? .max > server.limits.body ? bodyRefusal : nil
    }

    private static var tooMany: HTTPResponse {
        .text(503, "too many connections", [HTTPField("Retry-After", "1")] + lastField)
    }

    /// The bytes of libmicrohttpd's record of a field, a parameter or a cookie, rounded up.
    private static let record = 64

    /// Returns why a head is refused for its form or length; nil when it is not. libmicrohttpd uses the same memory for
    /// heads and answers, so it may have no room for its own refusal.
    private func refusal(
        ofHead head: UnsafeRawBufferPointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>,
        hasZero: Bool
    ) -> HTTPResponse? {
        // The words of the first line are adjacent: a byte 0 within one would end it and hide the rest.
        guard !hasZero, let target = targetBytes, let start = target.baseAddress,
            start == UnsafeRawPointer(method) + strlen(method) + 1,
            UnsafeRawPointer(version) == start + target.count + 1
        else { return .text(400, "a head has no byte 0, and single blanks in its first line", Self.lastField) }
        let firstLine = UnsafeRawPointer(version) - UnsafeRawPointer(method) + strlen(version)
        let cookies = request.fields.lazy.filter { $0.name.isSame(as: "Cookie") }.map(\.value.utf8)
        let cookieMemory = cookies.reduce(0) { memory, cookies in
            memory + cookies.count + (cookies.count { $0 == UInt8(ascii: ";") } + 1) * Self.record
        }
        let fieldMemory = head.count - target.count + request.fields.count * Self.record
        guard head.count - firstLine - 4 <= server.limits.fields,
            targetMemory + fieldMemory + cookieMemory <= mostHead
        else {
            return .text(431, "a request has \(server.limits.fields) bytes of fields at the most", Self.lastField)
        }
        return nil
    }

    /// The most connection memory that a head may use, leaving room for the answer's head.
    private var mostHead: Int { server.limits.memory / 4 * 3 }

    private static let lastField = [HTTPField("Connection", "close")]

    private var bodyRefusal: HTTPResponse {
        let message = "a body has \(server.limits.body) bytes at the most"
        return .text(413, message, Self.lastField)
    }

    /// Reads the header fields, which are still in libmicrohttpd's memory.
    private func read(_ head: HTTPHeadReading) -> HTTPHeadReading {
        var head = head
        withUnsafeMutablePointer(to: &head) { head in
            _ = MHD_get_connection_values(
                handle, .HEADER_KIND,
                { context, _, name, value in
                    if let name { context?.assumingMemoryBound(to: HTTPHeadReading.self).pointee.add(name, value) }
                    return .YES
                }, head)
        }
        head.finish()
        return head
    }

    private func queue(_ response: HTTPResponse) -> MHD_Result {
        let common =
            response.isWhole
            ? [] : server.fields.filter { field in !response.fields.contains { $0.name == field.name } }
        let fields = response.fields + common
        if case .connection(let receive) = response.body { return lend(response.status, fields, receive) }
        guard let made = make(response.body) else { return .NO }
        defer { MHD_destroy_response(made) }
        // Otherwise libmicrohttpd sends the last, empty chunk after the head.
        if isForHead, let stream, stream.size == nil { cw_mhd_end_with(made) }
        for field in fields { MHD_add_response_header(made, field.name, field.value) }
        return MHD_queue_response(handle, UInt32(response.status), made)
    }

    /// Lends the connection to a writer; libmicrohttpd keeps it suspended until the writer has closed it.
    private func lend(
        _ status: Int, _ fields: [HTTPField], _ receive: (any WatchedStream, [UInt8]) -> Void
    ) -> MHD_Result {
        guard let stream = server.upgraded(socket, whenClosed: { [unowned self] in leave() }) else { return .NO }
        close()
        isLent = true
        suspend()
        receive(stream, Self.head(status, fields + Self.lastField))
        return .YES
    }

    private static func head(_ status: Int, _ fields: [HTTPField]) -> [UInt8] {
        let date = HTTPField("Date", HTTPDate.text(of: SystemWallClock().now))
        var head = "HTTP/1.1 \(status) \(String(cString: MHD_get_reason_phrase_for(UInt32(status))))\r\n"
        for field in [date] + fields { head += "\(field.name): \(field.value)\r\n" }
        return Array("\(head)\r\n".utf8)
    }

    /// Sends a short answer behind earlier bytes, bypassing libmicrohttpd; as far as there is room.
    private func sendAtOnce(_ response: HTTPResponse) {
        guard case .bytes(let body) = response.body else { return }
        let length = HTTPField("Content-Length", "\(body.count)")
        let bytes = Self.head(response.status, response.fields + server.fields + [length]) + (isForHead ? [] : body)
        _ = bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
    }

    /// Makes libmicrohttpd ask for an answer, to notice that the client is gone.
    private func leave() {
        hasLeft = true
        resume()
    }

    private func make(_ body: HTTPResponse.Body) -> OpaquePointer? {
        switch body {
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bytes in
                // libmicrohttpd copies the bytes and does not write to them.
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_MUST_COPY)
            }
        case .memory(let bytes, let owner):
            // libmicrohttpd does not write to them here either.
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            guard let owner else { return MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_PERSISTENT) }
            let retained = Unmanaged.passRetained(owner)
            let made = MHD_create_response_from_buffer_with_free_callback_cls(
                bytes.count, start, { $0.map { Unmanaged<AnyObject>.fromOpaque($0).release() } }, retained.toOpaque())
            if made == nil { retained.release() }
            return made
        case .stream(let stream):
            self.stream = stream
            stream.connection = self
            let size = stream.size.map(UInt64.init) ?? .max  // MHD_SIZE_UNKNOWN
            // Not called after the connection was told that the request is over.
            return MHD_create_response_from_callback(
                size, Self.block(of: stream), fillFromStream, Unmanaged.passUnretained(self).toOpaque(), nil)
        case .upgrade(let upgrade):
            self.upgrade = upgrade
            return MHD_create_response_for_upgrade(handOver, nil)
        case .connection: return nil
        }
    }

    /// The bytes of a stream per request to its producer. Without a size, the rest of the connection's memory is used
    /// instead (except for HTTP/1.0); the block is allocated anyway, as long as the stream lives.
    private static func block(of stream: HTTPStream) -> Int { stream.size == nil ? 2 << 10 : 16 << 10 }
}
