internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor

/// The running program: inputs, store and outputs on one loop, from the start to the exit status.
actor Agent {
    /// Why it ends.
    private enum Stop: Sendable {
        case signal(Int32)
        case count
        case duration
        case readerGone
        case outputFailed(SystemError)

        /// As the `bye` line says it.
        var reason: String {
            switch self {
            case .signal(let number): SignalName.text(number)
            case .count: "count"
            case .duration: "duration"
            case .readerGone, .outputFailed: "closed"
            }
        }
    }

    private let plan: WatchPlan
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let wall = SystemWallClock()
    private let store: EventStore
    private let notices: Notices
    private let started: LoopInstant
    private let stopRequest: Wakeup
    private var stop: Stop?
    private let outputEnded: Wakeup
    private var isOutputRunning = false

    /// How long stdout is waited for at the end.
    private static let drainTime = Duration.seconds(5)
    /// How long stderr is waited for at the end.
    private static let noticeTime = Duration.milliseconds(500)

    init(_ plan: WatchPlan, on loop: EventLoop) {
        self.plan = plan
        self.loop = loop
        let options = plan.options
        var limits = FeedState.Limits()
        limits.interval = options.interval
        limits.history = options.resolvedHistory
        limits.logCapacity = options.logBytes
        limits.data = options.count
        let identity = AgentIdentity(
            run: RunName.random(), version: Version.current, started: wall.now, host: .current())
        store = EventStore(on: loop, wall: wall, identity: identity, limits: limits)
        notices = Notices(on: loop)
        started = loop.clock.now
        stopRequest = Wakeup(loop: loop)
        outputEnded = Wakeup(loop: loop)
    }

    /// Runs until something ends it.
    ///
    /// - Returns: the exit status.
    func run() async throws -> Int32 {
        let signals = try SignalWatch([SIGINT, SIGTERM, SIGQUIT, SIGHUP], on: loop) { [unowned self] number in
            self.assumeIsolated { $0.received(number) }
        }
        defer { signals.cancel() }
        let demo = plan.options.demo ? try CatAPIServer(loop: loop, seed: .random(in: 0...(.max))) : nil
        let sources = try plan.sources(demoOrigin: demo?.origin)
        let transport = try CurlTransport(on: loop)

        let status = await withTaskGroup(of: Void.self) { group in
            start(sources, transport, in: &group)
            try? await stopRequest.wait()
            let status = await wind(down: stop ?? .signal(SIGTERM))
            group.cancelAll()
            return status
        }
        await demo?.stop()
        return status
    }

    private func start(_ sources: [HTTPSource], _ transport: CurlTransport, in group: inout TaskGroup<Void>) {
        let (store, loop, wall, options) = (store, loop, wall, plan.options)
        let notices = self.notices
        group.addTask { try? await notices.run() }
        group.addTask { try? await store.run() }
        if options.output == .ndjson {
            isOutputRunning = true
            group.addTask {
                let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
                let ending = try? await output.run { loop throws(SystemError) in
                    try DescriptorStream.standard(STDOUT_FILENO, on: loop)
                }
                await self.outputDidEnd(ending)
            }
        }
        if options.verbosity > .quiet {
            let reporter = FailureReporter(
                store: store, notices: notices, on: loop, everyRequest: options.verbosity == .verbose)
            group.addTask { try? await reporter.run() }
        }
        group.addTask {
            try? await ProcessSampler(store: store, on: loop, wall: wall, interval: options.interval).run()
        }
        for source in sources {
            let poller = HTTPPoller(source, store: store, transport: transport, on: loop, wall: wall)
            group.addTask { try? await poller.run() }
        }
        if let duration = options.duration {
            group.addTask { if (try? await loop.sleep(for: duration)) != nil { await self.request(.duration) } }
        }
        if options.count != nil {
            group.addTask { if (try? await store.waitForLimit()) != nil { await self.request(.count) } }
        }
    }

    // MARK: The end

    private func request(_ stop: Stop) {
        if self.stop == nil { self.stop = stop }
        stopRequest.signal()
    }

    private func received(_ number: Int32) {
        switch number {
        case SIGQUIT: Task(executorPreference: loop) { await self.printSummary() }
        case SIGINT where stop != nil: _exit(0)  // the second one leaves at once
        default: request(.signal(number))
        }
    }

    private func outputDidEnd(_ ending: StreamOutput.Ending?) {
        isOutputRunning = false
        outputEnded.signal()
        switch ending {
        case .readerGone: request(.readerGone)
        case .failed(let error): request(.outputFailed(error))
        case .finished, nil: break
        }
    }

    /// Lets the outputs have what there is, for a while, and says what it all came to.
    private func wind(down stop: Stop) async -> Int32 {
        await store.finish(stop.reason)
        if isOutputRunning {
            let limit = loop.schedule(after: Self.drainTime) { [outputEnded] in outputEnded.signal() }
            try? await outputEnded.wait()
            loop.cancel(limit)
        }
        let hadEvents = await store.counts.data > 0
        var status: Int32 = 0
        switch stop {
        case .signal(SIGINT): await printSummary()
        case .count, .duration:
            if isatty(STDERR_FILENO) == 1 { await printSummary() }
            if !hadEvents { status = 1 }
        case .outputFailed(let error):
            await notices.say("catwatch: stdout: \(error.reason)\n")
            status = 1
        case .signal, .readerGone: break
        }
        await notices.drain(within: Self.noticeTime)
        return status
    }

    private func printSummary() async {
        guard plan.options.verbosity > .quiet else { return }
        let summary = await Summary(
            elapsed: started.duration(to: loop.clock.now), events: store.counts.data, endpoints: store.endpoints)
        await notices.say(summary.text)
    }
}

/// Names a run of the agent.
enum RunName {
    /// 16 hexadecimal digits.
    static func random() -> String {
        let digits = String(UInt64.random(in: 0...(.max)), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Signals by name.
enum SignalName {
    /// `SIGTERM`; the number where there is no name.
    static func text(_ number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGTERM: "SIGTERM"
        case SIGHUP: "SIGHUP"
        case SIGQUIT: "SIGQUIT"
        default: "signal \(number)"
        }
    }
}
