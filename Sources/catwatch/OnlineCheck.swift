internal import CatAPI
internal import Conditions
internal import Feed
internal import Glibc
internal import Inputs
internal import Nats
internal import Outputs
internal import Reactor
internal import Settings

/// `catwatch check --online`: asks every source once and reports the results.
actor OnlineCheck {
    /// The result of a source so far.
    private struct Result {
        var events = 0
        /// Its first few lines, safe for a terminal.
        var lines: [String] = []
        var latency: LatencySample?
        var failure: Failure?
        /// The number that was chosen as the value, where no setting says which.
        var value: String?
        /// Whether a complete answer has come, even an empty list.
        var isAnswered = false

        var isDecided: Bool { events > 0 || failure != nil || isAnswered }
    }

    private let store: EventStore
    private let loop: EventLoop
    private let runner: SourceRunner
    private let decided: Wakeup
    private var results: [String: Result] = [:]
    private var alerts = AlertCheck([])
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The most lines that are shown for a source, and the most characters of each.
    private static let mostLines = 3
    private static let longestLine = 300
    /// The time that a source gets beyond its own deadline.
    private static let grace = Duration.seconds(5)
    /// The most time for what comes behind the first event of a source, as a stream may never rest.
    private static let mostRest = Duration.seconds(2)

    init(in platform: Platform) {
        let loop = platform.loop
        let store = EventStore(on: loop, wall: platform.wall, identity: platform.identity)
        let polls = PollRequests(on: loop)
        let factory = platform.inputs
        self.store = store
        self.loop = loop
        // Without spreading the first polls, so that no source takes longer than its own deadline.
        runner = SourceRunner(store: store, polls: polls, on: loop) { source, _ in
            factory.input(of: source, into: store, polls: polls)
        }
        decided = Wakeup(loop: loop)
    }

    /// Asks the sources, but no NATS streams; each stops at its first result or at the deadline.
    ///
    /// - Returns: the report, a line or more for each source and then for each alert, and the exit status: 1 when a source
    ///   fails or delivers nothing, otherwise 3 when an alert fires.
    func run(_ sources: [Source], _ rules: [AlertRule] = []) async -> (report: String, status: Int32) {
        alerts = AlertCheck(rules)
        if !rules.isEmpty {
            let (run, window, moment) = await (store.run, store.limits.interval, store.moment)
            await store.setObserver(AlertEngine(rules, run: run, window: window, at: moment))
        }
        // Standard input, files and FIFOs are not read, because a check must not consume their data.
        let sources = sources.filter { if case .nats = $0 { false } else { true } }
        let tried = sources.filter { if case .stdin = $0 { false } else { true } }
        for source in tried { results[source.description.name] = Result() }
        let patience = (tried.map(\.patience).max() ?? .zero) + Self.grace
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.runner.run(tried) }
            group.addTask { try? await self.read() }
            let deadline = loop.clock.now.advanced(by: patience)
            var rest = tried
            while !rest.isEmpty, loop.clock.now < deadline {
                guard (try? await decided.wait(until: deadline)) != nil else { break }
                if !rules.isEmpty { try? await waitForRest(until: deadline) }
                // The others need more time; finished sources are stopped, so that none is asked twice.
                rest.removeAll { results[$0.description.name]?.isDecided == true }
                if !rest.isEmpty { await runner.replace(with: rest) }
            }
            group.cancelAll()
        }
        let texts = sources.map { text(of: $0) } + [alerts.report]
        let isFine = results.values.allSatisfy { $0.isDecided && $0.failure == nil }
        return (texts.joined(), !isFine ? 1 : alerts.isFiring ? Agent.alertStatus : 0)
    }

    /// Waits until nothing comes for a moment: an answer with many items comes in pieces, and then what sets decide.
    private func waitForRest(until deadline: LoopInstant) async throws(CancellationError) {
        let end = min(deadline, loop.clock.now.advanced(by: Self.mostRest))
        var last = 0
        while case let next = await store.nextSequence, next > last, loop.clock.now < end {
            last = next
            try await loop.sleep(for: .milliseconds(25))
        }
    }

    private func text(of source: Source) -> String {
        let name = Sanitizer.visible(source.description.name, limit: 100)
        guard let result = results[source.description.name] else {
            return "\(name): not read, as it is standard input or a file\n"
        }
        var text = "\(name): "
        if let failure = result.failure {
            text += "\(failure.code.rawValue): \(Sanitizer.visible(failure.message, limit: 1_000))\n"
        } else if !result.isDecided {
            text += "nothing came\n"
        } else {
            let time = result.latency.map { " in \(Duration.microseconds($0.ms * 1_000).shortText)" } ?? ""
            let isEmpty = result.events == 0 && result.latency?.status != 304
            let what = source.isFeed ? " (the agent answers)" : isEmpty ? " (an empty list)" : ""
            text += "\(result.events) event\(result.events == 1 ? "" : "s")\(what)\(time)\n"
        }
        if let value = result.value { text += "  \(value)\n" }
        for line in result.lines { text += "  \(line)\n" }
        if result.events > result.lines.count { text += "  … and \(result.events - result.lines.count) more\n" }
        return text
    }

    /// Reads the feed until the task is cancelled.
    private func read() async throws(CancellationError) {
        let (reader, _) = await store.open(nil)
        while true {
            guard case .lines(let span) = try await store.next(for: reader) else { continue }
            var splitter = LineSplitter(limit: 2 << 20)
            span.withUnsafeBytes { splitter.push(Bytes($0)) }
            while let line = splitter.next() {
                if case .line(let bytes) = line { handle(bytes) }
            }
        }
    }

    private func handle(_ bytes: Bytes) {
        guard let line = try? LineDecoder.decode(bytes), let name = line.source else { return }
        if case .alert(let alert) = line.body, line.agent == nil { return alerts.apply(alert) }
        // A line about a source of a fleet's member counts for the source that stands for the member.
        let source = line.agent.map { SourceDescription(agent: $0).name } ?? name
        guard let known = results[source] else { return }
        defer { if !known.isDecided, results[source]?.isDecided == true { decided.signal() } }
        switch line.body {
        case .memory, .agent: results[source]?.isAnswered = true
        case .latency where name != source, .error where name != source: break
        case .data(let data):
            results[source]?.events += 1
            if let value = data.valueReport { results[source]?.value = value }
            if let count = results[source]?.lines.count, count < Self.mostLines {
                let text = String(decoding: bytes, as: UTF8.self)
                results[source]?.lines.append(Sanitizer.visible(text, limit: Self.longestLine))
            }
        case .latency(let sample):
            results[source]?.latency = sample
            if sample.status == 304 { results[source]?.isAnswered = true }
        case .progress: results[source]?.isAnswered = true
        case .error(let failure): if results[source]?.failure == nil { results[source]?.failure = failure }
        default: break
        }
    }
}

extension Source {
    /// Whether the source is another agent's feed.
    fileprivate var isFeed: Bool { if case .feed = self { true } else { false } }

    /// How long the first event may take.
    fileprivate var patience: Duration {
        switch self {
        case .http(let source): source.request.timeout
        case .pages(let source): source.request.timeout
        case .webSocket(let source): source.request.timeout + source.pingEvery
        case .stdin, .nats: .zero
        case .fibonacci: .seconds(60)
        case .feed: .seconds(15)
        }
    }
}

extension OnlineCheck {
    /// Asks a plan's sources once and prints the report on stderr.
    ///
    /// - Returns: the exit status: 1 when a source fails or delivers nothing, or NATS has a problem; otherwise 3 when an alert
    ///   fires.
    static func run(_ plan: WatchPlan, in platform: Platform) async throws -> Int32 {
        let demo = try platform.startDemo(plan.options)
        let sources = try plan.sources(demoOrigin: demo?.origin)
        let notices = Notices(on: platform.loop)
        let status = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await notices.run { _ throws(SystemError) in try platform.openStandard(STDERR_FILENO) }
            }
            var result = await OnlineCheck(in: platform).run(sources, plan.alerts)
            for case .nats(let source) in sources {
                let (report, isFine) = NatsCheck.run(source, platform.reader(source.servers))
                result = (result.report + report, isFine ? result.status : 1)
            }
            if let settings = plan.options[\.nats] {
                let name = plan.options[\.agentName] ?? AgentName.of(host: platform.host.name)
                let (report, isFine) = NatsCheck.run(settings, as: name, platform.broker(settings, name))
                result = (result.report + report, isFine ? result.status : 1)
            }
            for piece in pieces(of: result.report) {
                await notices.say(piece)
                await notices.drain(within: .seconds(5))
            }
            group.cancelAll()
            return result.status
        }
        await demo?.stop()
        platform.stopWorkers()
        return status
    }

    /// The lines of a report in pieces that `Notices` takes.
    static func pieces(of report: String) -> [String] {
        report.split(separator: "\n").reduce(into: []) { pieces, line in
            if let last = pieces.last, last.utf8.count + line.utf8.count < 32 << 10 {
                pieces[pieces.count - 1] += "\(line)\n"
            } else {
                pieces.append("\(line)\n")
            }
        }
    }
}
