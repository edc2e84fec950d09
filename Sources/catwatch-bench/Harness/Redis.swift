internal import Glibc
internal import Reactor

/// redis-server on a Unix socket, keeping nothing on disk: what catwatch's fan-out is measured against.
enum Redis {
    private static let path = "/usr/bin/redis-server"
    static var isInstalled: Bool { access(path, X_OK) == 0 }

    /// Starts it and waits until it can be connected to.
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

/// Subscribers of one channel and the publisher to it, on one loop; used on the loop only.
final class RedisClients {
    /// Bytes that subscribers got.
    private(set) var received = 0
    private let loop: EventLoop
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    private var watches: [Watch] = []
    private var numbers: [Int32] = []
    private let publisher: Int32
    /// Messages that the server has said it delivered.
    private var answered = 0
    private let answer: Wakeup

    init(_ path: String, on loop: EventLoop) throws {
        self.loop = loop
        publisher = try StreamSocket.connected(to: path).release()
        numbers.append(publisher)
        answer = Wakeup(loop: loop)
        // Each answer is a line that says how many subscribers there were.
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

    /// Adds a subscriber. What it is told first is part of `received`.
    func subscribe(to channel: String, _ path: String) throws {
        let number = try StreamSocket.connected(to: path).release()
        numbers.append(number)
        try Self.send(Array("SUBSCRIBE \(channel)\r\n".utf8), to: number)
        watches.append(
            try loop.watch(number, interest: .read) { [unowned self] _ in
                received += max(0, recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)))
            })
    }

    /// Publishes messages in one write: a pipeline as deep as there are messages.
    func publish(_ commands: [UInt8]) throws { try Self.send(commands, to: publisher) }

    /// Waits until so many messages in all were answered.
    func waitForAnswers(_ count: Int) async throws { while answered < count { try await answer.wait() } }

    private static func send(_ bytes: [UInt8], to number: Int32) throws {
        // Some kilobytes fit into the socket's buffer, which the server empties between two of these.
        guard Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw BenchError("redis-server does not take what is published")
        }
    }
}
