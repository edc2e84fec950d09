internal import CMicroHTTPD
internal import Glibc
internal import Reactor

/// One connection and its request of the moment. Everything in it happens on the loop's thread.
final class HTTPConnection {
    private enum Phase {
        /// A further request is awaited, and nothing of it has come.
        case idle
        /// A request is awaited; the header fields may have begun to come.
        case head
        /// They were seen, and the body comes.
        case body
        /// The body is longer than it may be: the rest is dropped.
        case tooLong
        /// The request is whole.
        case answering
    }

    private let handle: OpaquePointer
    private unowned let server: HTTPServer
    private let socket: Int32
    /// Whether it is one more than there may be: it gets a refusal.
    private let isSurplus: Bool
    private var phase = Phase.head
    private var request = HTTPRequest(method: "", target: "", fields: [], body: [])
    /// What a promise came to, until libmicrohttpd asks for it.
    private var reply: HTTPReply?
    private var promise: HTTPPromise?
    private var stream: HTTPStream?
    /// Whether the fields of the response are all that is asked for.
    private var isForHead = false
    private var upgrade: ((any ByteStream) -> Void)?
    private var isSuspended = false
    /// Whether the producer has more already, told while it was being asked.
    private var isResumed = false
    /// Whether the client says no more, and whether it counts as left for that: nobody who waits for an answer does so.
    private var hasEnded = false
    private var hasLeft = false
    /// Whether somebody else writes to it, and sees when it ends.
    private var isLent = false
    /// libmicrohttpd does not look at a suspended connection at all, and misses an end that comes together with the last of
    /// what was said: whether a client leaves is watched for beside it. So is the first byte of a request, of which it does
    /// not tell.
    private var watch: Watch?
    /// Where the target is in the head that is being read.
    private var targetPlace: UnsafeRawBufferPointer?
    /// What libmicrohttpd takes for it, counted before that takes its parameters apart.
    private var targetMemory = 0
    /// Since when a request is awaited.
    private(set) var awaitedSince: LoopInstant
    /// Whether it has had its last answer, and is about to be closed.
    private var isEnding = false
    /// Whether that was for another connection.
    private(set) var hasGivenWay = false
    /// When what is expected of the client has to have come: a request, or room for more of a stream.
    private var deadline: LoopInstant?
    /// Looks whether the deadline has come. It is left alone when that moves on, as it does several times a request.
    private var timer: LoopTimer?
    /// The server's turn in which the request before was over.
    private var lastTurn = 0
    private static let pauseBeforeLooking = Duration.milliseconds(10)

    /// Whose it is, when that counts.
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
            if ready.isDisjoint(with: [.readHangUp, .hangUp, .error]) { noteBytes() } else { noteEnd() }
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
            // What lies in the kernel for its client would stay there for minutes.
            self.deadline = nil
            cw_mhd_reset(socket)
            cw_mhd_shut_down(socket)  // which a socket that knows no reset takes
        } else if hasEnded, cw_mhd_unread(socket) > 0 {
            // What was said before the end is heard.
            expect(within: Self.pauseBeforeLooking)
        } else {
            self.deadline = nil
            cw_mhd_shut_down(socket)
        }
    }

    /// Something came. Behind an answer it is the beginning of the next request, unless it is the former one itself: what
    /// tells of it may come after the turn in which libmicrohttpd has read it.
    private func noteBytes() {
        guard phase == .idle, server.turns != lastTurn || cw_mhd_unread(socket) > 0 else { return }
        phase = .head
        expect(within: server.limits.head)
    }

    /// Whether it may be closed for another one: no request has come whole.
    var mayGiveWay: Bool { (phase == .idle || phase == .head) && !isEnding }

    /// Is closed for another connection, with an answer to what its client may have said.
    func giveWay() {
        hasGivenWay = true
        end(Self.tooMany)
    }

    /// Ends it with an answer, whatever its client has said so far.
    private func end(_ response: HTTPResponse) {
        isEnding = true
        sendAtOnce(response)
        cw_mhd_shut_down(socket)
    }

    /// A half-closed connection counts as left by whoever waits, as with other servers: a browser that goes away looks no
    /// different.
    private func noteEnd() {
        hasEnded = true
        if phase != .answering { expect(within: Self.pauseBeforeLooking) }
        guard isSuspended, !isLent else { return }
        leave()
    }

    // MARK: What libmicrohttpd tells

    /// A request line came. One that is too long is refused before libmicrohttpd takes its parameters apart: where there is no room
    /// for these, it neither answers nor closes the connection.
    func begin(_ target: UnsafePointer<CChar>) {
        let place = UnsafeRawBufferPointer(start: target, count: strlen(target))
        targetMemory = place.count + place.count { $0 == UInt8(ascii: "&") } * Self.record
        guard place.count <= server.limits.target, targetMemory <= mostHead else {
            return end(.refusal(414, "a target has \(server.limits.target) bytes at the most", Self.lastField))
        }
        request.target = String(cString: target)
        targetPlace = place
    }

    /// The header fields came, or a piece of the body, or the end of it; or the request is whole and has waited.
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
            // An answer before the body makes this the connection's last one.
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
            // Not kept while the answer takes its time.
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

    /// The request is over.
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

    /// The connection is over; its socket is open still.
    func close() {
        if let timer { server.loop.cancel(timer) }
        timer = nil
        watch?.cancel()
        watch = nil
    }

    /// HTTP is over, the response sent.
    func hand(over handle: OpaquePointer, received: [UInt8]) {
        guard let upgrade, !server.isStopping,
            let stream = server.upgraded(socket, received: received, whenClosed: { cw_mhd_close_upgraded(handle) })
        else { return cw_mhd_close_upgraded(handle) }
        self.upgrade = nil
        // Whoever has the stream looks after it.
        watch?.cancel()
        watch = nil
        upgrade(stream)
    }

    /// More of a stream is wanted.
    ///
    /// - Returns: how many bytes there are, 0 when the connection was suspended, or one of libmicrohttpd's codes.
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
            // It had more while it was asked: it is asked again in the next turn, as one that always has would not let go.
            if isResumed { resume() }
            return 0
        case .end: return Self.endOfStream
        case .broken(let byReset):
            if byReset { cw_mhd_reset(socket) }
            return Self.endWithError
        }
    }

    /// MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, macros with a cast.
    private static let endOfStream = -1
    static let endWithError = -2

    // MARK: Waiting

    private func suspend() {
        MHD_suspend_connection(handle)
        isSuspended = true
        deadline = nil
        if hasEnded { server.loop.schedule(after: .zero) { [weak self] in self?.noteEnd() } }
    }

    /// Has libmicrohttpd ask again; nothing happens when the connection is not suspended.
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

    /// What a promise came to.
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

    /// Why a request is not looked at any further; nil when it is.
    private func refusal(version: String) -> HTTPResponse? {
        if isSurplus { return Self.tooMany }
        if let fault = request.settle(version: version) { return .refusal(fault.status, fault.message) }
        // One that is no number was refused before.
        guard let announced = request["Content-Length"] else { return nil }
        return Int(announced) ?? .max > server.limits.body ? bodyRefusal : nil
    }

    private static var tooMany: HTTPResponse {
        .refusal(503, "too many connections", [HTTPField("Retry-After", "1")] + lastField)
    }

    /// What libmicrohttpd takes for its record of a field, a parameter or a cookie, rounded up.
    private static let record = 64

    /// Why a head is refused for its form or its length; nil when it is not. Where libmicrohttpd keeps heads and answers there
    /// may be no room left for what to say then.
    private func refusal(
        ofHead head: UnsafeRawBufferPointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>,
        hasZero: Bool
    ) -> HTTPResponse? {
        // The words of the first line follow each other: a byte 0 in one of them would end it, and hide its rest.
        guard !hasZero, let target = targetPlace, let start = target.baseAddress,
            start == UnsafeRawPointer(method) + strlen(method) + 1,
            UnsafeRawPointer(version) == start + target.count + 1
        else { return .refusal(400, "a head has no byte 0, and single blanks in its first line", Self.lastField) }
        let firstLine = UnsafeRawPointer(version) - UnsafeRawPointer(method) + strlen(version)
        let cookies = request.fields.lazy.filter { $0.name.isSame(as: "Cookie") }.map(\.value.utf8)
        let cookieMemory = cookies.reduce(0) { memory, cookies in
            memory + cookies.count + (cookies.count { $0 == UInt8(ascii: ";") } + 1) * Self.record
        }
        let fieldMemory = head.count - target.count + request.fields.count * Self.record
        guard head.count - firstLine - 4 <= server.limits.fields,
            targetMemory + fieldMemory + cookieMemory <= mostHead
        else {
            return .refusal(431, "a request has \(server.limits.fields) bytes of fields at the most", Self.lastField)
        }
        return nil
    }

    /// What a head may take of the connection's memory, so that there is room for that of the answer.
    private var mostHead: Int { server.limits.memory / 4 * 3 }

    private static let lastField = [HTTPField("Connection", "close")]

    private var bodyRefusal: HTTPResponse {
        let message = "a body has \(server.limits.body) bytes at the most"
        return .refusal(413, message, Self.lastField)
    }

    /// Goes through the header fields, which are libmicrohttpd's memory until now.
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
        if case .connection(let take) = response.body { return lend(response.status, fields, take) }
        guard let made = make(response.body) else { return .NO }
        defer { MHD_destroy_response(made) }
        // In chunks it would have the last one, of no bytes, behind its head.
        if isForHead, let stream, stream.size == nil { cw_mhd_end_with(made) }
        for field in fields { MHD_add_response_header(made, field.name, field.value) }
        return MHD_queue_response(handle, UInt32(response.status), made)
    }

    /// Gives the connection to whoever answers by it; libmicrohttpd has it suspended until that is over.
    private func lend(
        _ status: Int, _ fields: [HTTPField], _ take: (any WatchedStream, [UInt8]) -> Void
    ) -> MHD_Result {
        guard let stream = server.upgraded(socket, whenClosed: { [unowned self] in leave() }) else { return .NO }
        close()
        isLent = true
        suspend()
        take(stream, Self.head(status, fields + Self.lastField))
        return .YES
    }

    private static func head(_ status: Int, _ fields: [HTTPField]) -> [UInt8] {
        let date = HTTPField("Date", HTTPDate.text(of: SystemWallClock().now))
        var head = "HTTP/1.1 \(status) \(String(cString: MHD_get_reason_phrase_for(UInt32(status))))\r\n"
        for field in [date] + fields { head += "\(field.name): \(field.value)\r\n" }
        return Array("\(head)\r\n".utf8)
    }

    /// Sends a short answer behind what was sent before, without libmicrohttpd; as far as there is room for it.
    private func sendAtOnce(_ response: HTTPResponse) {
        guard case .bytes(let body) = response.body else { return }
        let length = HTTPField("Content-Length", "\(body.count)")
        let bytes = Self.head(response.status, response.fields + server.fields + [length]) + (isForHead ? [] : body)
        _ = bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
    }

    /// Has libmicrohttpd ask for an answer, and find that nobody waits for one.
    private func leave() {
        hasLeft = true
        resume()
    }

    private func make(_ body: HTTPResponse.Body) -> OpaquePointer? {
        switch body {
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bytes in
                // The library copies the bytes and does not write to them.
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_MUST_COPY)
            }
        case .memory(let bytes, let owner):
            // The library does not write to them here either.
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
            // Never called again once the connection was told that the request is over.
            return MHD_create_response_from_callback(
                size, Self.block(of: stream), fillFromStream, Unmanaged.passUnretained(self).toOpaque(), nil)
        case .upgrade(let upgrade):
            self.upgrade = upgrade
            return MHD_create_response_for_upgrade(handOver, nil)
        case .connection: return nil
        }
    }

    /// How much of a stream is asked for at once. One without a size is asked for what is left of the connection's memory
    /// instead, but to HTTP/1.0; the block is there nevertheless, for as long as the stream.
    private static func block(of stream: HTTPStream) -> Int { stream.size == nil ? 2 << 10 : 16 << 10 }
}
