internal import Feed
internal import Glibc
internal import Reactor

/// Many readers of a socket on one event loop, each a descriptor and a checker; used on the loop only.
final class SocketReaders {
    private(set) var tally = LineChecker.Tally()
    let reference = LineReference()
    private(set) var checkers: [LineChecker] = []
    private let loop: EventLoop
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    private var watches: [Watch] = []
    private var numbers: [Int32] = []
    private let changed: Wakeup
    private(set) var open = 0

    init(on loop: EventLoop) {
        self.loop = loop
        changed = Wakeup(loop: loop)
    }

    deinit {
        for watch in watches { watch.cancel() }
        for number in numbers { close(number) }
        buffer.deallocate()
    }

    /// Connects a reader that takes lines as they come.
    ///
    /// - Parameter first: the sequence number that it must begin with, if known.
    func connect(to path: String, first: Int? = nil) throws {
        try add(try StreamSocket.connected(to: path), LineChecker(next: first))
    }

    /// Connects a web client that takes Server-Sent Events as they come.
    ///
    /// - Parameter first: the sequence number that it must begin with.
    func connectEvents(to agent: WebAgent, first: Int) throws {
        let socket = try LoopbackSocket.connected(to: agent.port)
        Text.write(agent.request("/events"), to: socket.number)
        try add(socket, LineChecker(next: first, of: .events))
    }

    private func add(_ socket: consuming Descriptor, _ checker: LineChecker) throws {
        let number = socket.release()
        numbers.append(number)
        checkers.append(checker)
        open += 1
        let index = watches.count
        watches.append(
            try loop.watch(number, interest: .read) { [unowned self] _ in
                read(number, checker, index)
            })
    }

    /// Waits until every reader has got `bye`, or until `deadline`.
    func waitForEnd(until deadline: LoopInstant) async throws {
        while open > 0, loop.clock.now < deadline { try await changed.wait(until: deadline) }
    }

    /// The number of lost lines: holes and missing ends.
    var lost: Int { tally.lost + checkers.reduce(0) { $0 + (($1.last ?? 0) + 1 - ($1.next ?? 1)) } }

    private func read(_ number: Int32, _ checker: LineChecker, _ index: Int) {
        let count = recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            let now = loop.clock.now.nanoseconds / 1_000
            checker.check(UnsafeRawBufferPointer(rebasing: buffer[..<count]), reference, &tally, now: now)
            if checker.last == nil { return }
        } else if count < 0, errno == EAGAIN || errno == EINTR {
            return
        }
        watches[index].cancel()
        open -= 1
        if open == 0 { changed.signal() }
    }
}

extension Setting {
    /// Starts a feed of the bench's own and waits until readers can connect.
    func startFeed(_ options: FeedOptions, folder: String) throws -> ChildProcess {
        let feed = try ChildProcess("/proc/self/exe", options.arguments, folder: folder)
        var said: [UInt8] = []
        feed.read(until: .now + .seconds(10)) { bytes in
            said += bytes
            return said.count >= FeedProgram.ready.utf8.count
        }
        guard said == Array(FeedProgram.ready.utf8) else { throw feed.failure("does not start") }
        return feed
    }
}
