import Feed
import Reactor
import TestSupport

@testable import catwatch

/// A second agent, which is attached to the first one by its socket, and has readers of its own.
final class AttachedAgent: @unchecked Sendable {  // touched on one loop only
    private let agent: SimulatedAgent
    /// The one that it is attached to.
    private let first: SimulatedAgent
    private let clients: [SimulatedClient]
    private unowned let world: SimulatedWorld
    private let loop: EventLoop
    private var random: SeededGenerator
    /// Of what the one that lives prints.
    private var witness: ReaderWitness?
    private var former: [ReaderWitness] = []
    /// Since when it has had the lines of the first agent's one that lives; nil while it has not.
    private var joined: (time: LoopInstant, incarnation: Int)?

    private static let path = "/attached.sock"
    /// As much as has room for what is read at once behind half of it, as in every agent outside of a simulation.
    private static let logBytes = 256 << 10
    /// How long it may take to get what was there before, also across runs, for which it waits for readers.
    private static let patience = Duration.seconds(2)

    init(
        to first: SimulatedAgent, at socket: String, on machine: SimulatedMachine, in world: SimulatedWorld,
        seed: UInt64
    ) {
        (self.first, self.world) = (first, world)
        loop = machine.loop
        random = SeededGenerator(seed: seed)
        agent = SimulatedAgent("attached agent", servingAt: Self.path, on: machine, in: world, seed: seed &+ 1)
        arguments = ["--attach=\(socket)", "--output=ndjson", "--reader-timeout=2s"]
        let kinds: [ReaderWitness.Kind] = [.socket, .events]
        clients = kinds.enumerated().map { [agent] index, kind in
            SimulatedClient(
                "reader \(index) of the attached agent", kind, of: agent, in: world,
                seed: seed &+ 1_000_003 &* UInt64(index + 1))
        }
        for client in clients {
            // What the first agent has let go of before they have it is missing here, too.
            client.witness.oldest = { [agent] in
                guard let own = agent.oldest(of: $0), let oldest = first.oldest(of: $0) else { return nil }
                return max(own, oldest)
            }
        }
    }
    private let arguments: [String]

    func live() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.agent.run { self.begin($0) } }
            for client in clients { group.addTask { await client.live() } }
            group.addTask { await self.breakOff() }
        }
    }

    /// Has it lose the first agent now and then, which goes on meanwhile; also for longer than the log of that reaches back.
    private func breakOff() async {
        while !Task.isCancelled {
            let pause = Duration.microseconds(Int64.random(in: 1_000_000...6_000_000, using: &random))
            guard (try? await loop.sleep(for: pause)) != nil else { return }
            if world.hasEnded { continue }
            let isLong = random.next() % 3 == 0
            let absence = Duration.microseconds(isLong ? Int64.random(in: 0...6_000_000, using: &random) : 0)
            world.note("the attached agent loses its connection for \(Int(absence.milliseconds)) ms")
            world.count("lost attachments")
            let end = loop.clock.now.advanced(by: absence)
            agent.process?.breakConnections()
            while loop.clock.now < end, !world.hasEnded {
                guard (try? await loop.sleep(for: .milliseconds(100))) != nil else { return }
                agent.process?.breakConnections()
            }
        }
    }

    private func begin(_ number: Int) -> SimulatedAgent.Beginning {
        var parts = SimulatedProcess.Parts()
        parts.logBytes = Self.logBytes
        parts.servesEvents = true
        let witness = ReaderWitness("attached agent \(number)", .socket) { [unowned world] in world.accuse($0) }
        // What it prints is read at once: it misses nothing but what the first agent has let go of.
        witness.oldest = { [first] in first.oldest(of: $0) }
        witness.connect()
        self.witness = witness
        joined = nil
        return SimulatedAgent.Beginning(arguments: arguments, parts: parts, seed: random.next()) { [world] in
            witness.take($0, world.feeds)
        } end: { isOrderly in
            witness.disconnect(mayCut: !isOrderly)
            if isOrderly, witness.isGreeted, !witness.isOver { self.world.accuse("\(witness.name) ends without bye") }
            self.former.append(witness)
        }
    }

    func crash() {
        agent.crash()
        world.count("crashes of an attached agent")
    }

    func stop() { agent.stop() }

    /// It must have what was there some time ago.
    ///
    /// - Parameter isHeld: whether the journal, which it may get lines from, may take its time.
    func check(_ next: Int, of run: String, _ incarnation: Int, since time: LoopInstant, isHeld: Bool) {
        agent.drain()
        guard agent.isStopping == false, let store = agent.store,
            let isConnected = store.assumeIsolated({ $0.numbers.attachment?.isConnected }), isConnected, !isHeld
        else {
            joined = nil
            return
        }
        if joined?.incarnation != incarnation { joined = (loop.clock.now, incarnation) }
        guard let witness, let joined, joined.time.advanced(by: Self.patience) <= time else { return }
        if witness.run != run {
            return world.accuse("\(witness.name) is with \(witness.run ?? "nobody"), and not with \(run)")
        }
        if witness.next < next { world.accuse("\(witness.name) has not got \(next - 1), only \(witness.next - 1)") }
        for client in clients {
            client.check(next, of: run, since: joined.time.advanced(by: Self.patience), isHeld: false)
        }
    }

    func settle(_ records: [String: FeedRecord]) {
        witness?.settle(records)
        for client in clients { client.witness.settle(records) }
    }

    /// Has its readers read to the end, and then ends it.
    func end() async {
        for client in clients { client.isWelcome = true }
        agent.stop()
        await agent.waitUntilGone()
    }

    /// What came of it, at the end.
    var witnesses: [ReaderWitness] { former + clients.map(\.witness) }

    func checkRemains() { agent.checkRemains() }
}
