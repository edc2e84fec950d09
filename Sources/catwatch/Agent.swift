internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Journal
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal
internal import Web

/// The running program: inputs, store and outputs on one loop, from the start to the exit status.
actor Agent {
    /// The reason why the agent ends.
    enum Stop: Sendable, Equatable {
        case signal(Int32)
        case count
        case duration
        case readerGone
        case outputFailed(SystemError)
        /// The attached agent is gone, and we do not wait for it.
        case agentLost
        /// Every input has ended.
        case complete
        /// The user quit the view.
        case quit
        /// The single frame of `--once` is printed.
        case frame
        /// `catwatch wait` is decided.
        case waited

        /// Whether it may be the regular end of `--once`.
        var isOfOnce: Bool {
            switch self {
            case .frame, .complete, .count, .duration: true
            default: false
            }
        }

        /// The reason in the `bye` line.
        var reason: String {
            switch self {
            case .signal(let number): SignalName.text(number)
            case .count: "count"
            case .duration: "duration"
            case .readerGone, .outputFailed, .agentLost: "closed"
            case .complete: "end"
            case .quit, .frame, .waited: "quit"
            }
        }
    }

    /// The current plan; replaced by a reload.
    private var plan: WatchPlan
    /// The plan at the start: its settings that need a restart still hold.
    private let firstPlan: WatchPlan
    private let stdoutMode: StdoutMode
    private let platform: Platform
    /// The wall clock of a recording that is played back.
    private let replay: ReplayClock?
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Simulations look at it too, after every step.
    nonisolated let store: EventStore
    private let polls: PollRequests
    private let notices: Notices
    private let factory: OutputFactory
    private let outputs: OutputRunner
    private var view: ViewOutput?
    /// Decides when and how `catwatch wait` ends.
    private let waiting: WaitOutput?
    /// Nil where no alerts are computed: of another agent's feed, and by `catwatch wait`.
    private let alerts: AlertKeeper?
    private let started: LoopInstant
    private let stopRequest: Wakeup
    private var stop: Stop?
    /// Whether an input ended before it had delivered everything.
    private var isCutShort = false
    /// Whether there was a second reason to end, which limits the wait for outputs.
    private var isHurried = false
    /// The journal's writer, if there is a journal.
    private let lines: (any LineStore)?
    private var journal: JournalOutput?
    /// Reads the journal; simulations use it for HTTP readers of their own.
    nonisolated let history: JournalQueue?
    /// Reads what readers need of the runs before.
    private var restoring: Task<Void, any Error>?
    private let summaryRequest: Wakeup
    private let reloadRequest: Wakeup
    /// The time since a reload was first rejected; ends with the next one that works.
    private var reloadOutage = Outage<Bool>()
    private var runner: SourceRunner?
    /// The origin of the stand-in API, when it runs.
    private var demoOrigin: String?
    /// The agent whose feed is passed on, if any.
    private let passedOn: FeedSource?
    /// The owner of the attached socket, when that is another user.
    private var agentOwner: UInt32?

    /// The exit status when an alert fires in the answers of one round.
    static let alertStatus: Int32 = 3
    /// How long to wait for stderr at the end.
    private static let noticeTime = Duration.milliseconds(500)

    init(_ plan: WatchPlan, stdoutMode: StdoutMode, in platform: Platform) throws(UsageError) {
        passedOn = try plan.passedOn()
        self.plan = plan
        firstPlan = plan
        self.stdoutMode = stdoutMode
        let (loop, options) = (platform.loop, plan.options)
        self.loop = loop
        var platform = platform
        replay = options[\.replay].map { _ in
            ReplayClock(on: loop, before: platform.wall, speed: options[\.speed])
        }
        if let replay { platform.wall = replay }
        self.platform = platform
        var limits = FeedState.Limits()
        limits.series = options[\.maxSeries]
        limits.interval = options[\.interval]
        limits.history = options.resolvedHistory
        limits.logCapacity = platform.logBytes(options)
        limits.keptCapacity = options[\.keptBytes]
        limits.data = options[\.count]
        let identity = platform.identity
        store = EventStore(
            on: loop, wall: platform.wall, identity: identity, limits: limits,
            isRelay: options.isRelay, isRecording: replay != nil,
            isFleet: plan.isFleet, awaitsPositions: options[\.journal] != nil)
        polls = PollRequests(on: loop)
        notices = Notices(on: loop)
        let journal = options[\.journal].map { platform.openJournal($0, JournalSettings(options)) }
        lines = journal?.lines
        history = journal.map {
            JournalQueue(
                $0.history, on: loop, worker: platform.makeWorker("journal reader"), wall: platform.wall)
        }
        factory = OutputFactory(
            store: store, polls: polls, notices: notices, platform: platform, isRelay: options.isRelay,
            history: history)
        started = loop.clock.now
        stopRequest = Wakeup(loop: loop)
        summaryRequest = Wakeup(loop: loop)
        reloadRequest = Wakeup(loop: loop)
        outputs = OutputRunner(factory)
        let origin: WaitOutput.Origin =
            replay != nil ? .recording : passedOn != nil ? .agent : plan.isFleet ? .fleet : .sources
        waiting =
            stdoutMode == .wait
            ? WaitOutput(options, origin, store: store, notices: notices, in: platform) : nil
        alerts =
            stdoutMode == .wait || options.isRelay
            ? nil : AlertKeeper(plan.alerts, store: store, on: loop)
    }

    /// Runs until something ends it.
    ///
    /// - Returns: the exit status.
    func run() async throws -> Int32 {
        let signals = try platform.watchSignals { [unowned self] number in
            self.assumeIsolated { $0.received(number) }
        }
        defer { signals?.value.cancel() }
        if signals != nil { tellOfIgnoredReload() }
        let socket = try platform.inheritSocket() ?? platform.listen(plan.options)
        defer { socket?.remove() }
        let port = try platform.openPort(plan.options)
        let demo = try platform.startDemo(plan.options)
        demoOrigin = demo?.origin
        let sources: [Source]
        do {
            sources = try plan.sources(demoOrigin: demoOrigin)
            // Before the journal begins, so that its readers find the sources in front of the run's first line.
            for source in sources { _ = await store.claim(source.description) }
            try await startJournal()
        } catch {
            await demo?.stop()
            throw error
        }
        makeRoom(for: sources, plan.options, isServed: socket != nil, hasPage: port != nil)
        let service = platform.service
        let view = ViewOutput(
            stdoutMode, plan.options, target: target(of: sources), store: store, polls: polls, notices: notices,
            replay: replay, past: past, in: platform)
        self.view = view

        if history == nil { await alerts?.begin() }
        let status = await withTaskGroup(of: Void.self) { group in
            startInputs(sources, shownBy: view, in: &group)
            await startOutputs(view, at: socket, port)
            group.addTask { [notices, platform] in
                try? await notices.run { _ throws(SystemError) in try platform.openStandard(STDERR_FILENO) }
            }
            startReports(sources, in: &group)
            if let history { group.addTask { try? await history.run() } }
            restoring = Task(executorPreference: loop) {
                try await self.restore(for: view)
            }
            startEndings(in: &group)
            group.addTask { try? await self.runSummaries() }
            group.addTask { try? await self.runReloads() }
            service?.tell("READY=1\nSTATUS=\(statusText(sources))")
            try? await stopRequest.wait()
            service?.tell("STOPPING=1")
            let status = await wind(down: stop ?? .signal(SIGTERM))
            group.cancelAll()
            return status
        }
        await outputs.end()
        socket?.remove()  // first, because the rest takes time
        await demo?.stop()
        platform.stopWorkers()
        return status
    }

    /// Reports that SIGHUP is ignored (nohup), if it would have reloaded or reopened something.
    private func tellOfIgnoredReload() {
        let reads = firstPlan.canReload && waiting == nil
        guard reads || plan.options[\.outputFile] != nil, plan.options.verbosity > .quiet, SignalWatch.isIgnored(SIGHUP)
        else { return }
        let what = reads ? "reloads nothing" : "does not open the output file anew"
        let text = "catwatch: SIGHUP was ignored when catwatch started (nohup), so SIGHUP \(what)\n"
        notices.assumeIsolated { $0.say(text) }
    }

    // MARK: Inputs

    /// Starts all inputs.
    private func startInputs(_ sources: [Source], shownBy view: ViewOutput?, in group: inout TaskGroup<Void>) {
        let (store, loop, interval) = (store, loop, plan.options[\.interval])
        group.addTask { try? await store.run() }
        if let passedOn {
            startAttach(passedOn, shownBy: view, in: &group)
            return
        }
        if let path = plan.options[\.replay], let replay {
            startReplay(path, replay, shownBy: view, in: &group)
            return
        }
        let sampler = ProcessSampler(
            store: store, on: loop, wall: platform.wall, interval: interval, usage: platform.usage)
        group.addTask { try? await sampler.run() }
        let factory = platform.inputs
        let runner = SourceRunner(store: store, polls: polls, on: loop) { [polls] in
            factory.input(of: $0, into: store, polls: polls, spread: $1)
        }
        self.runner = runner
        group.addTask { if (try? await runner.run(sources)) != nil { await self.inputsDidEnd(runner.isCutShort) } }
    }

    private func inputsDidEnd(_ isCutShort: Bool) {
        self.isCutShort = isCutShort
        request(.complete)
    }

    private func makeRoom(for sources: [Source], _ options: Options, isServed: Bool, hasPage: Bool) {
        let readers = isServed || hasPage ? options[\.maxReaders] : 0
        // A reader over HTTP takes two descriptors.
        platform.makeRoom(sources.count + readers * (hasPage ? 2 : 1) + (hasPage ? WebServer.requests : 0))
    }

    /// Starts reading from a running agent.
    private func startAttach(
        _ agent: FeedSource, shownBy view: ViewOutput?, in group: inout TaskGroup<Void>
    ) {
        let target = target(of: agent)
        let transport = platform.inputs.feed(at: agent.place) { [unowned self] owner in
            assumeIsolated { $0.show(owner, of: target) }
        }
        let input = AttachInput(
            store: store, polls: polls, on: loop, by: transport, reconnects: !plan.options[\.noReconnect],
            random: platform.random()
        ) { [notices, waiting, tells = stdoutMode.isLines] status in
            if tells || status.isFinal, let text = status.text {
                await notices.say("catwatch: \(target): \(text)\n")
            }
            await view?.show(status)
            await waiting?.show(status)
        }
        group.addTask { if (try? await input.run()) != nil { await self.request(.agentLost) } }
    }

    /// Starts playing back a recording.
    private func startReplay(
        _ path: String, _ clock: ReplayClock, shownBy view: ViewOutput?, in group: inout TaskGroup<Void>
    ) {
        let from = plan.options[\.from]?.time(now: clock.base.now) { LocalTime.offset(at: $0) }
        let input = ReplayInput(
            replayTarget(path), from: from, store: store, clock: clock, on: loop
        ) { [notices, isQuiet = plan.options.verbosity == .quiet] text, isFatal in
            if isFatal || !isQuiet { await notices.say("catwatch: \(text)\n") }
        } begun: {
            await view?.show(.connected)
        } open: { [platform] in
            try await platform.openRecording(path, from: from)
        }
        group.addTask { if (try? await input.run()) != nil { await self.inputsDidEnd(input.isCutShort) } }
    }

    private func replayTarget(_ path: String) -> String { path == "-" ? "standard input" : Sanitizer.visible(path) }

    /// Shows the owner of a running agent's socket; names him if that is another user and was not named before.
    private func show(_ owner: UInt32?, of target: String) {
        // The owner need not be the user who runs the agent: the service manager may have opened the socket.
        if let owner, owner != agentOwner, plan.options.verbosity > .quiet {
            let text = "catwatch: \(target): the socket is \(DefaultSocket.name(of: owner))'s\n"
            notices.assumeIsolated { $0.say(text) }
        }
        view?.show(owner: owner.map(DefaultSocket.name))
        agentOwner = owner
    }

    /// The source of older lines for the view: this agent's journal, or the attached agent's.
    private var past: (any PastFeed)? {
        if let history { return JournalPast(history: history) }
        // Over HTTP the view cannot ask for older lines.
        guard case .socket(let path)? = passedOn?.place else { return nil }
        return AgentPast(on: loop) { [platform] in LoopBound(try platform.attach(path).stream) }
    }

    // MARK: Outputs

    /// Starts the journal before there are lines to keep: it determines how the run begins.
    private func startJournal() async throws {
        guard let lines else { return }
        let flag = SettingTable.rows.journal.flag
        guard let (journal, run) = factory.journal(lines, plan.options) else {
            throw UsageError("there is no thread left for it", option: flag)
        }
        self.journal = journal
        await outputs.start(run)
        do {
            try await journal.waitUntilBegun()
        } catch let fault as JournalFault {
            await outputs.end()
            throw UsageError(fault.reason, option: flag)
        }
    }

    /// Restores what a journal has of the runs before.
    private func restore(for view: ViewOutput?) async throws {
        defer { if let history, !firstPlan.options.isRelay { release(history) } }
        // First, as the log does not have the lines of this run for long.
        try await restoreAlerts()
        if try await restoreState() { await journal?.beginStates() }
        await store.observeRestored()
        await view?.setRestored()
    }

    // Bound: lines of a journal read for the previous run | the newest 64 MiB | older ones left out
    private static let mostRestored = 64 << 20

    /// Restores what new readers need of the runs before, from the journal's newest state and the lines behind it. Other agents
    /// send theirs themselves.
    ///
    /// - Returns: false if the journal cannot be read.
    private func restoreState() async throws -> Bool {
        guard let history, !firstPlan.options.isRelay else { return true }
        let (run, now) = (await store.run, platform.wall.now)
        let state = RecordedState(on: loop, limits: await store.limits, until: now + (await store.limits.interval))
        var reading = PastReading(from: .state, nil, as: .lines, atMost: Self.mostRestored)
        reading: while true {
            switch try await history.step(&reading) {
            // What is newest half-way is not the state.
            case .end(.some): return false
            case .bytes(let bytes) where reading.next?.run != run: state.add(bytes)
            case .bytes, .last, .end: break reading
            }
            while state.merge() { try await loop.sleep(for: .zero) }
        }
        while state.merge(all: true) { try await loop.sleep(for: .zero) }
        // A piece at a time, as there may be thousands of lines.
        for piece in state.pieces.dropFirst() {
            await store.restore(RecordedState.lines(in: piece, of: run, at: now))
            try await loop.sleep(for: .zero)
        }
        return true
    }

    /// Computes alerts from now on, with those of the runs before.
    private func restoreAlerts() async throws {
        guard let history, let alerts else { return }
        guard let fault = try await alerts.begin(after: history) else { return }
        await notices.say("catwatch: alerts of earlier runs are unknown: \(Sanitizer.visible(fault.reason))\n")
    }

    /// Lets the journal close without files beside it, unless readers are at it.
    private func release(_ history: JournalQueue) { history.assumeIsolated { $0.release() } }

    /// Starts all outputs.
    private func startOutputs(_ view: ViewOutput?, at socket: ListeningSocket?, _ port: ListeningPort?) async {
        if let view { await outputs.start { if let stop = await view.run() { await self.request(stop) } } }
        if let waiting { await outputs.start { if let stop = await waiting.run() { await self.request(stop) } } }
        if stdoutMode == .ndjson {
            let stdout = factory.stdout()
            await outputs.start { if let stop = await stdout() { await self.request(stop) } }
        }
        if let settings = plan.options[\.nats] {
            if let run = factory.nats(settings, as: plan.options[\.agentName]) {
                await outputs.start(run)
            } else {
                await notices.say("catwatch: \(SettingTable.rows.nats.flag): there is no thread left for it\n")
            }
        }
        await outputs.replace(
            with: plan.options, socket: socket, port: port, WebSettings(plan, demo: demoOrigin))
        await tell(of: port)
    }

    /// Prints the page's URL; a view has no room for it.
    private func tell(of port: ListeningPort?) async {
        guard let url = port?.url, plan.options.verbosity > .quiet, stdoutMode.isLines else { return }
        await notices.say("catwatch: the page is at \(url)\n")
        guard plan.options[\.httpOpen] || plan.webToken != nil else { return }
        let names = (["any address", "localhost"] + plan.options[\.httpHost]).joined(separator: ", ")
        await notices.say(
            "catwatch: it answers to \(names); \(SettingTable.rows.httpHost.flag) NAME allows another name\n")
    }

    /// The sources, agent or recording that the agent waits for, in words for people.
    private func target(of sources: [Source]) -> String {
        if let passedOn { return target(of: passedOn) }
        if let path = plan.options[\.replay] { return replayTarget(path) }
        var targets: Set<String> = []
        let watched = sources.map(\.target).filter { targets.insert($0).inserted }
        return Sanitizer.visible(watched.joined(separator: ", "), limit: 200)
    }

    private func target(of agent: FeedSource) -> String {
        guard case .socket(let path) = agent.place else { return Sanitizer.visible(agent.target) }
        return Sanitizer.visible(path ?? DefaultSocket.path(environment: plan.environment))
    }

    /// Starts the reports to people and to the service manager.
    private func startReports(_ sources: [Source], in group: inout TaskGroup<Void>) {
        let (store, polls, loop, options) = (store, polls, loop, plan.options)
        let platform = platform
        // A view shows failures itself, and who waits is told of them in the end.
        let reports =
            waiting == nil
            ? options.verbosity > .quiet && (stdoutMode.isLines || !platform.errorIsTerminal)
            : options.verbosity == .verbose
        if reports {
            let reporter = FailureReporter(
                store: store, notices: notices, on: loop,
                wall: platform.machineWall,
                everyRequest: options.verbosity == .verbose)
            group.addTask { try? await reporter.run() }
        }
        if options.verbosity > .quiet, sources.contains(where: { if case .pages = $0 { true } else { false } }),
            platform.errorIsTerminal, !platform.outputIsTerminal, stdoutMode.isLines
        {
            let reporter = ProgressReporter(
                store: store, notices: notices, on: loop, style: platform.capabilities.isASCII ? .ascii : .unicode
            ) { platform.screenSize(STDERR_FILENO).columns }
            group.addTask { try? await reporter.run() }
        }
        if let service = platform.service, let interval = service.watchdog {
            group.addTask { try? await Watchdog(polls: polls, on: loop, service: service, interval: interval).run() }
        }
    }

    /// The text for `systemctl status`.
    private func statusText(_ sources: [Source]) -> String {
        if passedOn != nil { return "attached" }
        if plan.options[\.replay] != nil { return "playing back" }
        return sources.count == 1 ? "watching \(sources[0].description.name)" : "watching \(sources.count) sources"
    }

    /// Prints the summary whenever a signal asks for it.
    private func runSummaries() async throws(CancellationError) {
        while true {
            try await summaryRequest.wait()
            await printSummary()
        }
    }

    // MARK: Reload

    /// Handles SIGHUP whenever it arrives; several pending signals count once.
    private func runReloads() async throws(CancellationError) {
        let service = platform.service
        while true {
            try await reloadRequest.wait()
            service?.tell("RELOADING=1\nMONOTONIC_USEC=\(loop.clock.now.nanoseconds / 1_000)")
            // After the end of the feed, restarted sources would deliver everything again.
            if firstPlan.canReload, stop == nil { await reload() }
            try await outputs.reopenFiles()
            service?.tell("READY=1")
        }
    }

    /// Reads the configuration again and replaces sources and outputs; an invalid one changes nothing.
    private func reload() async {
        do {
            let (new, sources, socket, port) = try await readAnew()
            await outputs.hold(socket)
            makeRoom(for: sources ?? [], new.options, isServed: socket != nil, hasPage: port != nil)
            let bound = await outputs.port
            var changes: SourceRunner.Changes?
            if let sources { changes = await runner?.replace(with: sources) }
            plan = new
            await alerts?.replace(with: new.alerts)
            await store.greetAll()
            let outputChanges = await outputs.replace(
                with: new.options, socket: socket, port: port, WebSettings(new, demo: demoOrigin))
            if let recovery = reloadOutage.end(at: loop.clock.now) {
                await store.sayOfItself(.recovered(recovery), about: Self.reloading)
            }
            if port != bound { await tell(of: port) }
            for notice in new.notices { await notices.say("catwatch: \(notice)\n") }
            let frozen = new.restartKeys(comparedTo: firstPlan)
            if !frozen.isEmpty {
                await notices.say("catwatch: restart to change \(frozen.joined(separator: ", "))\n")
            }
            if outputChanges.started + outputChanges.stopped > 0 {
                await notices.say(
                    "catwatch: outputs: \(outputChanges.started) started, \(outputChanges.stopped) stopped, "
                        + "\(outputChanges.kept) kept\n")
            }
            if let changes {
                await notices.say(
                    "catwatch: reloaded: \(changes.added) sources added, \(changes.changed) changed, "
                        + "\(changes.removed) removed, \(changes.kept) kept\n")
            } else {
                await notices.say("catwatch: reloaded\n")
            }
        } catch is CancellationError {
            // The agent ends, so the configuration does not matter.
        } catch {
            let text = (error as? UsageError)?.description ?? "\(error)"
            await notices.say("\(text)\ncatwatch: nothing was reloaded\n")
            // A feed that is passed on gets no lines of this agent, even if the new configuration would allow it.
            guard !firstPlan.options.isRelay else { return }
            let failure = Failure(.config, "the configuration was not reloaded: \(Self.firstLine(of: text))")
            _ = reloadOutage.fail(by: true, at: loop.clock.now)
            await store.sayOfItself(.error(failure), about: Self.reloading)
        }
    }

    private static let reloading = "reload"

    /// Reads the plan again on a worker thread and claims its socket and port, so that errors are found before anything
    /// changes.
    private func readAnew() async throws -> (WatchPlan, [Source]?, ListeningSocket?, ListeningPort?) {
        guard platform.reloads.start() else { throw SystemError(code: EAGAIN, call: "pthread_create") }
        let (served, bound) = await (outputs.socket, outputs.port)
        let (old, first, origin) = (plan, firstPlan, demoOrigin)
        let (listen, claimPort) = (platform.listen, platform.claimPort)
        return try await loop.offload(to: platform.reloads) {
            let new = try first.reload(running: old)
            // Whether a feed is passed on cannot change at run time.
            let sources = first.options.isRelay || new.options.isRelay ? nil : try new.sources(demoOrigin: origin)
            let wanted = new.options.socketPath(environment: new.environment)
            // The service manager's socket and port are kept, whatever the configuration says.
            let isKept = served.map { $0.path == nil || $0.path == wanted } ?? false
            let staysBound = bound.map { $0.address == nil || $0.address == new.options[\.http] } ?? false
            if staysBound { try bound?.check(new.options) }
            let port = staysBound ? bound : try claimPort(new.options)
            return (new, sources, isKept ? served : try listen(new.options), port)
        }
    }

    private static func firstLine(of text: String) -> String {
        String(text.split(whereSeparator: \.isNewline).first ?? "")
    }

    // MARK: The end

    private func startEndings(in group: inout TaskGroup<Void>) {
        let (store, loop) = (store, loop)
        if let duration = plan.options[\.duration] {
            group.addTask { if (try? await loop.sleep(for: duration)) != nil { await self.request(.duration) } }
        }
        if plan.options[\.count] != nil {
            group.addTask { if (try? await store.waitForLimit()) != nil { await self.request(.count) } }
        }
    }

    private func request(_ stop: Stop) {
        if self.stop == nil {
            self.stop = stop
        } else {
            isHurried = true
            // The last lines of a complete feed wait for outputs without limit; a second reason ends that too.
            if self.stop == .complete { store.assumeIsolated { $0.finish(stop.reason) } }
            outputs.assumeIsolated { $0.hurry() }
            restoring?.cancel()
        }
        stopRequest.signal()
    }

    private func received(_ number: Int32) {
        switch number {
        case SIGQUIT: summaryRequest.signal()
        case SIGHUP where waiting == nil && (firstPlan.canReload || outputs.assumeIsolated({ $0.hasFile })):
            reloadRequest.signal()
        // A second SIGINT exits at once; so does a signal after `q` while the terminal blocks.
        case SIGINT where isViewLeaving, SIGTERM where isViewLeaving: leave(by: number)
        case SIGINT where stop != nil && (stop != .complete || isHurried): leave(by: number)
        default: request(.signal(number))
        }
    }

    private var isViewLeaving: Bool { view?.isLeaving == true }

    /// Exits at once, after restoring the terminal and removing the socket.
    private func leave(by signal: Int32) {
        view?.giveBack()
        outputs.assumeIsolated { $0.giveBack() }
        platform.exit(waiting == nil ? 0 : Self.status(of: signal))
    }

    /// The exit status of a shell's command that a signal has ended.
    private static func status(of signal: Int32) -> Int32 { 128 + signal }

    /// Ends the feed, lets the outputs drain, and prints the result.
    private func wind(down stop: Stop) async -> Int32 {
        await runner?.end()
        // A short run has alerts too.
        try? await alerts?.waitUntilBegun(until: loop.clock.now.advanced(by: OutputRunner.drainTime))
        restoring?.cancel()
        if stop == .complete { try? await store.complete() }
        await store.finish(stop.reason)
        await outputs.drain(within: stop == .complete ? nil : OutputRunner.drainTime)
        if let waiting { return await end(waiting, by: stop) }
        let hadEvents = await store.counts.data > 0
        var status: Int32 = 0
        switch stop {
        case .signal(SIGINT), .quit: await printSummary()
        case .frame: status = await store.hasEvents ? 0 : 1
        case .count, .duration, .complete:
            if platform.errorIsTerminal { await printSummary() }
            if !hadEvents {
                status = 1
                if plan.options.verbosity > .quiet { await notices.say("catwatch: not a single event came\n") }
            }
            if stop == .complete, isCutShort { status = 1 }
        case .outputFailed(let error):
            await notices.say("catwatch: stdout: \(error.reason)\n")
            status = 1
        case .agentLost: status = 1
        case .signal, .readerGone, .waited: break
        }
        // A failure is more: what it leaves out might fire as well.
        if status == 0, stop.isOfOnce, case .once = stdoutMode, await store.firingAlerts > 0 {
            status = Self.alertStatus
        }
        await notices.drain(within: Self.noticeTime)
        return status
    }

    /// Prints how the waiting ended; returns the exit status.
    private func end(_ waiting: WaitOutput, by stop: Stop) async -> Int32 {
        var status = await (waiting.outcome ?? .ended).rawValue
        var signal: String?
        // Not even if the lines that were left have met it: nobody who presses Ctrl-C wants to go on.
        if case .signal(let number) = stop { (status, signal) = (Self.status(of: number), SignalName.text(number)) }
        do {
            try await waiting.print(
                isStopped: signal != nil,
                to: { [platform] _ throws(SystemError) in try platform.openStandard(STDOUT_FILENO) },
                isTerminal: platform.outputIsTerminal)
        } catch {
            if let error = error as? SystemError, error.code != EPIPE {
                await notices.say("catwatch: stdout: \(error.reason)\n")
                status = WaitOutput.Outcome.ended.rawValue
            }
        }
        if let sentence = await waiting.sentence(signal: signal) { await notices.say("catwatch: \(sentence)\n") }
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
