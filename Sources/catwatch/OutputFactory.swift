internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Journal
internal import Nats
internal import Outputs
internal import Reactor
internal import Settings
internal import Web

/// Creates the outputs that get the feed line by line.
struct OutputFactory: Sendable {
    let store: EventStore
    let polls: PollRequests
    let notices: Notices
    let platform: Platform
    /// Whether the feed is another agent's or a recording, and gets no lines of our own.
    let isRelay: Bool
    /// Reads lines that are older than the log's; nil without a journal.
    let history: JournalQueue?
    /// The readers' seats, shared by all ways to connect.
    let seats = ReaderSeats()

    /// Runs an output to its end.
    typealias Run = @Sendable () async -> Void

    /// Starts a thread; nil when there is none left.
    private func worker(_ name: String) -> (any Worker)? {
        let worker = platform.makeWorker(name)
        return worker.start() ? worker : nil
    }

    /// - Returns: a function that runs the output and returns the reason to stop the agent, if there is one.
    func stdout() -> @Sendable () async -> Agent.Stop? {
        let output = StreamOutput(
            "stdout", store: store, on: platform.loop, holdsInputs: true,
            escapesForTerminal: platform.outputIsTerminal)
        return { [open = platform.openStandard] in
            switch try? await output.run({ _ throws(SystemError) in try open(STDOUT_FILENO) }) {
            case .readerGone: .readerGone
            case .failed(let error): .outputFailed(error)
            case .finished, nil: nil
            }
        }
    }

    /// - Parameter start: the place where an earlier output ended, to continue from; nil for the oldest line.
    /// - Returns: nil when no thread can be started for the disk.
    func file(_ path: String, from start: FileOutput.Place? = nil) -> (FileOutput, Run)? {
        // Bound: threads of files whose write never ends after a reload | one for each reload of `output_file` | kept
        //   until the process ends
        // Each output has its own thread: a stalled disk may block it for ever.
        guard let worker = worker("disk") else { return nil }
        let output = FileOutput(
            path, platform.outputFile(path), store: store, on: platform.loop, worker: worker, from: start
        ) {
            tell($0, of: path)
        }
        return (
            output,
            {
                try? await output.run()
                worker.stop()
                // The file is not written to any more.
                if let recovery = await output.endTrouble(), await !store.isOver {
                    tell(.recovered(recovery), of: path)
                }
            }
        )
    }

    /// - Returns: nil when no thread can be started for the disk.
    func journal(_ lines: any LineStore, _ options: Options) -> (JournalOutput, Run)? {
        guard let path = options[\.journal], let worker = worker("journal disk") else { return nil }
        var pace = JournalOutput.Pace()
        pace.commit = options[\.journalCommit]
        // The age of a journalled recording counts from when it is written, so this is the machine's clock.
        let wall = platform.machineWall
        let output = JournalOutput(
            path, keeping: lines, store: store, on: platform.loop, worker: worker, wall: wall, at: pace,
            capacity: options[\.logBytes] / 8
        ) {
            tell($0, of: "the journal")
        }
        return (
            output,
            {
                try? await output.run()
                worker.stop()
            }
        )
    }

    /// - Returns: nil when no thread can be started for the servers.
    func nats(_ settings: NatsSettings, as name: String?) -> Run? {
        guard let worker = worker("broker") else { return nil }
        let name = name ?? AgentName.of(host: platform.host.name)
        let output = NatsOutput(
            as: name, of: platform.host.name, settings, to: platform.broker(settings, name),
            store: store, on: platform.loop, worker: worker, random: platform.random()
        ) {
            tell($0, of: "publishing")
        }
        return {
            try? await output.run()
            worker.stop()
        }
    }

    /// Reports an output's state: in the feed, or on stderr when the feed is another agent's or over.
    private func tell(_ body: Event.Body, of what: String) {
        let isSaid = store.assumeIsolated { store in
            guard !isRelay, !store.isOver else { return false }
            store.sayOfItself(body, about: what)
            return true
        }
        if isSaid { return }
        switch body {
        case .error(let failure):
            notices.assumeIsolated { $0.say("catwatch: \(Sanitizer.visible(failure.message, limit: 1_000))\n") }
        case .recovered: notices.assumeIsolated { $0.say("catwatch: \(Sanitizer.visible(what)) goes on\n") }
        default: break
        }
    }

    /// - Parameter start: the line with which an earlier output to the same address would have begun its next connection.
    func push(to target: PushTarget, from start: LineID? = nil) -> (PushOutput, Run) {
        let output = PushOutput(
            target, store: store, on: platform.loop, random: platform.random(), from: start,
            history: history
        ) { [notices] text in
            await notices.say("catwatch: \(Sanitizer.visible(text, limit: 500))\n")
        } connect: { [platform] in
            switch target.address {
            case .unix(let path): LoopBound(try platform.connect(path))
            case .tcp(let host, let port): try await platform.connectHost(host, port)
            }
        }
        return (output, { try? await output.run() })
    }

    /// Serves the page at a port.
    func web(at port: ListeningPort, _ settings: WebSettings, _ limits: ReaderLimits) -> (WebServer, Run) {
        let server = WebServer(
            store: store, polls: polls, on: platform.loop, settings: settings, readers: limits, seats: seats,
            history: history
        ) {
            CatAPI.picture($0)
        }
        return (
            server,
            serving(SettingTable.rows.http.flag) { try await server.run { () throws(SystemError) in try port.open() } }
        )
    }

    /// Serves the feed on a socket.
    func server(at socket: ListeningSocket, _ limits: ReaderLimits) -> (FeedServer, Run) {
        let server = FeedServer(
            store: store, polls: polls, on: platform.loop, limits: limits, seats: seats, history: history)
        return (
            server,
            serving(SettingTable.rows.listen.flag) { try await server.run { loop in try socket.open(on: loop) } }
        )
    }

    /// Runs a server, and reports why it cannot.
    private func serving(_ flag: String, _ serve: @escaping @Sendable () async throws -> Void) -> Run {
        { [notices] in
            do {
                try await serve()
            } catch let error as SystemError {
                await notices.say("catwatch: \(flag): \(error.reason)\n")
            } catch {}  // cancelled
        }
    }
}

extension JournalSettings {
    init(_ options: Options) {
        self.init()
        sync = options[\.journalSync]
        age = options[\.journalAge]
        bytes = options[\.journalBytes]
    }
}

extension ReaderLimits {
    init(_ options: Options) {
        self.init()
        readers = options[\.maxReaders]
        stall = options[\.readerTimeout]
    }
}
