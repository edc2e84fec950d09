import Feed
import Glibc
import Reactor
import TestSupport

@testable import catwatch

/// The agents that follow each other at one place of a simulated machine: each begins when the one before has ended or crashed.
final class SimulatedAgent: SimulatedService, @unchecked Sendable {  // touched on one loop only
    /// How one is begun, what its parts are, and who reads its standard output.
    struct Beginning: @unchecked Sendable {  // used on one loop only
        var arguments: [String]
        var parts: SimulatedProcess.Parts
        var seed: UInt64
        var take: (UnsafeRawBufferPointer) -> Void
        /// Called behind its last byte; says whether it came to its end in order.
        var end: (Bool) -> Void
    }

    private let name: String
    private let socket: String
    private let machine: SimulatedMachine
    private unowned let world: SimulatedWorld
    private let loop: EventLoop
    private var random: SeededGenerator
    /// The one that lives.
    private(set) var process: SimulatedProcess?
    private var beginning: Beginning?
    private var isToEnd = false
    private(set) var incarnation = 0
    /// When each was told to end that was.
    private var stops: [Int: LoopInstant] = [:]
    /// Those that have been, and what is left of them.
    private var former: [SimulatedProcess] = []
    private var gone: Wakeup
    private let scratch = ReadBuffer()
    /// What a reader has to get that asks for some time.
    var past: ((String, ReaderWitness.Kind, Duration, Duration) -> TimeWitness?)?

    init(_ name: String, servingAt socket: String, on machine: SimulatedMachine, in world: SimulatedWorld, seed: UInt64)
    {
        (self.name, self.socket, self.machine, self.world) = (name, socket, machine, world)
        loop = machine.loop
        random = SeededGenerator(seed: seed)
        gone = Wakeup(loop: loop)
    }

    var store: EventStore? { process?.agent?.store }

    // MARK: Lives

    /// Has one follow the other until the world ends.
    func run(_ begin: @escaping (Int) -> Beginning) async {
        await withDiscardingTaskGroup { group in
            while !world.hasEnded {
                incarnation += 1
                let beginning = begin(incarnation)
                let process = SimulatedProcess(on: machine, seed: beginning.seed, parts: beginning.parts)
                (self.process, self.beginning, isToEnd) = (process, beginning, false)
                world.note("\(name) \(incarnation) starts")
                let number = incarnation
                group.addTask { await self.live(process, beginning.arguments, number) }
                group.addTask { await self.watch(process, beginning) }
                group.addTask { _ = try? await SimulatedProcess.lines(of: process.standard(2)) }
                try? await gone.wait()
                let pause = Duration.microseconds(Int64.random(in: 0...400_000, using: &random))
                if !world.hasEnded { try? await loop.sleep(for: pause) }
            }
        }
    }

    private func live(_ process: SimulatedProcess, _ arguments: [String], _ number: Int) async {
        do {
            let status = try await process.watch(arguments + ["--listen=\(socket)"])
            if status != 0, !process.isDead { world.accuse("\(name) \(number) ends with \(status)") }
        } catch {
            world.accuse("\(name) \(number) ends by \(error)")
        }
        world.note("\(name) \(number) has ended")
        if process === self.process {
            if !isToEnd { world.accuse("\(name) \(number) ends by itself") }
            lose()
        }
    }

    /// The one that lives does so no more.
    private func lose() {
        guard let process else { return }
        former.append(process)
        (self.process, beginning) = (nil, nil)
        gone.signal()
    }

    /// Reads its output as it comes, to the end.
    private func watch(_ process: SimulatedProcess, _ beginning: Beginning) async {
        let stream = process.standard(1)
        while !read(stream, beginning) {
            do { try await stream.waitUntilReadable() } catch { break }
        }
        beginning.end(!process.isDead)
    }

    /// - Returns: whether that was its end.
    private func read(_ stream: SimulatedStream, _ beginning: Beginning) -> Bool {
        while let count = try? stream.read(into: scratch.memory) {
            if count == 0 { return true }
            beginning.take(UnsafeRawBufferPointer(rebasing: scratch.memory[..<count]))
        }
        return false
    }

    /// Reads what there is of its output.
    func drain() {
        guard let process, let beginning else { return }
        _ = read(process.standard(1), beginning)
    }

    func crash() {
        guard let process, !isToEnd else { return }
        world.note("\(name) \(incarnation) crashes")
        world.count("crashes")
        process.crash()
        lose()
    }

    func stop() {
        guard let process, !isToEnd else { return }
        world.note("\(name) \(incarnation) is to end")
        world.count("ends")
        isToEnd = true
        stops[incarnation] = loop.clock.now
        process.signal(SIGTERM)
    }

    /// Waits for the one that lives to end, but not for ever.
    func waitUntilGone() async {
        let patience = loop.clock.now.advanced(by: .seconds(30))
        while process != nil, loop.clock.now < patience { try? await loop.sleep(for: .milliseconds(100)) }
        guard process != nil else { return }
        world.accuse("\(name) \(incarnation) does not end")
        process?.crash()
        lose()
    }

    /// Looks for what is left of those that have been.
    func checkRemains() {
        for (index, process) in former.enumerated() {
            if process.holdsStreams { world.accuse("\(name) \(index + 1) has left streams open") }
            if process.agent != nil || process.store != nil {
                world.accuse("something of \(name) \(index + 1) is left over")
            }
        }
    }

    // MARK: Readers

    func connect(capacity: Int) -> SimulatedStream? { try? machine.connect(to: socket, capacity: capacity) }

    func events(capacity: Int, behind id: String?, _ query: String) -> SimulatedStream? {
        process?.events(capacity: capacity, behind: id, query)
    }

    func timeWitness(
        _ name: String, _ kind: ReaderWitness.Kind, reaching back: Duration, for span: Duration
    ) -> TimeWitness? {
        past?(name, kind, back, span)
    }

    func oldest(of run: String) -> Int? {
        store.flatMap { store in store.assumeIsolated { $0.run == run ? $0.firstSequence : nil } }
    }

    func stopped(_ incarnation: Int) -> LoopInstant? { stops[incarnation] }

    var isStopping: Bool? { process == nil ? nil : isToEnd }
}
