import Reactor
import TestSupport
import Testing

@testable import Feed

/// What a journal keeps of where members are.
@Suite(.limited) struct PositionQueueTests {
    private static let window =
        #""type":"window","source":"fact","series":"fact","start":"2023-11-14T22:13:20Z","seconds":10,"last":1,"last_seq":1,"count":1,"min":1,"max":1,"mean":1"#

    /// What has been read, and the positions that came with it.
    private struct Commit {
        var lines: Int
        var positions: [LineID]
    }

    /// Otherwise a killed hub would have lines twice, or miss some.
    @Test(arguments: 0..<UInt64(LongRun.rounds(short: 4, long: 32)))
    func theyAreNeitherAheadOfTheLinesNorBehind(_ seed: UInt64) async throws {
        let text = String(repeating: "x", count: 2_000)
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let (journal, _) = await fleet.store.open("journal", takesPositions: true)
            var scripts = (0..<6).map { PeerScript(run: "r\($0)") }
            var (read, known): (Int, [LineID: Int]) = (0, [:])
            var commits: [Commit] = []
            for _ in 0..<300 {
                let index = Int.random(in: 0..<6, using: &random)
                var lines = [try scripts[index].hello()]
                for _ in 0..<Int.random(in: 0..<5, using: &random) {
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0: scripts[index].skip(2)
                    case 1: lines.append(try scripts[index].line(Self.window))
                    default:
                        lines.append(
                            try scripts[index].line(
                                #""type":"fact","source":"fact","series":"fact","text":"\#(text)""#))
                    }
                }
                await fleet.receive(lines, from: "web\(index % 2)")
                for _ in 0..<Int.random(in: 0..<3, using: &random) {
                    guard case .lines(let span)? = await fleet.store.dequeue(for: journal) else { continue }
                    read = span.sequences.upperBound
                }
                for position in await fleet.store.takePositions() {
                    #expect(position.member == "web\(position.line.run.utf8.last! % 2)")
                    known[LineID(position.line.run, 0)] = position.line.sequence
                }
                commits.append(Commit(lines: read, positions: known.map { LineID($0.run, $1) }))
            }
            let origins = await fleet.read().lines.map { MemberPosition(ofLine: $0)?.line }
            for commit in commits {
                for run in scripts.map(\.run) {
                    func isOfRun(_ line: LineID?) -> Bool { line?.run == run }
                    let position = commit.positions.first(where: isOfRun)?.sequence ?? 0
                    let last = origins.prefix(commit.lines).last(where: isOfRun)??.sequence ?? 0
                    let next = origins.dropFirst(commit.lines).first(where: isOfRun)??.sequence ?? .max
                    #expect(last <= position && position < next, "seed \(seed): \(run) after \(commit.lines) lines")
                }
            }
        }
    }

    @Test func ofLinesThatTheLogHasDroppedTheNewestOfEachRunStays() {
        var queue = PositionQueue()
        for number in 1...100_000 {
            let position = MemberPosition("web\(number % 10)", LineID("r", number))
            queue.add(position, through: number, logFrom: number - 100)
            #expect(queue.count <= 4_096)
        }
        #expect(queue.take(through: 99_995).map(\.line.sequence) == Array(99_986...99_995))
        #expect(queue.count == 5)
    }

    @Test func withoutAJournalThereAreNone() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var script = PeerScript()
            await fleet.receive([try script.hello(), try script.fact()])
            let (journal, _) = await fleet.store.open("journal", takesPositions: true)
            await fleet.receive([try script.fact()])
            _ = await fleet.store.dequeue(for: journal)
            #expect(await fleet.store.takePositions() == [MemberPosition("web1", LineID("r1", 2))])
            await fleet.store.close(journal)
            await fleet.receive([try script.fact()])
            #expect(await fleet.store.takePositions() == [])
        }
    }
}
