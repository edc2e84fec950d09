internal import CMicroHTTPD
internal import Glibc
package import Reactor

/// An HTTP/1.1 server on a loop: libmicrohttpd without a thread, its epoll descriptor watched by the loop, with one
/// timer for all timeouts.
///
/// Everything in it, including the handler and the producers of streams, runs on the loop's thread. It is not
/// `Sendable`: only the actor that owns it can use it. It needs a loop in real time, because libmicrohttpd has its own
/// clock.
package final class HTTPServer {
    /// Decides how to answer a request. It must not wait, and not stop the server.
    package typealias Handler = (HTTPRequest) -> HTTPReply

    /// The limits for clients.
    package struct Limits: Sendable {
        // Bound: connections of an HTTP server | 1,024 by default, and 16 being refused | 503 to who has waited longest
        //   for a request, else to the new one
        /// The most connections at once, including waiting streams and upgraded ones.
        package var connections = 1_024
        /// The most connections from one IPv4 address or one IPv6 network of 64 bits; more are closed at once without
        /// an answer. 0 for no limit. Connections from loopback and through Unix sockets, where a proxy may be, are not
        /// counted.
        package var connectionsPerAddress = 0
        // Body of a request: 64 KiB; 413: at once if its length is announced, else after it came.
        /// The most bytes of a request's body.
        package var body = 64 << 10
        // Target of a request; its header fields: 8 KiB each; 414; 431.
        /// The most bytes of a request's target.
        package var target = 8 << 10
        /// The most bytes of all header fields of a request.
        package var fields = 8 << 10
        // Bound: head of a request, with libmicrohttpd's records | three quarters of the connection's 32 KiB | 431 or
        //   414
        /// The bytes of memory per connection, for the head of a request; the rest is for an answer's head and the
        /// pieces of a stream without a size.
        package var memory = 32 << 10
        // Time for the head of a request, from the connection's start or its first byte: 10 s; connection closed.
        /// How long the head of a request may take.
        package var head = Duration.seconds(10)
        // Time for a body, until a further request, or without the client taking anything: 60 s; connection closed.
        /// The longest such wait; in whole seconds, unless the response is a stream.
        package var patience = Duration.seconds(60)

        /// The `patience` set for libmicrohttpd, rounded up, so that streams are ended by us.
        var wholePatience: UInt32 { UInt32(clamping: max(1, Int((patience / .seconds(1)).rounded(.up)))) }

        package init() {}
    }

    /// The connections beyond `Limits.connections` that get a refusal.
    package static let surplus = 16

    let loop: EventLoop
    let limits: Limits
    let handler: Handler
    /// Fields added to every answer that is not `isWhole`; its own fields of the same name take precedence.
    package var fields: [HTTPField] = []
    /// The port of the listening socket; 0 for a socket without one.
    package private(set) var port: UInt16 = 0
    private(set) var isStopping = false
    private var daemon: OpaquePointer?
    private var watch: Watch?
    private var timer: LoopTimer?
    /// Set when a turn is scheduled at once.
    private var soon: LoopTimer?
    private var isInTurn = false
    /// The number of connections opened so far.
    private var openedCount = 0
    private var pause: LoopTimer?
    /// The number of turns so far.
    private(set) var turns = 0
    /// The number of connections by peer, and the peer of the connection that is being accepted.
    private var peers: [HTTPPeer: Int] = [:]
    private var admitted: HTTPPeer?
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// The number of connections that gave way and are about to be closed.
    private var leavingCount = 0
    private var upgradedStreams: [ObjectIdentifier: UpgradedStream] = [:]

    /// Starts serving.
    ///
    /// - Parameter socket: a listening socket with any kind of address (`StreamSocket.listening`), or one opened by
    ///   another process. `O_NONBLOCK` is set on it. `stop` closes it, as does a failed start.
    /// - Throws: `EINVAL` when the socket does not listen, `EMFILE`.
    package init(
        on loop: EventLoop, listeningAt socket: consuming Descriptor, limits: Limits = Limits(),
        handler: @escaping Handler
    ) throws(SystemError) {
        loop.preconditionOnLoop()
        precondition(!loop.clock.isVirtual, "libmicrohttpd does not follow a virtual clock")
        self.loop = loop
        self.limits = limits
        self.handler = handler
        let number = socket.number
        var isListening: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try systemCall("getsockopt") { getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) }
        guard isListening != 0 else { throw SystemError(code: EINVAL, call: "accept") }
        errno = 0
        daemon = cw_mhd_start(
            socket.release(),
            cw_mhd_limits(
                connections: UInt32(limits.connections + Self.surplus), seconds: limits.wholePatience,
                memory: limits.memory),
            admit, handleAccess, handleTarget, handleEnd, handleConnection, Unmanaged.passUnretained(self).toOpaque())
        guard let daemon else { throw SystemError(code: errno == 0 ? EINVAL : errno, call: "MHD_start_daemon") }
        port = cw_mhd_port(daemon)
        do throws(SystemError) {
            watch = try loop.watch(cw_mhd_epoll(daemon), interest: .read) { [unowned self] _ in
                let (wasIdle, before) = (connections.isEmpty, openedCount)
                turn()
                if wasIdle, openedCount == before { pauseWithoutRoom() }
            }
        } catch {
            MHD_stop_daemon(daemon)
            self.daemon = nil
            throw error
        }
        arm()
    }

    deinit { precondition(daemon == nil, "stop the server before letting go of it") }

    /// The number of open connections, including upgraded ones.
    package var connectionCount: Int { connections.count }

    /// Stops listening and closes every connection at once; must be called before the server is released. Can be called
    /// repeatedly, but not by the handler or a producer.
    package func stop() {
        loop.preconditionOnLoop()
        guard let daemon, !isStopping else { return }
        precondition(!isInTurn, "a server cannot be stopped by its handler")
        isStopping = true
        for stream in Array(upgradedStreams.values) { stream.close() }
        watch?.cancel()
        for timer in [timer, soon, pause] { if let timer { loop.cancel(timer) } }
        // A daemon must not be stopped with suspended connections: they resume and find the server stopping.
        for connection in connections.values { connection.resume() }
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }

    /// Accepts the connections that wait in the kernel's queue, up to the limit, and reads their requests: for a server
    /// that is about to stop, which would reset them. Must not be called by the handler or a producer.
    package func answerWhoWaits() {
        loop.preconditionOnLoop()
        let most = openedCount + limits.connections
        var before: Int
        repeat {
            before = openedCount
            turn()
        } while before < openedCount && openedCount < most
        // The requests of the last connections are read in the next turn.
        turn()
    }

    // MARK: Turns

    /// Schedules a turn at once; needed after resuming, which does not make the epoll descriptor ready.
    func turnSoon() {
        guard soon == nil, !isStopping else { return }
        soon = loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            soon = nil
            turn()
        }
    }

    private func turn() {
        guard let daemon else { return }
        isInTurn = true
        turns += 1
        MHD_run(daemon)
        isInTurn = false
        arm()
    }

    /// Pauses accepting: without a free descriptor for its first connection, libmicrohttpd would retry in every turn.
    private func pauseWithoutRoom() {
        try? watch?.update([])
        pause = loop.schedule(after: .milliseconds(100)) { [unowned self] in
            pause = nil
            try? watch?.update(.read)
        }
    }

    /// Schedules a turn for libmicrohttpd's next timeout, which must be queried before every wait.
    private func arm() {
        var milliseconds: UInt64 = 0
        guard let daemon, MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
        let deadline = loop.clock.now.advanced(by: .milliseconds(milliseconds))
        if let timer {
            // A timer that is too early is harmless and saves setting a new one in every turn.
            if timer.deadline <= deadline { return }
            loop.cancel(timer)
        }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            turn()
        }
    }

    // MARK: Connections

    /// Whether a client may open another connection; called right before it is accepted.
    fileprivate func admits(_ peer: HTTPPeer?) -> Bool {
        admitted = peer
        guard let peer, limits.connectionsPerAddress > 0 else { return true }
        return peers[peer, default: 0] < limits.connectionsPerAddress
    }

    fileprivate func opened(_ handle: OpaquePointer) -> HTTPConnection {
        if connections.count - leavingCount >= limits.connections,
            let longest = connections.values.lazy.filter(\.mayGiveWay).min(by: { $0.awaitedSince < $1.awaitedSince })
        {
            leavingCount += 1
            longest.giveWay()
        }
        let connection = HTTPConnection(
            handle, of: self, from: admitted, isSurplus: connections.count - leavingCount >= limits.connections)
        connections[ObjectIdentifier(connection)] = connection
        openedCount += 1
        if let admitted { peers[admitted, default: 0] += 1 }
        return connection
    }

    fileprivate func closed(_ connection: HTTPConnection) {
        // After reaching its limit, or without free descriptors, libmicrohttpd listens again only in its next turn.
        turnSoon()
        connection.close()
        if connection.hasGivenWay { leavingCount -= 1 }
        connections[ObjectIdentifier(connection)] = nil
        guard let peer = connection.peer, let count = peers[peer] else { return }
        peers[peer] = count > 1 ? count - 1 : nil
    }

    /// - Returns: nil when there is no free descriptor.
    func upgraded(_ socket: Int32, received: [UInt8] = [], whenClosed: @escaping () -> Void) -> UpgradedStream? {
        let stream = try? UpgradedStream(socket, received: received, on: loop) { [unowned self] stream in
            upgradedStreams[ObjectIdentifier(stream)] = nil
            whenClosed()
            turnSoon()
        }
        if let stream { upgradedStreams[ObjectIdentifier(stream)] = stream }
        return stream
    }
}

// Callbacks of libmicrohttpd. Plain functions: a closure in an isolated context would be isolated too, and trap. Every
// pointer to a server was passed along with the callback, every pointer to a connection comes from `handleConnection`;
// both are alive, because the server holds its connections and stops before it is released.

private func server(_ context: UnsafeMutableRawPointer) -> HTTPServer {
    Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
}

private func connection(_ context: UnsafeMutableRawPointer) -> HTTPConnection {
    Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
}

/// A client has connected.
private func admit(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t
) -> MHD_Result {
    guard let context else { return .NO }
    return server(context).admits(HTTPPeer(UnsafeRawBufferPointer(start: address, count: Int(length)))) ? .YES : .NO
}

/// A connection was opened, or is about to be closed.
private func handleConnection(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ kept: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_ConnectionNotificationCode
) {
    guard let context, let handle, let kept else { return }
    if code == .CONNECTION_NOTIFY_STARTED {
        kept.pointee = Unmanaged.passUnretained(server(context).opened(handle)).toOpaque()
    } else if let pointer = kept.pointee {
        kept.pointee = nil
        server(context).closed(connection(pointer))
    }
}

/// A request line came: the result is passed as `state` to all later calls.
private func handleTarget(
    _: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let target, let handle, let pointer = cw_mhd_kept(handle) else { return nil }
    connection(pointer).begin(target)
    return pointer
}

/// The header fields came, a piece of the body, or its end; or the request was suspended.
private func handleAccess(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ piece: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let method, let version, let size, let pointer = state?.pointee else { return .NO }
    let bytes = UnsafeRawBufferPointer(start: piece, count: piece == nil ? 0 : size.pointee)
    size.pointee = 0
    return connection(pointer).advance(method: method, version: version, piece: bytes)
}

/// A request is over, for any reason.
private func handleEnd(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_RequestTerminationCode
) {
    guard let pointer = state?.pointee else { return }
    state?.pointee = nil
    connection(pointer).finish(isComplete: code == .REQUEST_TERMINATED_COMPLETED_OK)
}

/// A stream needs more bytes.
func fillFromStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
    guard let context else { return HTTPConnection.endWithError }
    return connection(context).fill(UnsafeMutableRawBufferPointer(start: buffer, count: room), at: Int(position))
}

/// The 101 response was sent.
func handOver(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutableRawPointer?, _ extra: UnsafePointer<CChar>?,
    _ extraSize: Int, _: MHD_socket, _ handle: OpaquePointer?
) {
    guard let state, let handle else { return }
    let received = UnsafeRawBufferPointer(start: extra, count: extra == nil ? 0 : extraSize)
    connection(state).hand(over: handle, received: Array(received))
}
