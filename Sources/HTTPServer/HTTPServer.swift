internal import CMicroHTTPD
internal import Glibc
package import Reactor

/// An HTTP/1.1 server on a loop: libmicrohttpd without a thread, its epoll descriptor watched by the loop's, one timer
/// for all its times.
///
/// Everything in it, the handler and the producers of streams included, happens on the loop's thread. It is not
/// `Sendable`: the actor that holds it is the only way to it. A virtual loop will not do, for libmicrohttpd has a clock
/// of its own.
package final class HTTPServer {
    /// Says what becomes of a request. It must not wait, and not stop the server.
    package typealias Handler = (HTTPRequest) -> HTTPReply

    /// What clients may take.
    package struct Limits: Sendable {
        /// Connections that are served at once, waiting streams and upgraded ones included. For one more, the connection whose
        /// request has been waited for longest gets status 503 and its end; where every other request is under way, the new
        /// one gets that, once it has asked.
        package var connections = 1_024
        /// Connections from one address, or of IPv6 from one network of 64 bits; further ones are closed at once, without an
        /// answer. 0 for as many as there may be. Those from loopback and by Unix sockets, where a proxy may be, are not
        /// counted.
        package var connectionsPerAddress = 0
        /// Bytes of a request's body. A longer one gets status 413: at once when its length is announced, otherwise
        /// when it has come, and was dropped.
        package var body = 64 << 10
        /// Bytes of a request's target; a longer one gets status 414.
        package var target = 8 << 10
        /// Bytes of a request's header fields together; longer ones get status 431.
        package var fields = 8 << 10
        /// Bytes for each connection, of which the head of a request may take three quarters, with what libmicrohttpd keeps of
        /// it: a longer one gets status 431 or 414 likewise. An answer's head, and the pieces of a stream without a size, take
        /// what is left.
        package var memory = 32 << 10
        /// How long the head of a request may take to come: of a connection's first one from its beginning, of a further one
        /// from its first byte. The connection is closed then.
        package var head = Duration.seconds(10)
        /// How long a further request may let itself be waited for, how long a body may take to come, and how long a client
        /// may take nothing of its response (in whole seconds, unless it is a stream); then the connection is closed.
        package var patience = Duration.seconds(60)

        /// What libmicrohttpd knows of it: no less, so that a stream is ended by us.
        var wholePatience: UInt32 { UInt32(clamping: max(1, Int((patience / .seconds(1)).rounded(.up)))) }

        package init() {}
    }

    /// How many connections are there for a refusal besides `Limits.connections`.
    package static let surplus = 16

    let loop: EventLoop
    let limits: Limits
    let handler: Handler
    /// What every answer that is not whole has besides its own fields, which win over these.
    package var fields: [HTTPField] = []
    /// The port it listens on; 0 on a socket that has none.
    package private(set) var port: UInt16 = 0
    private(set) var isStopping = false
    private var daemon: OpaquePointer?
    private var watch: Watch?
    private var timer: LoopTimer?
    /// Set when a turn is due in a moment.
    private var soon: LoopTimer?
    private var isInTurn = false
    /// How many connections were opened.
    private var openedCount = 0
    private var pause: LoopTimer?
    /// How many turns there were.
    private(set) var turns = 0
    /// Peers by how many connections they have, and whose the connection is that is just being let in.
    private var peers: [HTTPPeer: Int] = [:]
    private var admitted: HTTPPeer?
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// How many of these have given way, and are about to be closed.
    private var leavingCount = 0
    private var upgradedStreams: [ObjectIdentifier: UpgradedStream] = [:]

    /// Starts to serve.
    ///
    /// - Parameter socket: one that listens, of any kind of address (`StreamSocket.listening`), or one that another
    ///   process has opened and passed on. `O_NONBLOCK` is set on it. It is closed by `stop`, and when the server
    ///   cannot start.
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
            admit, handleAccess, noteTarget, noteCompletion, noteConnection, Unmanaged.passUnretained(self).toOpaque())
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

    /// Connections that are open, upgraded ones included.
    package var connectionCount: Int { connections.count }

    /// Stops listening and closes every connection at once; has to be called before the server is let go of. Harmless
    /// when repeated; not to be called by the handler or a producer.
    package func stop() {
        loop.preconditionOnLoop()
        guard let daemon, !isStopping else { return }
        precondition(!isInTurn, "a server cannot be stopped by its handler")
        isStopping = true
        for stream in Array(upgradedStreams.values) { stream.close() }
        watch?.cancel()
        for timer in [timer, soon, pause] { if let timer { loop.cancel(timer) } }
        // A daemon must not be stopped with suspended connections: they go on, to find that it is over.
        for connection in connections.values { connection.resume() }
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }

    /// Opens at once the connections that wait in the kernel's queue, as many as there may be, and looks at what they ask: for
    /// a server that is about to stop, which would reset them. Not to be called by the handler or a producer.
    package func answerWhoWaits() {
        loop.preconditionOnLoop()
        let most = openedCount + limits.connections
        var before: Int
        repeat {
            before = openedCount
            turn()
        } while before < openedCount && openedCount < most
        // What the last ones ask is read in the turn behind theirs.
        turn()
    }

    // MARK: Turns

    /// Sees to it that there is a turn in a moment; needed after resuming, which does not make the epoll descriptor
    /// ready.
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

    /// Without a descriptor left for its first connection libmicrohttpd goes on trying, in turn after turn.
    private func pauseWithoutRoom() {
        try? watch?.update([])
        pause = loop.schedule(after: .milliseconds(100)) { [unowned self] in
            pause = nil
            try? watch?.update(.read)
        }
    }

    /// Sees to it that there is a turn when libmicrohttpd wants one, which it has to be asked before every wait.
    private func arm() {
        var milliseconds: UInt64 = 0
        guard let daemon, MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
        let deadline = loop.clock.now.advanced(by: .milliseconds(milliseconds))
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

    // MARK: Connections

    /// Whether somebody who has connected may have a connection more; asked right before it is opened.
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
        // When there were as many as there may be, or no descriptors left, it listens again in its next turn only.
        turnSoon()
        connection.close()
        if connection.hasGivenWay { leavingCount -= 1 }
        connections[ObjectIdentifier(connection)] = nil
        guard let peer = connection.peer, let count = peers[peer] else { return }
        peers[peer] = count > 1 ? count - 1 : nil
    }

    /// - Returns: nil when there is no descriptor left for it.
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

// What libmicrohttpd calls. Plain functions: a closure in an isolated context would be isolated too, and trap.
// Every pointer to a server is the one that was passed along with the function, every one to a connection what
// `noteConnection` has given; both are alive, for the server holds its connections, and stops before it goes.

private func server(_ context: UnsafeMutableRawPointer) -> HTTPServer {
    Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
}

private func connection(_ context: UnsafeMutableRawPointer) -> HTTPConnection {
    Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
}

/// Somebody has connected.
private func admit(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t
) -> MHD_Result {
    guard let context else { return .NO }
    return server(context).admits(HTTPPeer(UnsafeRawBufferPointer(start: address, count: Int(length)))) ? .YES : .NO
}

/// A connection was opened, or is about to be closed.
private func noteConnection(
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

/// A request line came: what is given here comes back as `state` of all later calls.
private func noteTarget(
    _: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let target, let handle, let pointer = cw_mhd_kept(handle) else { return nil }
    connection(pointer).begin(target)
    return pointer
}

/// The header fields came, or some of the body, or all of it; or the request has waited.
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

/// A request is over, in whichever way.
private func noteCompletion(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_RequestTerminationCode
) {
    guard let pointer = state?.pointee else { return }
    state?.pointee = nil
    connection(pointer).finish(isComplete: code == .REQUEST_TERMINATED_COMPLETED_OK)
}

/// More of a stream is wanted.
func fillFromStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
    guard let context else { return HTTPConnection.endWithError }
    return connection(context).fill(UnsafeMutableRawBufferPointer(start: buffer, count: room), at: Int(position))
}

/// The response that ends HTTP on a connection was sent.
func handOver(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutableRawPointer?, _ extra: UnsafePointer<CChar>?,
    _ extraSize: Int, _: MHD_socket, _ handle: OpaquePointer?
) {
    guard let state, let handle else { return }
    let received = UnsafeRawBufferPointer(start: extra, count: extra == nil ? 0 : extraSize)
    connection(state).hand(over: handle, received: Array(received))
}
