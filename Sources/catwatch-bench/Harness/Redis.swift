internal import Glibc
internal import Reactor

/// redis-server on a Unix socket, without anything on disk: the peer for catwatch's fan-out.
enum Redis {
    private static let path = "/usr/bin/redis-server"
    static var isInstalled: Bool { access(path, X_OK) == 0 }

    /// Starts redis-server and waits until it accepts connections.
    static func start(on socket: String, folder: String) throws -> ChildProcess {
        let configuration = """
            port 0
            unixsocket \(socket)
            save ""
            appendonly no
            dir \(folder)
            maxclients 4096
            tcp-backlog 4096
            client-output-buffer-limit pubsub 0 0 0

            """
        try TextFile.write(configuration, to: "\(folder)/redis.conf")
        let process = try ChildProcess(path, ["\(folder)/redis.conf"], folder: folder)
        for _ in 0..<500 {
            if (try? StreamSocket.connected(to: socket)) != nil { return process }
            usleep(10_000)
        }
        throw process.failure("does not listen")
    }
}

/// The subscribers of a channel and its publisher, on one event loop; used on the loop only.
final class RedisClients {
    /// The number of bytes that the subscribers got.
    private(set) var received = 0
    private let loop: EventLoop
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    private var watches: [Watch] = []
    private var numbers: [Int32] = []
    private let publisher: Int32
    /// The number of messages that the server has acknowledged.
    private var answered = 0
    private let answer: Wakeup

    init(_ path: String, on loop: EventLoop) throws {
        self.loop = loop
        publisher = try StreamSocket.connected(to: path).release()
        numbers.append(publisher)
        answer = Wakeup(loop: loop)
        // Each answer is a line with the number of subscribers.
        watches.append(
            try loop.watch(publisher, interest: .read) { [unowned self] _ in
                let count = recv(publisher, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                answered += buffer[..<max(0, count)].count { $0 == 0x0A }
                answer.signal()
            })
    }

    deinit {
        for watch in watches { watch.cancel() }
        for number in numbers { close(number) }
        buffer.deallocate()
    }

    /// Adds a subscriber. The server's reply counts in `received`.
    func subscribe(to channel: String, _ path: String) throws {
        let number = try StreamSocket.connected(to: path).release()
        numbers.append(number)
        try Self.send(Array("SUBSCRIBE \(channel)\r\n".utf8), to: number)
        watches.append(
            try loop.watch(number, interest: .read) { [unowned self] _ in
                received += max(0, recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)))
            })
    }

    /// Publishes messages in one write, as one pipeline.
    func publish(_ commands: [UInt8]) throws { try Self.send(commands, to: publisher) }

    /// Waits until this number of messages, in total, was acknowledged.
    func waitForAnswers(_ count: Int) async throws { while answered < count { try await answer.wait() } }

    private static func send(_ bytes: [UInt8], to number: Int32) throws {
        // The socket's buffer has room for some kilobytes, and the server empties it between two calls.
        guard Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw BenchError("redis-server does not take what is published")
        }
    }
}
