internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// The running program: inputs, store and outputs on one loop, from the start to the exit status.
actor Agent {
    /// Why it ends.
    enum Stop: Sendable, Equatable {
        case signal(Int32)
        case count
        case duration
        case readerGone
        case outputFailed(SystemError)
        /// The attached agent is gone, and not to be waited for.
        case agentLost
        /// Every input has come to its end.
        case complete
        /// Somebody left the view.
        case quit
        /// The one frame is printed.
        case frame

        /// As the `bye` line says it.
        var reason: String {
            switch self {
            case .signal(let number): SignalName.text(number)
            case .count: "count"
            case .duration: "duration"
            case .readerGone, .outputFailed, .agentLost: "closed"
            case .complete: "end"
            case .quit, .frame: "quit"
            }
        }
    }

    /// What it does; another one after a reload.
    var plan: WatchPlan
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let wall = SystemWallClock()
    let stdoutMode: StdoutMode
    let capabilities: TerminalCapabilities
    var session: TerminalSession?
    var printer: FramePrinter?
    /// Whom is waited for, by name.
    var watched: [String] = []
    let store: EventStore
    let notices: Notices
    private let started: LoopInstant
    private let stopRequest: Wakeup
    private var stop: Stop?
    /// Whether there was a second reason to end: the outputs are waited for no longer than they must be.
    private var isHurried = false
    private let summaryRequest: Wakeup
    let reloadRequest: Wakeup
    let transport: CurlTransport
    var runner: SourceRunner?
    /// Reads the documents of all sources: one at a time, as there is one loop.
    let reader = LoopBound(JSONReader.forInputs())
    /// What was read of standard input and not looked at yet.
    lazy var standardInput = LoopBound(StdinLines())
    /// Over which time the first polls are spread.
    var spread = Duration.zero
    /// Where the stand-in API is, when it runs.
    var demoOrigin: String?
    private let outputEnded: Wakeup
    /// Outputs that are to have everything before the end.
    private var draining = 0
    var fileOutput: FileOutput?
    /// Where blocking work is done, and where long sums are; made when there are some.
    private var worker: LoopThread?
    private var computer: LoopThread?
    let service: ServiceManager?
    var listening: ListeningSocket?

    /// How long stdout is waited for at the end.
    private static let drainTime = Duration.seconds(5)
    /// How long stderr is waited for at the end.
    private static let noticeTime = Duration.milliseconds(500)

    init(_ plan: WatchPlan, stdoutMode: StdoutMode, capabilities: TerminalCapabilities, on loop: EventLoop) throws {
        self.stdoutMode = stdoutMode
        self.capabilities = capabilities
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
        store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isRelay: options.attach != nil)
        notices = Notices(on: loop)
        service = ServiceManager(environment: plan.environment)
        started = loop.clock.now
        stopRequest = Wakeup(loop: loop)
        summaryRequest = Wakeup(loop: loop)
        reloadRequest = Wakeup(loop: loop)
        transport = try CurlTransport(on: loop)
        outputEnded = Wakeup(loop: loop)
    }

    /// Runs until something ends it.
    ///
    /// - Returns: the exit status.
    func run() async throws -> Int32 {
        let heard = [SIGTERM] + [SIGINT, SIGQUIT, SIGHUP].filter { !SignalWatch.isIgnored($0) }
        let signals = try SignalWatch(heard, on: loop) { [unowned self] number in
            self.assumeIsolated { $0.received(number) }
        }
        defer { signals.cancel() }
        listening = try ListeningSocket.open(plan.options, environment: plan.environment)
        defer { listening?.remove() }
        let demo = plan.options.demo ? try CatAPIServer(loop: loop, seed: .random(in: 0...(.max))) : nil
        demoOrigin = demo?.origin
        let sources = try plan.sources(demoOrigin: demoOrigin)
        var targets: Set<String> = []
        watched = sources.map(\.target).filter { targets.insert($0).inserted }
        // Before there is any other thread, which would take these for itself.
        if stdoutMode == .view { SignalWatch.block([SIGWINCH, SIGTSTP, SIGCONT]) }

        let status = await withTaskGroup(of: Void.self) { group in
            startInputs(sources, in: &group)
            startOutputs(in: &group)
            group.addTask { [notices] in try? await notices.run() }
            startEndings(sources, in: &group)
            group.addTask { try? await self.runSummaries() }
            group.addTask { try? await self.runReloads() }
            service?.tell("READY=1\nSTATUS=\(statusText(sources))")
            try? await stopRequest.wait()
            service?.tell("STOPPING=1")
            let status = await wind(down: stop ?? .signal(SIGTERM))
            group.cancelAll()
            return status
        }
        listening?.remove()  // before what takes time
        await demo?.stop()
        stopThreads()
        return status
    }

    /// Prints the summary whenever a signal asks for it.
    private func runSummaries() async throws(CancellationError) {
        while true {
            try await summaryRequest.wait()
            await printSummary()
        }
    }

    private func startEndings(_ sources: [Source], in group: inout TaskGroup<Void>) {
        let (store, loop, options) = (store, loop, plan.options)
        // A view shows failures itself, where they belong.
        if options.verbosity > .quiet, stdoutMode.isLines || isatty(STDERR_FILENO) == 0 {
            let reporter = FailureReporter(
                store: store, notices: notices, on: loop, everyRequest: options.verbosity == .verbose)
            group.addTask { try? await reporter.run() }
        }
        if options.verbosity > .quiet, sources.contains(where: \.hasPages), isatty(STDERR_FILENO) == 1,
            isatty(STDOUT_FILENO) == 0, stdoutMode.isLines
        {
            let reporter = ProgressReporter(
                store: store, notices: notices, on: loop, style: .init(environment: plan.environment)
            ) { [environment = plan.environment] in
                StandardStreams.size(of: STDERR_FILENO, environment: environment).columns
            }
            group.addTask { try? await reporter.run() }
        }
        if let duration = options.duration {
            group.addTask { if (try? await loop.sleep(for: duration)) != nil { await self.request(.duration) } }
        }
        if options.count != nil {
            group.addTask { if (try? await store.waitForLimit()) != nil { await self.request(.count) } }
        }
        if let service, let watchdog = service.watchdog {
            group.addTask { try? await Watchdog(store: store, on: loop, service: service, interval: watchdog).run() }
        }
    }

    /// As `systemctl status` shows it.
    private func statusText(_ sources: [Source]) -> String {
        if plan.options.attach != nil { return "attached" }
        return sources.count == 1 ? "watching \(sources[0].description.name)" : "watching \(sources.count) sources"
    }

    /// The loop for blocking work.
    func workerLoop() -> EventLoop? {
        if worker == nil { worker = try? LoopThread(name: "disk") }
        return worker?.loop
    }

    func stopThreads() {
        worker?.stop()
        computer?.stop()
    }

    /// The loop for work that keeps a processor busy, so that it holds up no disk.
    func computerLoop() -> EventLoop? {
        if computer == nil { computer = try? LoopThread(name: "compute") }
        return computer?.loop
    }

    /// Runs an output that is waited for at the end.
    func addDraining(to group: inout TaskGroup<Void>, _ run: @escaping @Sendable () async -> Stop?) {
        draining += 1
        group.addTask {
            let stop = await run()
            await self.outputDidEnd(stop)
        }
    }

    // MARK: The end

    func request(_ stop: Stop) {
        if self.stop == nil {
            self.stop = stop
        } else {
            isHurried = true
            // Its last lines wait for outputs, however long they take; that is over, too.
            if self.stop == .complete { store.assumeIsolated { $0.finish(stop.reason) } }
            outputEnded.signal()
        }
        stopRequest.signal()
    }

    private func received(_ number: Int32) {
        switch number {
        case SIGQUIT: summaryRequest.signal()
        case SIGHUP where fileOutput != nil || plan.canReload: reloadRequest.signal()
        // The second one leaves at once.
        case SIGINT where stop != nil && (stop != .complete || isHurried): _exit(0)
        default: request(.signal(number))
        }
    }

    private func outputDidEnd(_ stop: Stop?) {
        draining -= 1
        if draining == 0 { outputEnded.signal() }
        if let stop { request(stop) }
    }

    /// Lets the outputs have what there is, for a while, and says what it all came to.
    private func wind(down stop: Stop) async -> Int32 {
        if stop == .complete { try? await store.complete() }
        await store.finish(stop.reason)
        await drain(within: stop == .complete ? nil : Self.drainTime)
        let hadEvents = await store.counts.data > 0
        var status: Int32 = 0
        switch stop {
        case .signal(SIGINT), .quit: await printSummary()
        case .frame: status = hadEvents ? 0 : 1
        case .count, .duration, .complete:
            if isatty(STDERR_FILENO) == 1 { await printSummary() }
            if !hadEvents {
                status = 1
                if plan.options.verbosity > .quiet { await notices.say("catwatch: not a single event came\n") }
            }
        case .outputFailed(let error):
            await notices.say("catwatch: stdout: \(error.reason)\n")
            status = 1
        case .agentLost: status = 1
        case .signal, .readerGone: break
        }
        await notices.drain(within: Self.noticeTime)
        return status
    }

    /// Waits for the outputs that are to have everything.
    ///
    /// - Parameter limit: nil for as long as it takes, which is until somebody asks the program to end: the whole of a
    ///   file is to come out at the other end of a pipe, however slow that is.
    private func drain(within limit: Duration?) async {
        var deadline = limit.map { loop.clock.now.advanced(by: $0) }
        while draining > 0 {
            if deadline == nil, isHurried { deadline = loop.clock.now.advanced(by: Self.drainTime) }
            if let deadline, loop.clock.now >= deadline { return }
            let timer = deadline.map { loop.schedule(at: $0) { [outputEnded] in outputEnded.signal() } }
            let isOver = (try? await outputEnded.wait()) == nil
            if let timer { loop.cancel(timer) }
            if isOver { return }
        }
    }

    private func printSummary() async {
        guard plan.options.verbosity > .quiet else { return }
        let summary = await Summary(
            elapsed: started.duration(to: loop.clock.now), events: store.counts.data, endpoints: store.endpoints)
        await notices.say(summary.text)
    }
}
