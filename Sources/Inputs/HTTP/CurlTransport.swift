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
    private var hasCallbacks = false
    private var watches: [curl_socket_t: Watch] = [:]
    private var timer: LoopTimer?
    /// When libcurl wants to be called; nil when it does not. The timer may be set for earlier.
    private var deadline: LoopInstant?
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Connection attempts without a request; see `connect`.
    var connecting: [UnsafeMutableRawPointer: CurlConnect] = [:]
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
    }

    /// curl_global_init(3), once.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The number of requests in progress, and of idle handles.
    package var underWay: Int { transfers.count }
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
            hop = hop.redirected(to: target, timeLeft: request.timeout - start.duration(to: loop.clock.now))
        }
        throw HTTPFailure(.internal, "redirects without end")  // the range above has no end
    }

    /// Makes one request without following redirects.
    ///
    /// - Parameter spent: milliseconds that earlier redirects have taken.
    private func perform(
        _ request: HTTPRequest, spent: Double, isRedirected: Bool
    ) async throws(HTTPFailure) -> HTTPAnswer {
        installCallbacks()
        guard let handle = takeIdle(for: request) ?? EasyHandle() else {
            throw HTTPFailure(.internal, "there is no memory for another request")
        }
        let transfer = CurlTransfer(request, handle: handle, isRedirected: isRedirected)
        if let problem = transfer.configure() { throw problem }
        let address = UInt(bitPattern: handle.pointer)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: CurlTransfer.cancelled)
                } else {
                    transfer.continuation = continuation
                    transfers[handle.pointer] = transfer
                    curl_multi_add_handle(multi.pointer, handle.pointer)
                }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { $0.cancel(transfer, address) } }
        }
        switch result {
        case .success(let answer):
            if idle.count < Self.mostIdle { idle.append(handle) }
            return answer
        case .failure(var failure):
            // The handle is not reused: after some failures libcurl accepts no more options for it.
            failure.begun?.timing.total += spent
            throw failure
        }
    }

    /// Returns an idle handle, preferably one with this request's options.
    private func takeIdle(for request: HTTPRequest) -> EasyHandle? {
        guard let index = idle.lastIndex(where: { $0.request == request }) else { return idle.popLast() }
        return idle.remove(at: index)
    }

    private func cancel(_ transfer: CurlTransfer, _ address: UInt) {
        // The handle may serve another request by now.
        guard let key = UnsafeMutableRawPointer(bitPattern: address), transfers[key] === transfer else { return }
        finish(transfer, CurlTransfer.cancelled)
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<HTTPAnswer, HTTPFailure>) {
        let key = transfer.handle.pointer
        transfers[key] = nil
        curl_multi_remove_handle(multi.pointer, key)
        transfer.continuation?.resume(returning: result)
        transfer.continuation = nil
    }

    // MARK: What the library waits for

    func installCallbacks() {
        guard !hasCallbacks else { return }
        hasCallbacks = true
        _ = cw_set_multi_number(multi.pointer, CURLMOPT_MAXCONNECTS, Self.mostConnections)
        // Unretained: libcurl calls back only within calls from this actor.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = cw_set_socket_callback(multi.pointer, curlSocketChanged, context)
        _ = cw_set_timer_callback(multi.pointer, curlTimerChanged, context)
    }

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
        var running: Int32 = 0
        _ = curl_multi_socket_action(multi.pointer, socket, mask, &running)
        var code = CURLE_OK
        while let key = cw_next_finished(multi.pointer, &code) {
            guard let transfer = transfers[key] else {
                connectEnded(key, code)
                continue
            }
            finish(transfer, transfer.result(code))
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
