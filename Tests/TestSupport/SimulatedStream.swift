internal import Glibc
package import Reactor

/// One end of a byte stream in memory, for tests in virtual time: it has the bounds and the errors of a real one.
package final class SimulatedStream: WatchedStream {
    /// What flows in one direction.
    private final class Channel {
        var bytes: [UInt8] = []
        let capacity: Int
        let loop: EventLoop
        /// Since when nothing more is written.
        var ended: LoopInstant?
        var isWriterGone: Bool { ended != nil }
        var isReaderGone = false
        let readable: Wakeup
        let writable: Wakeup
        let hungUp: Wakeup
        /// Who is called instead of those that wait.
        var reader: ((Readiness) -> Void)?
        var writer: ((Readiness) -> Void)?

        init(capacity: Int, loop: EventLoop) {
            self.capacity = capacity
            self.loop = loop
            readable = Wakeup(loop: loop)
            writable = Wakeup(loop: loop)
            hungUp = Wakeup(loop: loop)
        }

        func tellReader() {
            readable.signal()
            reader?(.read)
        }

        func tellWriter() {
            writable.signal()
            writer?(.write)
        }
    }

    private let incoming: Channel
    private let outgoing: Channel
    package private(set) var isClosed = false
    /// When the other end said its last.
    package var ended: LoopInstant? { incoming.ended }

    private init(incoming: Channel, outgoing: Channel) {
        self.incoming = incoming
        self.outgoing = outgoing
    }

    /// An end that nobody holds any more is closed, as a descriptor is; without its loop there is nobody left to tell.
    deinit { if incoming.loop.isCurrent { close() } }

    /// The two ends of a stream that holds up to `capacity` bytes in each direction.
    package static func pair(
        capacity: Int = 65_536, on loop: EventLoop
    ) -> (SimulatedStream, SimulatedStream) {
        let there = Channel(capacity: capacity, loop: loop)
        let back = Channel(capacity: capacity, loop: loop)
        return (
            SimulatedStream(incoming: back, outgoing: there), SimulatedStream(incoming: there, outgoing: back)
        )
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if isClosed { throw SystemError(code: EBADF, call: "write") }
        if bytes.isEmpty { return 0 }
        if outgoing.isReaderGone { throw SystemError(code: EPIPE, call: "write") }
        let taken = min(bytes.count, outgoing.capacity - outgoing.bytes.count)
        guard taken > 0 else { return 0 }
        outgoing.bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        outgoing.tellReader()
        return taken
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if isClosed { throw SystemError(code: EBADF, call: "read") }
        guard !incoming.bytes.isEmpty else { return incoming.isWriterGone ? 0 : nil }
        let taken = min(buffer.count, incoming.bytes.count)
        incoming.bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<taken])) }
        incoming.bytes.removeFirst(taken)
        incoming.tellWriter()
        return taken
    }

    package func waitUntilWritable() async throws(CancellationError) { try await outgoing.writable.wait() }

    package func waitUntilReadable() async throws(CancellationError) { try await incoming.readable.wait() }

    package func waitUntilHungUp() async throws(CancellationError) { try await outgoing.hungUp.wait() }

    package func whenReady(_ body: @escaping (Readiness) -> Void) {
        // In the next turn, as a descriptor's would be, and not inside of the other end's call.
        let tell = { [weak self, loop = incoming.loop] (readiness: Readiness) -> Void in
            loop.schedule(at: loop.clock.now) { if self?.isClosed == false { body(readiness) } }
        }
        incoming.reader = tell
        outgoing.writer = tell
        if outgoing.isReaderGone { body(.hangUp) }
    }

    /// Says no more, and goes on reading, as shutdown(2) with `SHUT_WR` does.
    package func endWriting() {
        outgoing.ended = outgoing.ended ?? outgoing.loop.clock.now
        outgoing.tellReader()
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        outgoing.ended = outgoing.ended ?? outgoing.loop.clock.now
        incoming.isReaderGone = true
        for own in [incoming.readable, outgoing.writable, outgoing.hungUp] { own.open() }
        outgoing.tellReader()
        incoming.tellWriter()
        incoming.hungUp.open()
        incoming.writer?(.hangUp)
        incoming.reader = nil
        outgoing.writer = nil
    }
}

/// A listener in memory, for tests in virtual time.
package final class SimulatedListener: Listener {
    private let loop: EventLoop
    private let arrived: Wakeup
    private var waiting: [SimulatedStream] = []
    /// The near ends of all that were opened, as long as somebody has them.
    private var opened: [Opened] = []
    private var isClosed = false

    private struct Opened { weak var stream: SimulatedStream? }

    package init(on loop: EventLoop) {
        self.loop = loop
        arrived = Wakeup(loop: loop)
    }

    /// Opens a stream to the listener; this is the client's end.
    ///
    /// - Throws: `ECONNREFUSED` when nobody listens any more.
    package func connect(capacity: Int = 65_536) throws(SystemError) -> SimulatedStream {
        if isClosed { throw SystemError(code: ECONNREFUSED, call: "connect") }
        let (client, server) = SimulatedStream.pair(capacity: capacity, on: loop)
        waiting.append(server)
        opened.removeAll { $0.stream?.isClosed != false }
        opened.append(Opened(stream: server))
        arrived.signal()
        return client
    }

    package func accept() async throws -> any WatchedStream {
        while true {
            if let accepted = try acceptNow() { return accepted }
            try await arrived.wait()
        }
    }

    package func acceptNow() throws(SystemError) -> (any WatchedStream)? {
        if isClosed { throw SystemError(code: EBADF, call: "accept") }
        return waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// Whether a stream that was opened here is not closed at this end.
    package var holdsStreams: Bool { opened.contains { $0.stream?.isClosed == false } }

    /// Closes it and all streams that were opened here, as the end of the process does.
    package func crash() {
        close()
        for entry in opened { entry.stream?.close() }
    }

    package func close() {
        isClosed = true
        for stream in waiting { stream.close() }
        waiting = []
        arrived.open()
    }
}
