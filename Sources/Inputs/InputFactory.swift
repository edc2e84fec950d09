package import Feed
package import Nats
package import Reactor

/// Creates the inputs of sources, and holds what they share.
package struct InputFactory: Sendable {
    private let loop: EventLoop
    private let wall: any WallClock
    private let transport: any HTTPTransport & StreamTransport
    private let disk: any Worker
    private let computer: any Worker
    private let random: @Sendable () -> any RandomNumberGenerator & Sendable
    private let openStandardInput: @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    private let connectSocket: @Sendable (_ path: String?) throws -> (stream: any ByteStream, owner: UInt32?)
    private let makeWorker: @Sendable (_ name: String) -> any Worker
    private let broker: @Sendable (NatsServers) -> any BrokerReader
    /// Bytes read from standard input and not yet parsed.
    private let lines = LoopBound(StdinLines())
    private let files: LoopBound<FileQueue>

    /// - Parameters:
    ///   - disk: reads files.
    ///   - computer: computes long sums and reads long documents.
    ///   - random: a generator for one input, with unpredictable numbers; see `WebSocketInput`.
    ///   - connectSocket: connects to the agent socket at this path; nil for the default one. Returns its owner too, if
    ///     that is another user.
    ///   - makeWorker: creates a thread for an input that may wait forever.
    ///   - broker: creates a reader of NATS servers, which does nothing yet.
    ///   - openStandardInput: opens the stream of a source that reads standard input; called on the loop.
    package init(
        on loop: EventLoop, wall: any WallClock, transport: any HTTPTransport & StreamTransport, disk: any Worker,
        computer: any Worker,
        random: @escaping @Sendable () -> any RandomNumberGenerator & Sendable,
        connectSocket: @escaping @Sendable (_ path: String?) throws -> (stream: any ByteStream, owner: UInt32?),
        makeWorker: @escaping @Sendable (_ name: String) -> any Worker,
        broker: @escaping @Sendable (NatsServers) -> any BrokerReader,
        openStandardInput: @escaping @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    ) {
        self.loop = loop
        self.wall = wall
        self.transport = transport
        self.disk = disk
        self.computer = computer
        self.random = random
        self.openStandardInput = openStandardInput
        self.connectSocket = connectSocket
        self.makeWorker = makeWorker
        self.broker = broker
        files = LoopBound(FileQueue(on: loop))
    }

    /// Returns the input of a source, which publishes to `store`.
    ///
    /// - Parameter spread: the time after the start within which the first poll comes; see `PollSchedule.spread(of:)`.
    package func input(of source: Source, into store: EventStore, polls: PollRequests, spread: Duration = .zero)
        -> any Input
    {
        switch source {
        case .http(let source):
            HTTPPoller(
                source, store: store, polls: polls, transport: transport, on: loop, wall: wall, worker: computer,
                spread: spread, random: random())
        case .pages(let source):
            PagesInput(
                source, store: store, polls: polls, transport: transport, on: loop, wall: wall, worker: computer,
                random: random())
        case .webSocket(let source):
            WebSocketInput(
                source, store: store, polls: polls, transport: transport, on: loop, wall: wall, worker: computer,
                random: random())
        case .stdin(let source) where source.path != nil:
            file(source.path ?? "", of: source, into: store)
        case .stdin(let source):
            StdinInput(
                source, store: store, on: loop, wall: wall, worker: computer, lines: lines, open: openStandardInput)
        case .fibonacci(let source):
            FibonacciInput(source, store: store, polls: polls, on: loop, worker: computer, wall: wall)
        case .feed(let source):
            FleetInput(source.name, by: feed(at: source.place), store: store, polls: polls, on: loop, random: random())
        case .nats(let source):
            NatsInput(
                source, from: broker(source.servers), store: store, polls: polls, on: loop,
                worker: makeWorker("broker reader"), random: random())
        }
    }

    /// Returns the transport to another agent's feed.
    ///
    /// - Parameter connected: called on the loop for each connection to a socket, with its owner if that is another user.
    package func feed(
        at place: FeedSource.Place, connected: @escaping @Sendable (_ owner: UInt32?) -> Void = { _ in }
    ) -> any FeedTransport {
        switch place {
        case .socket(let path):
            SocketFeed(on: loop) { [connectSocket] _ in
                let (stream, owner) = try connectSocket(path)
                connected(owner)
                return stream
            }
        case .http(let request): HTTPFeed(request, by: transport)
        }
    }

    private func file(_ path: String, of source: StdinSource, into store: EventStore) -> FileInput {
        FileInput(path, in: files, on: loop, worker: disk) { [loop, wall, disk, computer] in
            StdinInput(source, store: store, on: loop, wall: wall, worker: computer) { loop in
                FileStream(path, on: loop, worker: disk)
            }
        }
    }
}

/// A producer of events for a store.
package protocol Input: Sendable {
    /// Produces events until the task is cancelled or there will never be more.
    func run() async throws(CancellationError)
    /// Whether `run` ended before all events had been read.
    var isCutShort: Bool { get async }
}

extension Input {
    package var isCutShort: Bool { get async { false } }
}
