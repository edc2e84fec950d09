import Feed
import Glibc
import Inputs
import Journal
import Outputs
import Reactor
import Settings
import Terminal
import TestSupport
import Web

@testable import catwatch

/// What processes of one machine share in a simulation: time, the network, and sockets in the file system.
final class SimulatedMachine: @unchecked Sendable {  // touched on one loop only
    let loop: EventLoop
    let wall: SteppedWallClock
    let transport: SimulatedTransport
    /// Does what threads do elsewhere, for all processes.
    let worker = SimulatedWorker()
    private var listeners: [String: SimulatedListener] = [:]
    /// The journals in the file system, by their paths.
    var journals: [String: MemoryLineStore] = [:]

    init(on loop: EventLoop, answer: @escaping @Sendable (Int, HTTPRequest) -> HTTPAnswer) {
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_800_000_000))
        transport = SimulatedTransport(on: loop, answer: answer)
    }

    /// With a network of somebody else's; the one here has nobody.
    init(on loop: EventLoop) {
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_800_000_000))
        transport = SimulatedTransport(on: loop) { _, _ in HTTPAnswer(status: 404, body: []) }
    }

    /// Makes a socket at a path.
    func listen(at path: String) -> SimulatedListener {
        let listener = SimulatedListener(on: loop)
        listeners[path] = listener
        return listener
    }

    /// The journal at a path, made when there is none.
    func journal(at path: String) -> MemoryLineStore {
        let journal = journals[path] ?? MemoryLineStore()
        journals[path] = journal
        return journal
    }

    /// - Parameter capacity: how many bytes the stream holds in each direction.
    func connect(to path: String, capacity: Int = 65_536) throws(SystemError) -> SimulatedStream {
        guard let listener = listeners[path] else { throw SystemError(code: ENOENT, call: "connect", subject: path) }
        return try listener.connect(capacity: capacity)
    }
}

/// Answers every request, mostly 40 ms after it was made.
actor SimulatedTransport: HTTPTransport, StreamTransport {
    private let loop: EventLoop
    private let answer: @Sendable (Int, HTTPRequest) -> HTTPAnswer
    private let time: @Sendable (HTTPRequest) -> Duration
    private(set) var requests = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        on loop: EventLoop, time: @escaping @Sendable (HTTPRequest) -> Duration = { _ in .milliseconds(40) },
        answer: @escaping @Sendable (Int, HTTPRequest) -> HTTPAnswer
    ) {
        self.loop = loop
        self.time = time
        self.answer = answer
    }

    func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        requests += 1
        let number = requests
        do { try await loop.sleep(for: time(request)) } catch { throw HTTPFailure(.closed, "cancelled") }
        return answer(number, request)
    }

    func open(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>) {
        throw HTTPFailure(.connect, "there are no feeds here")
    }

    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        throw HTTPFailure(.connect, "nobody takes WebSockets here")
    }
}

/// An agent as a process would run it, whose world is in memory.
final class SimulatedProcess: @unchecked Sendable {  // touched on one loop only
    private let machine: SimulatedMachine
    private let random: SeededGenerator
    private let parts: Parts
    private let pipes: [(near: SimulatedStream, far: SimulatedStream)]
    private var socket: SimulatedListener?
    /// What it has opened, to be closed by its crash.
    private var connections: [Connection] = []
    /// Whether it has crashed: what is left of it runs on to its end, cut off from the world.
    private(set) var isDead = false
    /// What is left of it once it has ended is nothing.
    private(set) weak var agent: Agent?
    private(set) weak var store: EventStore?
    /// Who reads it by HTTP, behind the part that is libmicrohttpd's.
    private var web: FeedReaders?
    private var handler: (@Sendable (Int32) -> Void)?
    /// What it exited with on the spot, if it did.
    private(set) var exited: Int32?
    /// What came out, whole lines.
    private(set) var output: [String] = []
    private(set) var errors: [String] = []

    private struct Connection {
        weak var stream: SimulatedStream?
        /// Whether it leads to another process.
        var isOwn: Bool
    }

    /// What may be other than in any simulation.
    struct Parts {
        var makeTransport: (@Sendable (SimulatedProcess) -> any HTTPTransport & StreamTransport)?
        /// The file at a path.
        var file: (@Sendable (SimulatedProcess, String) -> any LineFile)?
        var logBytes: Int?
        /// Whether there are readers by HTTP.
        var servesEvents = false
        var journal: (@Sendable (SimulatedProcess) -> (lines: any LineStore, history: any LineHistory))?
    }

    init(on machine: SimulatedMachine, seed: UInt64, parts: Parts = Parts()) {
        self.machine = machine
        self.parts = parts
        random = SeededGenerator(seed: seed)
        pipes = (0..<3).map { _ in SimulatedStream.pair(on: machine.loop) }
    }

    /// Runs `catwatch` with arguments to its end, and returns its exit status.
    ///
    /// - Parameter isRead: whether anybody reads its output before it has ended.
    func run(_ arguments: [String], isRead: Bool = true) async throws -> Int32 {
        return try await withThrowingTaskGroup(of: Int32?.self) { group in
            for number in isRead ? [1, 2] : [2] {
                group.addTask {
                    let lines = try await Self.lines(of: self.pipes[number].far)
                    if number == 1 { self.output = lines } else { self.errors = lines }
                    return nil
                }
            }
            group.addTask { try await self.watch(arguments) }
            var status: Int32 = -1
            for try await ended in group { status = ended ?? status }
            return status
        }
    }

    /// Runs `catwatch check --online` for a configuration file.
    func check(_ path: String) async throws -> (report: String, status: Int32) {
        let command = try Command.parse(["-c", path]) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: [:])
        }
        guard case .watch(let options) = command else { preconditionFailure("only what is watched is checked") }
        let plan = try WatchPlan(options, environment: [:], arguments: [])
        return await OnlineCheck(in: platform).run(try plan.sources(demoOrigin: nil), plan.alerts)
    }

    /// The same for who reads its output himself.
    func watch(_ arguments: [String]) async throws -> Int32 {
        let command = try Command.parse(arguments) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: [:])
        }
        let platform = platform
        let (options, mode): (Options, StdoutMode)
        switch command {
        case .watch(let watched):
            mode = try StdoutMode(watched, capabilities: platform.capabilities, isTerminal: false)
            options = watched
        case .wait(let waiting): (options, mode) = (waiting, .wait)
        default: preconditionFailure("only watching and waiting are simulated")
        }
        let plan = try WatchPlan(options, environment: [:], arguments: arguments)
        let agent = try Agent(plan, stdoutMode: mode, in: platform)
        (self.agent, store) = (agent, agent.store)
        guard parts.servesEvents else { return try await agent.run() }
        var limits = ReaderLimits()
        limits.stall = options[\.readerTimeout]
        let web = FeedReaders(
            store: agent.store, polls: PollRequests(on: machine.loop), on: machine.loop, limits: limits,
            seats: ReaderSeats(), history: agent.history)
        self.web = web
        defer {
            self.web = nil
            web.closeAll()
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.end(web, with: agent.store) }
            defer { group.cancelAll() }
            return try await agent.run()
        }
    }

    /// Has readers leave when the feed is over, as `WebServer` does.
    private static func end(_ web: FeedReaders, with store: EventStore) async throws {
        let (reader, _) = await store.open(nil)
        while true {
            guard case .end = try await store.next(for: reader) else { continue }
            return web.leave(within: OutputRunner.drainTime, isOver: true)
        }
    }

    /// Connects a reader by HTTP, as `FeedHandler` does; nil when nobody answers.
    ///
    /// - Parameters:
    ///   - id: behind which event, as a browser says it.
    ///   - query: of the URL.
    func events(capacity: Int, behind id: String?, _ query: String) -> SimulatedStream? {
        guard let web, !isDead, web.refusal == nil, var terms = try? FeedQuery.terms(Substring(query)) else {
            return nil
        }
        if let start = id.flatMap({ FeedQuery.start(behind: $0) }) { terms.start = start }
        let (near, far) = SimulatedStream.pair(capacity: capacity, on: machine.loop)
        keep(near)
        web.admit(near, behind: [], as: .events, terms)
        return far
    }

    /// The far end of its standard output (1) or error (2).
    func standard(_ number: Int) -> SimulatedStream { pipes[number].far }

    /// Ends it on the spot, as SIGKILL would: what it has written can be read, and nothing it does from now on has any effect.
    /// Its tasks come to their end by the way that a SIGTERM takes.
    func crash() {
        isDead = true
        for pipe in pipes { pipe.near.close() }
        for connection in connections { connection.stream?.close() }
        socket?.crash()
        signal(SIGTERM)
        signal(SIGTERM)
    }

    /// Closes its connections to others.
    func breakConnections() { for connection in connections where connection.isOwn { connection.stream?.close() } }

    /// Whether anything that it has opened is not closed.
    var holdsStreams: Bool { connections.contains { $0.stream?.isClosed == false } || socket?.holdsStreams == true }

    /// Sends it a signal.
    func signal(_ number: Int32) { handler?(number) }

    /// Writes a line to its standard input.
    func write(_ line: String) async throws { try await pipes[0].far.write(all: Array("\(line)\n".utf8)) }

    /// Ends its standard input.
    func closeInput() { pipes[0].far.close() }

    /// Reads a stream to its end.
    static func lines(of stream: any ByteStream) async throws -> [String] {
        let buffer = ReadBuffer()
        var bytes: [UInt8] = []
        while true {
            guard let count = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if count == 0 { break }
            bytes += buffer.memory[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func connect(to path: String) throws(SystemError) -> SimulatedStream {
        if isDead { throw SystemError(code: ECONNREFUSED, call: "connect", subject: path) }
        let stream = try machine.connect(to: path)
        keep(stream, isOwn: true)
        return stream
    }

    private func keep(_ stream: SimulatedStream, isOwn: Bool = false) {
        connections.removeAll { $0.stream == nil }
        connections.append(Connection(stream: stream, isOwn: isOwn))
    }

    private var platform: Platform {
        let (machine, loop, parts) = (machine, machine.loop, parts)
        let worker = machine.worker
        return Platform(
            loop: loop, wall: machine.wall, transport: parts.makeTransport?(self) ?? machine.transport,
            random: { self.random },
            outputIsTerminal: false, errorIsTerminal: false, capabilities: TerminalCapabilities(depth: .none),
            makeWorker: { _ in worker }, outputFile: { parts.file?(self, $0) ?? AppendedFile(path: $0) },
            logBytes: { parts.logBytes ?? $0[\.logBytes] }, computer: worker, files: worker, reloads: worker,
            host: AgentIdentity.Host(),
            usage: { (MemorySample(resident: 1, peak: 1, privateBytes: 1), 0) }, service: nil,
            openStandard: { self.pipes[Int($0)].near }, screenSize: { _ in ScreenSize(columns: 80, rows: 24) },
            openTerminal: { preconditionFailure("there is no terminal") },
            watchSignals: {
                self.handler = $0
                return nil
            },
            exit: { self.exited = $0 },
            inheritSocket: { nil },
            listen: { options in
                guard let path = options[\.listen]?.path else { return nil }
                let listener = machine.listen(at: path)
                self.socket = listener
                return ListeningSocket(listener, at: path)
            },
            openPort: { _ in nil }, claimPort: { _ in nil },
            openJournal: { path, _ in
                parts.journal?(self) ?? (machine.journal(at: path), SQLiteHistory(path: path))
            },
            broker: { _, _ in preconditionFailure("there is no broker") },
            reader: { _ in preconditionFailure("there is no broker") },
            attach: { (try self.connect(to: $0 ?? ""), nil) },
            connect: { path throws(SystemError) in try self.connect(to: path) },
            connectHost: { host, _ in throw SystemError(code: EHOSTUNREACH, call: "connect", subject: host) },
            makeRoom: { _ in })
    }
}
