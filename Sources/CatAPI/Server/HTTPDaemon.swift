internal import CMicroHTTPD
internal import Glibc
internal import Reactor
internal import WebSocket

/// libmicrohttpd on a loop: no thread of its own, its epoll descriptor watched by the loop's, one timer for all its times.
///
/// Everything in it, the callbacks included, happens on the loop's thread, because only `MHD_run` calls back and only
/// `turn` calls that. It is not `Sendable`: the actor that holds it is the only way to it.
final class HTTPDaemon {
    let loop: EventLoop
    private(set) var port: UInt16 = 0
    private var daemon: OpaquePointer?
    private var watch: Watch?
    private var timer: LoopTimer?
    private var responder: Responder
    /// Suspended connections that are to go on, the earliest last; there are few, so that a sorted array will do.
    private var waiting: [(deadline: LoopInstant, exchange: Exchange)] = []
    /// Suspended connections that go on only when the server stops.
    private var silent: [Exchange] = []
    /// Connections that have become WebSockets.
    private var sessions: [ObjectIdentifier: AirQualitySession] = [:]
    /// What all of them send that do not ask for a walk of their own, and when its next step is due.
    private var airQuality: AirQuality
    private var nextStep = LoopInstant(nanoseconds: 0)
    private let seed: UInt64
    private(set) var isStopping = false
    private(set) var requests = 0
    private(set) var delays: [Duration] = []

    /// The newest delays that are remembered.
    private static let rememberedDelays = 10_000
    private static let mostConnections: UInt32 = 4_096
    /// Seconds after which an idle connection is closed.
    private static let patience: UInt32 = 120

    /// - Parameter seed: begins the walk of the air quality.
    init(loop: EventLoop, port: UInt16, responder: Responder, seed: UInt64) throws(SystemError) {
        self.loop = loop
        self.seed = seed
        airQuality = AirQuality(seed: seed)
        self.responder = responder
        let context = Unmanaged.passUnretained(self).toOpaque()
        errno = 0
        daemon = cw_mhd_start(
            port, Self.mostConnections, Self.patience, handleAccess, noteTarget, noteCompletion, context)
        guard let daemon else {
            throw SystemError(
                code: errno == 0 ? EINVAL : errno, call: "MHD_start_daemon", subject: "127.0.0.1:\(port)")
        }
        self.port = cw_mhd_port(daemon)
        do throws(SystemError) {
            watch = try loop.watch(cw_mhd_epoll(daemon), interest: .read) { [unowned self] _ in turn() }
        } catch {
            MHD_stop_daemon(daemon)
            self.daemon = nil
            throw error
        }
        arm()
    }

    deinit { precondition(daemon == nil, "stop the server before letting go of it") }

    /// Closes the port and every connection; answers under way are cut off.
    func stop() {
        guard let daemon else { return }
        isStopping = true
        for session in sessions.values { session.close(telling: true) }
        watch?.cancel()
        if let timer { loop.cancel(timer) }
        // A daemon must not be stopped with suspended connections: they go on, to find that it is over.
        for exchange in silent + waiting.map(\.exchange) { MHD_resume_connection(exchange.connection) }
        silent = []
        waiting = []
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }

    // MARK: WebSockets

    var webSockets: Int { sessions.count }

    func add(_ session: AirQualitySession) { sessions[ObjectIdentifier(session)] = session }

    /// Lets go of a session whose connection was given back to libmicrohttpd, which closes it in its next turn.
    func remove(_ session: AirQualitySession) {
        sessions[ObjectIdentifier(session)] = nil
        guard !isStopping else { return }
        loop.schedule(after: .zero) { [weak self] in self?.turn() }
    }

    /// The air as it is in this second.
    func currentWalk() -> AirQuality {
        let now = loop.clock.now
        if nextStep.nanoseconds == 0 { nextStep = now.advanced(by: .seconds(1)) }
        // Not more than a minute is made up for: nobody has seen it.
        nextStep = max(nextStep, now.advanced(by: .seconds(-60)))
        while nextStep <= now {
            airQuality.advance()
            nextStep = nextStep.advanced(by: .seconds(1))
        }
        return airQuality
    }

    /// A walk of one client's own, always the same one.
    func freshWalk() -> AirQuality { AirQuality(seed: seed) }

    // MARK: Turns

    private func turn() {
        guard let daemon else { return }
        let now = loop.clock.now
        while let next = waiting.last, next.deadline <= now {
            waiting.removeLast()
            MHD_resume_connection(next.exchange.connection)
        }
        MHD_run(daemon)  // also needed after resuming, which does not make the epoll descriptor ready
        arm()
    }

    /// Sees to it that there is a turn when libmicrohttpd or a waiting connection wants one.
    private func arm() {
        guard let daemon else { return }
        var deadline = waiting.last?.deadline
        var milliseconds: UInt64 = 0
        if MHD_get_timeout(daemon, &milliseconds) == .YES {
            let wanted = loop.clock.now.advanced(by: .milliseconds(milliseconds))
            deadline = min(deadline ?? wanted, wanted)
        }
        guard let deadline else { return }
        if let timer {
            // One that comes too early does no harm and saves setting a new one in every turn.
            if timer.deadline <= deadline { return }
            loop.cancel(timer)
        }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            turn()
        }
    }

    /// Holds a connection back; nil is until the server stops.
    func suspend(_ exchange: Exchange, until deadline: LoopInstant?) {
        MHD_suspend_connection(exchange.connection)
        guard let deadline else {
            silent.append(exchange)
            return
        }
        let index = waiting.lastIndex { $0.deadline > deadline }.map { $0 + 1 } ?? 0
        waiting.insert((deadline, exchange), at: index)
    }

    // MARK: Answering

    /// Answers a complete request, or has it wait. Called again when it has waited.
    func answer(_ exchange: Exchange, method: UnsafePointer<CChar>) -> MHD_Result {
        guard !isStopping else { return .NO }
        if let reply = exchange.reply { return queue(reply, for: exchange) }
        requests += 1
        exchange.completed = loop.clock.now
        let reply = responder.reply(to: request(of: exchange, method: String(cString: method)))
        exchange.reply = reply
        if reply.delivery == .silence {
            suspend(exchange, until: nil)
            return .YES
        }
        if let delay = reply.delay, delay > .zero {
            suspend(exchange, until: exchange.completed.advanced(by: delay))
            return .YES
        }
        return queue(reply, for: exchange)
    }

    private func request(of exchange: Exchange, method: String) -> Request {
        let host = field("Host", of: exchange) ?? "127.0.0.1:\(port)"
        var request = Request(method, exchange.target, host: host)
        if responder.takesConditions(request.path) {
            request.ifNoneMatch = field("If-None-Match", of: exchange)
            request.ifModifiedSince = field("If-Modified-Since", of: exchange)
        }
        if responder.takesUpgrade(request.path) { request.upgrade = upgrade(of: exchange) }
        return request
    }

    private func upgrade(of exchange: Exchange) -> UpgradeRequest? {
        guard let upgrade = field("Upgrade", of: exchange), Handshake.list(upgrade, names: "websocket"),
            let connection = field("Connection", of: exchange), Handshake.list(connection, names: "upgrade")
        else { return nil }
        return UpgradeRequest(
            key: field("Sec-WebSocket-Key", of: exchange) ?? "",
            version: field("Sec-WebSocket-Version", of: exchange) ?? "",
            subprotocols: field("Sec-WebSocket-Protocol", of: exchange) ?? "")
    }

    private func field(_ name: String, of exchange: Exchange) -> String? {
        MHD_lookup_connection_value(exchange.connection, .HEADER_KIND, name).map { String(cString: $0) }
    }

    private func queue(_ reply: Reply, for exchange: Exchange) -> MHD_Result {
        guard let response = response(to: reply, for: exchange) else { return .NO }
        defer { MHD_destroy_response(response) }
        for field in reply.answer.headers { MHD_add_response_header(response, field.name, field.value) }
        if reply.delay != nil {
            let made = exchange.completed.duration(to: loop.clock.now)
            MHD_add_response_header(response, "X-Delay-Ms", String(made.milliseconds))
            if delays.count == Self.rememberedDelays { delays.removeFirst() }
            delays.append(made)
        }
        return MHD_queue_response(exchange.connection, UInt32(reply.answer.status), response)
    }

    /// The response in the way in which it is to be delivered; nil ends the connection.
    private func response(to reply: Reply, for exchange: Exchange) -> OpaquePointer? {
        let body = reply.answer.body
        switch reply.delivery {
        case .whole:
            return body.withUnsafeBytes { bytes in
                // The library copies the bytes and does not write to them.
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_MUST_COPY)
            }
        case .truncated(let sent): return streamed(exchange, size: UInt64(max(body.count, sent + 1)))
        case .drip: return streamed(exchange, size: UInt64(body.count))
        case .endless: return streamed(exchange, size: .max)  // MHD_SIZE_UNKNOWN: chunked
        case .reset(after: 0):
            _ = cw_mhd_reset(exchange.connection)
            return nil
        case .reset(let after): return streamed(exchange, size: UInt64(max(body.count, after + 1)))
        case .closed, .silence: return nil
        case .webSocket: return MHD_create_response_for_upgrade(noteUpgrade, nil)
        }
    }

    private func streamed(_ exchange: Exchange, size: UInt64) -> OpaquePointer? {
        let context = Unmanaged.passRetained(exchange)
        let response = MHD_create_response_from_callback(size, 65_536, readBody, context.toOpaque(), releaseReader)
        if response == nil { context.release() }
        return response
    }
}
