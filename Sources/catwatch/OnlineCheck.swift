internal import CatAPI
internal import Feed
internal import Glibc
internal import Inputs
internal import Nats
internal import Outputs
internal import Reactor
internal import Settings

/// Tries every source once and says what came of it: `catwatch check --online`.
actor OnlineCheck {
    /// What a source has come to so far.
    private struct Result {
        var events = 0
        /// The first few of its lines, as a person may see them.
        var lines: [String] = []
        var latency: LatencySample?
        var failure: Failure?
        /// Which number is taken for the value, where nobody said.
        var value: String?
        /// Whether a whole answer has come, be it an empty list.
        var isAnswered = false

        var isDecided: Bool { events > 0 || failure != nil || isAnswered }
    }

    private let store: EventStore
    private let loop: EventLoop
    private let runner: SourceRunner
    private let decided: Wakeup
    private var results: [String: Result] = [:]
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How many lines of a source are shown, and how much of each.
    private static let mostLines = 3
    private static let longestLine = 300
    /// What a source gets beyond its own deadline.
    private static let grace = Duration.seconds(5)

    init(in surroundings: Surroundings) {
        let loop = surroundings.loop
        let store = EventStore(on: loop, wall: surroundings.wall, identity: surroundings.identity)
        let desk = PollDesk(on: loop)
        let factory = surroundings.inputs
        self.store = store
        self.loop = loop
        // All at once: none is to be waited for longer than its own deadline.
        runner = SourceRunner(store: store, desk: desk, on: loop) { source, _ in
            factory.input(of: source, into: store, desk: desk)
        }
        decided = Wakeup(loop: loop)
    }

    /// Tries the sources but streams until each has come to something, which ends it, or has had its time.
    ///
    /// - Returns: the report, a line or more for each source, and whether every source had something to tell.
    func run(_ sources: [Source]) async -> (report: String, isFine: Bool) {
        // Standard input and what comes through a FIFO are not to be eaten by somebody who only looks.
        let sources = sources.filter { if case .nats = $0 { false } else { true } }
        let tried = sources.filter { if case .stdin = $0 { false } else { true } }
        for source in tried { results[source.description.name] = Result() }
        let patience = (tried.map(\.patience).max() ?? .zero) + Self.grace
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.runner.run(tried) }
            group.addTask { try? await self.read() }
            let deadline = loop.clock.now.advanced(by: patience)
            let timer = loop.schedule(at: deadline) { [decided] in decided.signal() }
            var rest = tried
            while !rest.isEmpty, loop.clock.now < deadline {
                guard (try? await decided.wait()) != nil else { break }
                // Others may take their time, and none is asked again meanwhile.
                rest.removeAll { results[$0.description.name]?.isDecided == true }
                if !rest.isEmpty { await runner.replace(with: rest) }
            }
            loop.cancel(timer)
            group.cancelAll()
        }
        let texts = sources.map { text(of: $0) }
        return (texts.joined(), results.values.allSatisfy { $0.isDecided && $0.failure == nil })
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

    /// Looks at the feed until the task is cancelled.
    private func read() async throws(CancellationError) {
        let (reader, _) = await store.open(nil)
        while true {
            guard case .lines(let span) = try await store.next(for: reader) else { continue }
            var splitter = LineSplitter(limit: 2 << 20)
            span.withUnsafeBytes { splitter.push(Bytes($0)) }
            while let line = splitter.next() {
                if case .line(let bytes) = line { take(bytes) }
            }
        }
    }

    private func take(_ bytes: Bytes) {
        guard let line = try? LineDecoder.decode(bytes), let name = line.source else { return }
        // What an agent of a fleet has of its own sources is the answer of the source that stands for it.
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
    /// Whether it is another agent's feed.
    fileprivate var isFeed: Bool { if case .feed = self { true } else { false } }

    /// How long a first event may take.
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
    /// Tries the sources of a plan once and says on stderr what came of it.
    ///
    /// - Returns: the exit status: 1 when a source has nothing to tell.
    static func run(_ plan: WatchPlan, in surroundings: Surroundings) async throws -> Int32 {
        let demo = try surroundings.startDemo(plan.options)
        let sources = try plan.sources(demoOrigin: demo?.origin)
        let notices = Notices(on: surroundings.loop)
        let isFine = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await notices.run { _ throws(SystemError) in try surroundings.openStandard(STDERR_FILENO) }
            }
            var result = await OnlineCheck(in: surroundings).run(sources)
            for case .nats(let source) in sources {
                let (report, isFine) = NatsCheck.run(source, surroundings.reader(source.servers))
                result = (result.report + report, result.isFine && isFine)
            }
            if let settings = plan.options[\.nats] {
                let name = plan.options[\.agentName] ?? AgentName.of(host: surroundings.host.name)
                let (report, isFine) = NatsCheck.run(settings, as: name, surroundings.broker(settings, name))
                result = (result.report + report, result.isFine && isFine)
            }
            await notices.say(result.report)
            await notices.drain(within: .seconds(5))
            group.cancelAll()
            return result.isFine
        }
        await demo?.stop()
        surroundings.stopWorkers()
        return isFine ? 0 : 1
    }
}
