internal import CCurl
internal import Feed
internal import Glibc
package import Reactor

/// HTTP through libcurl's multi interface on the loop: libcurl says which sockets and which timeout to watch, and is
/// called when they are ready.
///
/// One for the whole agent, so that connections, names and TLS sessions are shared. It must outlive its requests.
/// (libcurl-multi(3), section "MULTI_SOCKET".)
package actor CurlTransport: HTTPTransport {
    let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let multi: MultiHandle
    private var watches: [curl_socket_t: Watch] = [:]
    private var timer: LoopTimer?
    /// When libcurl wants to be called; nil when it does not. The timer may be set for earlier.
    private var deadline: LoopInstant?
    /// The handles that libcurl works on.
    private var running: [UnsafeMutableRawPointer: EasyHandle] = [:]
    /// Handles to reuse: creating one costs more than a small request.
    private var idle: [EasyHandle] = []

    // Bound: idle libcurl handles | 8 | further ones are freed
    private static let mostIdle = 8
    // Bound: open connections that libcurl keeps for further requests | 256, some 50 KiB each with TLS | libcurl closes
    //   the oldest
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
        guard Self.isInitialised, let multi = MultiHandle() else {
            throw SystemError(code: ENOMEM, call: "curl_multi_init")
        }
        self.multi = multi
        _ = cw_set_multi_number(multi.pointer, CURLMOPT_MAXCONNECTS, Self.mostConnections)
        // Unretained: libcurl calls back only within calls from this actor.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = cw_set_socket_callback(multi.pointer, curlSocketChanged, context)
        _ = cw_set_timer_callback(multi.pointer, curlTimerChanged, context)
    }

    /// curl_global_init(3), once.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The number of requests in progress, and of idle handles.
    package var underWay: Int { running.count }
    package var idleHandles: Int { idle.count }

    /// Follows redirects itself, to http and https only: secrets (headers, the client's certificate) go only to the
    /// request's own origin, which libcurl ensures only for `Authorization`.
    package func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        let start = loop.clock.now
        var hop = request
        var spent = 0.0
        for redirects in 0... {
            var answer = try await perform(hop, spent: spent, isRedirected: redirects > 0)
            guard let target = answer.redirect else {
                answer.timing.total += spent
                if redirects > 0 { answer.location = hop.url }
                return answer
            }
            spent += answer.timing.total
            answer.timing.total = spent
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
        }
        throw HTTPFailure(.internal, "redirects without end")  // the range above has no end
    }

    /// Makes one request without following redirects.
    ///
    /// - Parameter spent: milliseconds that earlier redirects have taken.
    private func perform(
        _ request: HTTPRequest, spent: Double, isRedirected: Bool
    ) async throws(HTTPFailure) -> HTTPAnswer {
        guard let handle = removeIdle(for: request) ?? EasyHandle() else {
            throw HTTPFailure(.internal, "there is no memory for another request")
        }
        try handle.prepare(request, isRedirected: isRedirected)
        guard let code = await run(handle) else { throw HTTPFailure(.closed, "the request was cancelled") }
        guard code == CURLE_OK else {
            // The handle is not reused: after some failures libcurl accepts no more options for it.
            var failure = handle.failure(code, of: request)
            failure.begun?.timing.total += spent
            throw failure
        }
        if idle.count < Self.mostIdle { idle.append(handle) }
        return handle.answer()
    }

    /// Returns an idle handle, preferably one with this request's options.
    private func removeIdle(for request: HTTPRequest) -> EasyHandle? {
        guard let index = idle.lastIndex(where: { $0.request == request }) else { return idle.popLast() }
        return idle.remove(at: index)
    }

    /// Lets libcurl work on a handle, and waits for the result.
    ///
    /// - Returns: nil when the task was cancelled.
    func run(_ handle: EasyHandle) async -> CURLcode? {
        handle.uses += 1
        let use = handle.uses
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
                handle.continuation = continuation
                running[handle.pointer] = handle
                curl_multi_add_handle(multi.pointer, handle.pointer)
            }
        } onCancel: {
            loop.post { self.assumeIsolated { if handle.uses == use { $0.end(handle, nil) } } }
        }
    }

    /// Resumes the task that waits for a handle, if there is one.
    private func end(_ handle: EasyHandle, _ code: CURLcode?) {
        guard let continuation = handle.continuation.take() else { return }
        running[handle.pointer] = nil
        // An open connection is found through its handle, which stays for that.
        if code != CURLE_OK || !handle.isConnectOnly { curl_multi_remove_handle(multi.pointer, handle.pointer) }
        continuation.resume(returning: code)
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
            self?.assumeIsolated { $0.socketIsReady(socket, readiness) }
        }
    }

    /// libcurl changes its timeout several times a request: a timer that is too early stays, and reschedules itself
    /// when it fires.
    fileprivate func timerChanged(_ milliseconds: Int) {
        guard milliseconds >= 0 else {
            deadline = nil
            return
        }
        let wanted = loop.clock.now.advanced(by: .milliseconds(milliseconds))
        deadline = wanted
        if let timer {
            if timer.deadline <= wanted { return }
            loop.cancel(timer)
        }
        setTimer(at: wanted)
    }

    private func setTimer(at wanted: LoopInstant) {
        timer = loop.schedule(at: wanted) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    private func timerFired() {
        timer = nil
        guard let deadline else { return }
        guard deadline <= loop.clock.now else { return setTimer(at: deadline) }
        self.deadline = nil
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
        _ = curl_multi_socket_action(multi.pointer, socket, mask, &count)
        var code = CURLE_OK
        while let key = cw_next_finished(multi.pointer, &code) {
            if let handle = running[key] { end(handle, code) }
        }
    }
}

/// Owns a multi handle.
final class MultiHandle: @unchecked Sendable {  // used only by the actor that owns it
    let pointer: UnsafeMutableRawPointer

    init?() {
        guard let pointer = curl_multi_init() else { return nil }
        self.pointer = pointer
    }

    deinit {
        // The actor is gone, so libcurl must not call back.
        _ = cw_set_socket_callback(pointer, nil, nil)
        _ = cw_set_timer_callback(pointer, nil, nil)
        curl_multi_cleanup(pointer)
    }
}

/// libcurl calls this within calls that the transport makes on its loop.
private func curlSocketChanged(
    _: UnsafeMutableRawPointer?, socket: curl_socket_t, what: Int32, context: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let transport = Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
    transport.assumeIsolated { $0.socketChanged(socket, what) }
    return 0
}

/// libcurl calls this within calls that the transport makes on its loop.
private func curlTimerChanged(
    _: UnsafeMutableRawPointer?, milliseconds: Int, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let transport = Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
    transport.assumeIsolated { $0.timerChanged(milliseconds) }
    return 0
}
