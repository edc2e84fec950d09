package import Feed
package import Nats
package import Reactor

/// Publishes the feed to a stream: performs the steps of `NatsSteps`. Slow servers block nothing but this output.
///
/// Lines that the log drops meanwhile become a `gap`, as for every slow reader; the stream gets it too.
package actor NatsOutput {
    private let name: String
    private let stream: String
    private let broker: any Broker
    private let store: EventStore
    private let loop: EventLoop
    private let worker: any Worker
    private let tell: @Sendable (Event.Body) -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var steps: NatsSteps
    /// Signalled when there may be something to do.
    private let more: Wakeup

    /// How long to wait after the end of the feed for servers that accept nothing: outputs have 5 s for their end.
    private static let lastPatience = Duration.seconds(4)
    /// How often the end of the feed is checked.
    private static let glance = Duration.milliseconds(500)

    /// - Parameters:
    ///   - name: the agent's name.
    ///   - host: the machine's name.
    ///   - broker: used only on `worker`, which a stopped server may block.
    ///   - tell: reports the output's state, in the feed or to a person.
    package init(
        as name: String, of host: String, _ settings: NatsSettings, to broker: any Broker,
        store: EventStore, on loop: EventLoop, worker: any Worker, random: any RandomNumberGenerator & Sendable,
        tell: @escaping @Sendable (Event.Body) -> Void
    ) {
        self.name = name
        stream = settings.stream
        self.broker = broker
        self.store = store
        self.loop = loop
        self.worker = worker
        self.tell = tell
        steps = NatsSteps(as: name, of: host, settings, random: random, at: loop.clock.now)
        more = Wakeup(loop: loop)
    }

    /// Publishes until the feed ends or the task is cancelled: a request in progress is then abandoned.
    package func run() async throws(CancellationError) {
        let (reader, greeting) = await store.open("nats:\(name)") { [more] in more.signal() }
        if !greeting.isEmpty {
            steps.read(.greeting(greeting), of: await store.run, isFleet: false, at: loop.clock.now)
        }
        let isDone =
            (try? await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { try await self.publishAll(reader) }
                group.addTask { try await self.enforceShutdownDeadline() }
                defer { group.cancelAll() }
                return try await group.next()
            }) ?? false
        if !isDone, await store.isOver {
            let missing = steps.missing(of: await store.run, through: await store.nextSequence - 1)
            if missing > 0 { tell(.error(Failure(.closed, "nats: the last \(missing) lines were not published"))) }
        }
        loop.leave(to: worker) { [broker] in broker.close() }
        await store.close(reader)
        if !isDone { throw CancellationError() }
    }

    /// Enforces the deadline at shutdown: returns when the feed is over and nothing was stored for too long, whatever
    /// else is waiting.
    private func enforceShutdownDeadline() async throws -> Bool {
        while await !store.isOver { try await loop.sleep(for: Self.glance) }
        let over = loop.clock.now
        while case let end = max(over, steps.progressed).advanced(by: Self.lastPatience), loop.clock.now < end {
            try await loop.sleep(until: end)
        }
        return false
    }

    /// Publishes everything; returns true at the end of the feed.
    private func publishAll(_ reader: ReaderID) async throws -> Bool {
        let stream = stream
        while true {
            let step = steps.next(at: moment)
            await store.setState(steps.state, of: reader)
            for body in steps.takeNews() { tell(body) }
            switch step {
            case .connect:
                let most = try await ask { broker throws(NatsFault) in
                    try broker.connect()
                    return broker.mostMessage
                }
                steps.connect(most, at: loop.clock.now)
            case .check:
                let found = try await ask { broker throws(NatsFault) in try broker.stream(stream) }
                steps.check(found, at: loop.clock.now)
            case .publish(let message):
                let receipt = try await ask { broker throws(NatsFault) in try broker.publish(message) }
                steps.publish(receipt, at: moment)
            case .greet(let most):
                let greeting =
                    await store.isCurrent(reader) ? await store.greeting(isFiltered: false, atMost: most) : nil
                steps.greet(greeting, isFleet: await store.isOfFleet, at: loop.clock.now)
            case .readKept(let cursor, let limit):
                let (lines, count, next) = await store.keptLines(at: cursor, atMost: limit)
                steps.readKept(lines, count, next, at: loop.clock.now)
            case .read:
                read(reader)
            case .wait(let time): try await more.wait(until: time)
            case .pause(let time): try await sleep(for: time)
            case .end: return true
            }
        }
    }

    /// In one step: a greeting is of the run that the feed has then.
    private func read(_ reader: ReaderID) {
        let (delivery, run, isFleet) = store.assumeIsolated {
            ($0.dequeue(for: reader), $0.run, $0.isOfFleet)
        }
        steps.read(delivery, of: run, isFleet: isFleet, at: loop.clock.now)
    }

    private var moment: Moment { Moment(wall: store.wallTime, now: loop.clock.now) }

    private func ask<Value: Sendable>(
        _ work: @escaping @Sendable (any Broker) throws(NatsFault) -> Value
    ) async throws -> Result<Value, NatsFault> {
        let broker = broker
        return try await loop.offload(to: worker) { Result { () throws(NatsFault) in try work(broker) } }
    }

    /// Sleeps, but only briefly once the feed is over.
    private func sleep(for time: Duration) async throws {
        let end = loop.clock.now.advanced(by: time)
        repeat {
            try await loop.sleep(until: min(end, loop.clock.now.advanced(by: Self.glance)))
        } while await !store.isOver && loop.clock.now < end
    }
}
