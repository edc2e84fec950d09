internal import CCurl
internal import Feed
internal import Glibc
package import Reactor

/// HTTP through libcurl's multi interface on the loop: libcurl says which sockets and which timeout to watch, and is
/// called when they are ready.
///
/// One for the whole agent, so that connections, names and TLS sessions are shared. It must outlive its requests.
/// (libcurl-multi(3), section "MULTI_SOCKET".)
///
/// No actor: libcurl's callbacks would have to prove each time that they are on its loop.
package final class CurlTransport: HTTPTransport, @unchecked Sendable {  // used on its loop only, which `run` checks
    let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    private var watches: [curl_socket_t: Watch] = [:]
    private var timer: LoopTimer?
    /// When libcurl wants to be called; nil when it does not. The timer may be set for earlier.
    private var deadline: LoopInstant?
    /// The handles that libcurl works on.
    private var running: [UnsafeMutableRawPointer: EasyHandle] = [:]
    /// Handles to reuse: creating one costs more than a small request.
    private var idle: [EasyHandle] = []

    // Bound: idle libcurl handles | 8 | freed
    private static let mostIdle = 8
    // Bound: connections that libcurl keeps open | 256, some 50 KiB each with TLS | libcurl closes the oldest
    /// By default libcurl keeps four for every request *in progress*, so that a few sources polled in turn would
    /// reconnect for each poll.
    private static let mostConnections = 256

    private static let readBit = Readiness.read.rawValue
    private static let writeBit = Readiness.write.rawValue
    private static let errorBit = Readiness.error.rawValue
    private static let inputBits = readBit | Readiness.readHangUp.rawValue | Readiness.hangUp.rawValue

    /// - Throws: `SystemError` when libcurl cannot be initialised.
    package init(on loop: EventLoop) throws(SystemError) {
        self.loop = loop
        guard Self.isInitialised, let multi = curl_multi_init() else {
            throw SystemError(code: ENOMEM, call: "curl_multi_init")
        }
        self.multi = multi
        _ = cw_set_multi_number(multi, CURLMOPT_MAXCONNECTS, Self.mostConnections)
        // Unretained: libcurl calls back only within calls from here.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = cw_set_socket_callback(multi, curlSocketChanged, context)
        _ = cw_set_timer_callback(multi, curlTimerChanged, context)
    }

    deinit {
        _ = cw_set_socket_callback(multi, nil, nil)
        _ = cw_set_timer_callback(multi, nil, nil)
        curl_multi_cleanup(multi)
    }

    /// curl_global_init(3), once.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The number of requests in progress, and of idle handles.
    package var underWay: Int { running.count }
    package var idleHandles: Int { idle.count }

    package func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        let start = loop.clock.now
        let answer = try await perform(request)
        guard answer.redirect != nil else { return answer }
        return try await follow(answer, of: request, since: start)
    }

    /// Follows redirects itself, to http and https only: secrets (headers, the client's certificate) go only to the
    /// request's own origin, which libcurl ensures only for `Authorization`.
    private func follow(
        _ first: HTTPAnswer, of request: HTTPRequest, since start: LoopInstant
    ) async throws(HTTPFailure) -> HTTPAnswer {
        var (answer, hop) = (first, request)
        var redirects = 0
        while let target = answer.redirect {
            guard redirects < request.maxRedirects else {
                let message = "\(hop.endpoint.authority) redirected more than \(request.maxRedirects) times"
                throw HTTPFailure(.redirect, message, begun: (answer.status, answer.timing))
            }
            let next = hop.redirected(to: target, timeLeft: request.timeout - start.duration(to: loop.clock.now))
            guard request.origins?.contains(next.endpoint.origin.lowercased()) ?? true else {
                let message = "\(hop.endpoint.authority) redirects to \(next.endpoint.isElsewhere)"
                throw HTTPFailure(.redirect, message, begun: (answer.status, answer.timing))
            }
            hop = next
            redirects += 1
            answer = try await perform(hop, spent: answer.timing.total)
            answer.location = hop.url
        }
        return answer
    }

    /// Makes one request without following redirects.
    ///
    /// - Parameter spent: milliseconds that earlier redirects have taken; nil when there were none.
    private func perform(_ request: HTTPRequest, spent: Double? = nil) async throws(HTTPFailure) -> HTTPAnswer {
        let handle = try await run(request, on: removeIdle(for: request) ?? EasyHandle(), spent: spent)
        if idle.count < Self.mostIdle { idle.append(handle) }
        return handle.answer()
    }

    /// Makes a request on a handle (nil: there is no memory for one), and waits for the whole answer, for the connection
    /// or for the body's first bytes, whichever the handle is made for. After a failure it is not used again: after some
    /// of them libcurl accepts no more options.
    func run(
        _ request: HTTPRequest, on handle: EasyHandle?, spent: Double? = nil
    ) async throws(HTTPFailure) -> EasyHandle {
        guard let handle else { throw HTTPFailure(.internal, "there is no memory for another request") }
        try handle.prepare(request, spent: spent)
        guard let code = await run(handle) else { throw HTTPFailure(.closed, "the request was cancelled") }
        guard code == CURLE_OK else { throw handle.failure(code, of: request) }
        return handle
    }

    /// Returns an idle handle, preferably one with this request's options.
    private func removeIdle(for request: HTTPRequest) -> EasyHandle? {
        guard let index = idle.lastIndex(where: { $0.request == request }) else { return idle.popLast() }
        return idle.remove(at: index)
    }

    /// Lets libcurl work on a handle, and waits for the result.
    ///
    /// - Parameter isolation: see `Wakeup.wait`.
    /// - Returns: nil when the task was cancelled.
    private func run(_ handle: EasyHandle, isolation: isolated (any Actor)? = #isolation) async -> CURLcode? {
        loop.preconditionOnLoop()
        handle.uses += 1
        let use = handle.uses
        return await withTaskCancellationHandler {
            _ = isolation
            return await withUnsafeContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
                handle.continuation = continuation
                running[handle.pointer] = handle
                curl_multi_add_handle(multi, handle.pointer)
                // Instead of by the timer that libcurl wants for that, a turn of the loop later.
                timedOut()
            }
        } onCancel: {
            loop.post { if handle.uses == use { self.end(handle, nil) } }
        }
    }

    /// Ends a handle's request, unless it has ended; nil gives it up.
    func end(_ handle: EasyHandle, _ code: CURLcode?) {
        guard running.removeValue(forKey: handle.pointer) != nil else { return }
        // An open connection is found through its handle, which stays for that.
        if code != CURLE_OK || !handle.isConnectOnly { remove(handle) }
        handle.end(code)
    }

    /// Lets libcurl go on with a body that it holds back.
    func resume(_ handle: EasyHandle) {
        curl_easy_pause(handle.pointer, CURLPAUSE_CONT)
        setTimer()
    }

    /// Takes a handle from libcurl, which closes the connection that it made if it is for one only.
    func remove(_ handle: EasyHandle) {
        curl_multi_remove_handle(multi, handle.pointer)
        setTimer()
    }

    // MARK: What the library waits for

    fileprivate func socketChanged(_ socket: curl_socket_t, _ what: Int32) {
        if what == CURL_POLL_REMOVE {
            watches.removeValue(forKey: socket)?.cancel()
            return
        }
        // Plain integers, as set algebra is not specialised across modules.
        let read = what & CURL_POLL_IN != 0 ? Self.readBit : 0
        let write = what & CURL_POLL_OUT != 0 ? Self.writeBit : 0
        let interest = Readiness(rawValue: read | write)
        if let watch = watches[socket] {
            if (try? watch.update(interest)) != nil { return }
            watch.cancel()  // libcurl closed and reopened it without telling
        }
        watches[socket] = try? loop.watch(socket, interest: interest) { [weak self] readiness in
            self?.socketIsReady(socket, readiness)
        }
    }

    fileprivate func timerChanged(_ milliseconds: Int) {
        deadline = milliseconds < 0 ? nil : loop.clock.now.advanced(by: .milliseconds(milliseconds))
    }

    /// Sets the timer for libcurl's timeout. One that is too early stays, and sets itself again when it fires: libcurl
    /// changes its timeout several times a request.
    private func setTimer() {
        guard let deadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            loop.cancel(timer)
        }
        timer = loop.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            timer = nil
            if let deadline = self.deadline, deadline <= loop.clock.now { timedOut() } else { setTimer() }
        }
    }

    /// Lets libcurl do what its timeouts ask for.
    private func timedOut() {
        deadline = nil
        act(on: CURL_SOCKET_TIMEOUT, 0)
    }

    private func socketIsReady(_ socket: curl_socket_t, _ readiness: Readiness) {
        var mask: Int32 = 0
        if readiness.rawValue & Self.inputBits != 0 { mask |= CURL_CSELECT_IN }
        if readiness.rawValue & Self.writeBit != 0 { mask |= CURL_CSELECT_OUT }
        if readiness.rawValue & Self.errorBit != 0 { mask |= CURL_CSELECT_ERR }
        act(on: socket, mask)
    }

    private func act(on socket: curl_socket_t, _ mask: Int32) {
        var count: Int32 = 0
        _ = curl_multi_socket_action(multi, socket, mask, &count)
        var code = CURLE_OK
        while let key = cw_next_finished(multi, &code) {
            if let handle = running[key] { end(handle, code) }
        }
        setTimer()
    }
}

/// libcurl calls this within calls that the transport makes on its loop.
private func curlSocketChanged(
    _: UnsafeMutableRawPointer?, socket: curl_socket_t, what: Int32, context: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue().socketChanged(socket, what)
    return 0
}

/// libcurl calls this within calls that the transport makes on its loop.
private func curlTimerChanged(
    _: UnsafeMutableRawPointer?, milliseconds: Int, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue().timerChanged(milliseconds)
    return 0
}
