import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// Whole agents in virtual time, and one whose sources they are.
@Suite(.limited) struct FleetTests {
    private static func machine(on loop: EventLoop) -> SimulatedMachine {
        SimulatedMachine(on: loop) { number, _ in
            if number % 40 == 0 { return HTTPAnswer(status: 503, body: []) }
            return HTTPAnswer(status: 200, body: Array(#"{"fact": "Cats sleep.", "length": \#(number)}"#.utf8))
        }
    }

    private static func watch(_ agent: Int) -> [String] {
        ["-u", "http://cats.test/fact", "-e", "2s", "-o", "ndjson", "--listen=/web\(agent).sock"]
    }

    private static let attach = (1...3).map { "--attach=/web\($0).sock" } + ["-o", "ndjson", "--journal=/fleet.db"]

    /// Where lines came from, and what was said to be lost.
    private static func origins(_ lines: [String]) throws -> (lines: [MemberPosition], lost: Set<MemberPosition>) {
        var (origins, lost): ([MemberPosition], Set<MemberPosition>) = ([], [])
        for text in lines {
            guard let origin = MemberPosition(ofLine: text) else { continue }
            if case .lost(let said) = try LineDecoder.decode(Bytes(Array(text.utf8))).body {
                lost.formUnion(said.numbers.map { MemberPosition(origin.member, LineID(origin.line.run, $0)) })
            } else {
                origins.append(origin)
            }
        }
        return (origins, lost)
    }

    /// What an agent said, but for windows, which are computed anew.
    private static func said(_ process: SimulatedProcess, as agent: String) throws -> [MemberPosition] {
        var run = ""
        var origins: [MemberPosition] = []
        for text in process.output {
            let line = try LineDecoder.decode(Bytes(Array(text.utf8)))
            if case .hello(let hello) = line.body { run = hello.run }
            if case .window = line.body { continue }
            if let sequence = line.seq { origins.append(MemberPosition(agent, LineID(run, sequence))) }
        }
        return origins
    }

    @Test func severalAgentsAreOneFeedWhoeverIsRestarted() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            var agents = (1...3).map { SimulatedProcess(on: machine, seed: UInt64($0)) }
            let fleets = [SimulatedProcess(on: machine, seed: 90), SimulatedProcess(on: machine, seed: 91)]
            var all = agents
            try await withThrowingTaskGroup(of: Int32.self) { group in
                func run(_ process: SimulatedProcess, _ arguments: [String]) {
                    group.addTask(executorPreference: loop) { try await process.run(arguments) }
                }
                for (index, agent) in agents.enumerated() { run(agent, Self.watch(index + 1)) }
                try await loop.sleep(for: .seconds(1))
                run(fleets[0], Self.attach)
                try await loop.sleep(for: .seconds(30))
                // One ends in order, and begins anew.
                agents[1].signal(SIGTERM)
                try await loop.sleep(for: .seconds(5))
                agents[1] = SimulatedProcess(on: machine, seed: 12)
                all.append(agents[1])
                run(agents[1], Self.watch(2))
                try await loop.sleep(for: .seconds(30))
                // The fleet is gone on the spot, and is back in time for what the agents' logs have.
                fleets[0].crash()
                try await loop.sleep(for: .seconds(20))
                run(fleets[1], Self.attach)
                try await loop.sleep(for: .seconds(45))
                for agent in agents { agent.signal(SIGTERM) }
                try await loop.sleep(for: .seconds(2))
                fleets[1].signal(SIGTERM)
                try await group.waitForAll()
            }
            let kept = machine.journal(at: "/fleet.db").runs
            #expect(kept.count == 2)
            let journal: [String] = kept.flatMap { $0.lines }
            let (lines, lost) = try Self.origins(journal)
            #expect(lost.isEmpty)
            #expect(Set(lines).count == lines.count, "some lines are there twice")
            var truth: Set<MemberPosition> = []
            for (index, process) in all.enumerated() {
                truth.formUnion(try Self.said(process, as: "web\(index < 3 ? index + 1 : 2)"))
            }
            // What had been said before the fleet began is in the agents' logs.
            #expect(Set(lines) == truth, "\(Set(lines).symmetricDifference(truth))")
            for agent in 1...3 {
                for run in Set(lines.filter { $0.member == "web\(agent)" }.map(\.line.run)) {
                    let numbers = lines.filter { $0.member == "web\(agent)" && $0.line.run == run }.map(\.line.sequence)
                    #expect(numbers == numbers.sorted(), "out of order")
                }
            }
            // That one was away is said, and that it is back.
            let about = journal.filter { $0.contains(#""source":"web2.catwatch""#) }
            #expect(about.contains { $0.contains(#""code":"closed","message":"web2: the agent has ended""#) })
            #expect(about.contains { $0.contains(#""type":"recovered""#) })
            #expect(fleets[1].output.first?.contains(#""fleet":true"#) == true)
        }
    }

    @Test func aFleetIsNoMemberOfAnother() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let (agent, fleet) = (SimulatedProcess(on: machine, seed: 1), SimulatedProcess(on: machine, seed: 2))
            let outer = SimulatedProcess(on: machine, seed: 3)
            let through = SimulatedProcess(on: machine, seed: 4)
            async let first = agent.run(Self.watch(1))
            try await loop.sleep(for: .seconds(1))
            async let second = fleet.run(
                ["-a=/web1.sock", "-u", "http://cats.test/own", "--listen=/fleet.sock", "-o", "ndjson"])
            try await loop.sleep(for: .seconds(1))
            async let third = outer.run(["-a=/fleet.sock", "-u", "http://cats.test/own", "-o", "ndjson"])
            async let fourth = through.run(["-a=/fleet.sock", "-o", "ndjson"])
            try await loop.sleep(for: .seconds(130))
            for process in [outer, through, fleet, agent] { process.signal(SIGTERM) }
            #expect(try await [first, second, third, fourth] == [0, 0, 0, 0])
            let said = outer.output.filter { $0.contains("is a fleet itself") }
            #expect(said.count == 1 && said[0].contains(#""source":"fleet.catwatch""#), "\(said)")
            #expect(!outer.output.contains { $0.contains("fleet.web1.fact") })
            // By itself it can be read.
            #expect(through.output.contains { $0.contains(#""source":"web1.fact""#) })
            #expect(through.output.first?.contains(#""fleet":true"#) == true)
        }
    }
}
