internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Journal
internal import Nats
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// Everything that an agent gets from outside: the process's own, or a simulated world in memory on a virtual loop.
struct Platform: Sendable {
    let loop: EventLoop
    /// The wall clock; the recording's, when one is played back.
    var wall: any WallClock
    let transport: any HTTPTransport & StreamTransport
    /// Creates random number generators; unpredictable in a real run.
    let random: @Sendable () -> any RandomNumberGenerator & Sendable
    /// Whether standard output and standard error are terminals, and what these can show.
    let outputIsTerminal: Bool
    let errorIsTerminal: Bool
    let capabilities: TerminalCapabilities
    /// Creates a thread for work that may block for ever, such as a disk.
    let makeWorker: @Sendable (_ name: String) -> any Worker
    /// Opens the file that every line is appended to.
    let outputFile: @Sendable (_ path: String) -> any LineFile
    /// The bytes for recent lines; in a simulation, less than an option allows.
    let logBytes: @Sendable (Options) -> Int
    /// Threads for long computations, for reading source files, and for reading what a reload needs.
    let computer: any Worker
    let files: any Worker
    let reloads: any Worker
    let host: AgentIdentity.Host
    let usage: @Sendable () -> ProcessSampler.Usage
    let service: ServiceManager?
    /// Opens standard input, output or error by its descriptor number.
    let openStandard: @Sendable (Int32) throws(SystemError) -> any ByteStream
    /// The size of the terminal at a standard stream, or the size that the environment gives.
    let screenSize: @Sendable (Int32) -> ScreenSize
    /// Opens the terminal for a live view.
    let openTerminal: @Sendable () -> LoopBound<any TerminalDevice>
    /// Calls a handler for signals until the watch is cancelled; nil when nothing needs cancelling.
    let watchSignals: @Sendable (@escaping @Sendable (Int32) -> Void) throws(SystemError) -> LoopBound<SignalWatch>?
    /// Ends the process at once.
    let exit: @Sendable (Int32) -> Void
    /// Returns the service manager's socket for the feed, if there is one; only once.
    let inheritSocket: @Sendable () throws(UsageError) -> ListeningSocket?
    /// Claims the socket that readers connect to; nil when the feed is not to be served. Blocks.
    let listen: @Sendable (Options) throws(UsageError) -> ListeningSocket?
    /// Returns the service manager's port, or the one that the options ask for; nil when no page is to be served.
    let openPort: @Sendable (Options) throws(UsageError) -> ListeningPort?
    /// Binds the port that the options ask for, ignoring the service manager's, for a reload. Blocks briefly.
    let claimPort: @Sendable (Options) throws(UsageError) -> ListeningPort?
    /// Creates a journal's writer and its reader; opens nothing yet.
    let openJournal: @Sendable (_ path: String, JournalSettings) -> (lines: any LineStore, history: any LineHistory)
    /// Creates a connection to NATS servers for the agent of this name; connects later.
    let broker: @Sendable (NatsSettings, _ name: String) -> any Broker
    /// Creates a connection for reading what agents publish.
    let reader: @Sendable (NatsServers) -> any BrokerReader
    /// Connects to an agent's socket, or to the default one; returns its owner if that is another user.
    let attach: @Sendable (_ path: String?) throws -> (stream: any ByteStream, owner: UInt32?)
    /// Connects to a Unix socket, and to a host by its name.
    let connect: @Sendable (_ path: String) throws(SystemError) -> any ByteStream
    let connectHost: @Sendable (_ host: String, _ port: UInt16) async throws -> LoopBound<any ByteStream>
    /// Raises the limit of open descriptors for this number of connections.
    let makeRoom: @Sendable (Int) -> Void

    /// A new identity of this agent, with another run at each call.
    var identity: AgentIdentity {
        var random = random()
        let digits = String(random.next() as UInt64, radix: 16)
        let run = String(repeating: "0", count: 16 - digits.count) + digits
        return AgentIdentity(run: run, version: Version.current, started: wall.now, host: host)
    }

    var inputs: InputFactory {
        InputFactory(
            on: loop, wall: wall, transport: transport, disk: files, computer: computer, random: random,
            connectSocket: attach, makeWorker: makeWorker, broker: reader,
            openStandardInput: { [openStandard] _ throws(SystemError) in try openStandard(STDIN_FILENO) })
    }

    /// The machine's clock, even while a recording is played back.
    var machineWall: any WallClock { (wall as? ReplayClock)?.base ?? wall }

    /// Opens a recording: standard input for `-`, a journal, or a file of lines.
    func openRecording(_ path: String, from: Timestamp?) async throws -> LoopBound<any ByteStream> {
        if path == "-" { return LoopBound(try openStandard(STDIN_FILENO)) }
        guard files.start() else { throw SystemError(code: EAGAIN, call: "pthread_create") }
        guard try await loop.offload(to: files, { JournalStream.isJournal(path) }) else {
            return LoopBound(FileStream(path, on: loop, worker: files))
        }
        return LoopBound(JournalStream(SQLiteHistory(path: path), from: from, on: loop, worker: files))
    }

    /// Stops the worker threads without waiting for them.
    func stopWorkers() {
        computer.stop()
        files.stop()
        reloads.stop()
    }

    /// Starts the stand-in API, if requested.
    func startDemo(_ options: Options) throws -> CatAPIServer? {
        options[\.demo] ? try CatAPIServer(loop: loop, seed: .random(in: 0...(.max))) : nil
    }
}

extension Platform {
    /// The real platform of the process.
    init(of environment: [String: String], capabilities: TerminalCapabilities, on loop: EventLoop) throws(SystemError) {
        let names = WorkerThread(name: "names")
        self.loop = loop
        wall = SystemWallClock()
        transport = try CurlTransport(on: loop)
        random = { SystemRandomNumberGenerator() }
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        errorIsTerminal = isatty(STDERR_FILENO) == 1
        self.capabilities = capabilities
        makeWorker = { WorkerThread(name: $0) }
        outputFile = { AppendedFile(path: $0) }
        logBytes = { $0[\.logBytes] }
        computer = WorkerThread(name: "compute")
        files = WorkerThread(name: "files")
        reloads = WorkerThread(name: "reload")
        host = .current()
        usage = { ProcessSampler.usage() }
        service = ServiceManager(environment: environment)
        openStandard = { number throws(SystemError) in try DescriptorStream.standard(number, on: loop) }
        screenSize = { ScreenSize.of($0, environment: environment) }
        openTerminal = { LoopBound(ControllingTerminal(environment: environment)) }
        watchSignals = { handler throws(SystemError) in
            let heard = [SIGTERM] + [SIGINT, SIGQUIT, SIGHUP].filter { !SignalWatch.isIgnored($0) }
            return LoopBound(try SignalWatch(heard, on: loop, handler: handler))
        }
        exit = { Self.leave($0) }
        inheritSocket = { () throws(UsageError) in try ListeningSocket.inherited(environment: environment) }
        listen = { options throws(UsageError) in try ListeningSocket.claim(options, environment: environment) }
        openPort = { options throws(UsageError) in
            if let port = try ListeningPort.inherited(options, environment: environment) { return port }
            return try ListeningPort.claim(options)
        }
        claimPort = { options throws(UsageError) in try ListeningPort.claim(options) }
        openJournal = {
            let lines = SQLiteLineStore(path: $0, $1)
            return (lines, lines.history())
        }
        broker = { NatsConnection(to: $0.servers, name: "catwatch \($1)", inbox: NatsSubject.inbox(of: $1)) }
        reader = { NatsConnection(to: $0, name: "catwatch reader", inbox: NatsSubject.readersInbox) }
        attach = { path in
            let socket =
                try path.map { path in try StreamSocket.connected(to: path) }
                ?? DefaultSocket.connected(to: DefaultSocket.path(environment: environment))
            let owner = StreamSocket.peerUser(of: socket)
            return (try DescriptorStream(owning: socket, on: loop), owner == geteuid() ? nil : owner)
        }
        connect = { path throws(SystemError) in
            try DescriptorStream(owning: try StreamSocket.connected(to: path), on: loop)
        }
        connectHost = { host, port in
            // Numeric addresses do not wait for the lookup of a name, which may take long.
            if let addresses = try? SocketAddress.resolve(host: host, port: port, isNumeric: true) {
                return LoopBound(try await StreamSocket.connected(to: addresses, on: loop))
            }
            guard names.start() else { throw SystemError(code: EAGAIN, call: "pthread_create") }
            let addresses = try await loop.offload(to: names) { try SocketAddress.resolve(host: host, port: port) }
            return LoopBound(try await StreamSocket.connected(to: addresses, on: loop))
        }
        makeRoom = { DescriptorLimit.raise(for: $0) }
    }

    /// Ends the process after restoring the standard streams that it shares with others. Nothing else is torn down: a
    /// thread may be in the middle of a write or a name lookup that never returns.
    static func leave(_ status: Int32) -> Never {
        DescriptorStream.giveBackStandard()
        _exit(status)
    }
}
