import Feed
import Reactor
import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct WriteTrailTests {
    private static let time = Timestamp(seconds: 1_800_000_000)

    /// A line of this length with its newline.
    private static func line(_ sequence: Int, _ length: Int) -> [UInt8] {
        let head = "{\"seq\":\(sequence),\"text\":\""
        return Array((head + String(repeating: "x", count: length - head.utf8.count - 3) + "\"}\n").utf8)
    }

    private static func gap(_ missing: ClosedRange<Int>) -> [UInt8] {
        ControlLine.gap(time: time, missing: missing, reason: "slow_reader")
    }

    private static func hello(_ run: String, first: Int) -> [UInt8] {
        ControlLine.hello(
            time: time, identity: AgentIdentity(run: run, version: "1", started: time), isFiltered: false,
            interval: .seconds(10), history: .seconds(120), firstSequence: first, nextSequence: first)
    }

    /// As far as what is resent, and all of the piece that is being written.
    @Test func findsTheWayBackAsAListOfEverythingDoes() {
        for seed in 91...94 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let reach = Int(random.next() % 5_000)
            var (sequence, run) = (1, "r0")
            var trail = WriteTrail(from: LineID(run, sequence), reach: reach)
            var all: [(line: LineID, bytes: Int)] = []
            for round in 0..<2_000 {
                var (piece, counted): ([UInt8], Int) = ([], 0)
                for _ in 0...random.next() % 4 {
                    switch random.next() % 8 {
                    case 0:
                        piece += Self.gap(sequence...sequence + 2)
                        all.append((LineID(run, sequence), 0))
                        sequence += 3
                    case 1 where random.next() % 20 == 0:
                        (sequence, run) = (1 + Int(random.next() % 9), "r\(round)")
                        piece += Self.hello(run, first: sequence)
                        all.append((LineID(run, sequence), 0))
                    case 1: piece += Self.hello(run, first: 1)
                    default:
                        let bytes = 60 + Int(random.next() % 300)
                        piece += Self.line(sequence, bytes)
                        all.append((LineID(run, sequence), bytes))
                        counted += bytes
                        sequence += 1
                    }
                }
                trail.record(.bytes(piece))
                let back = Int(random.next() % UInt64(reach + counted + 1))
                var left = back
                var expected = LineID(run, sequence)
                for line in all.reversed() where left > 0 {
                    left -= line.bytes
                    expected = line.line
                }
                #expect(trail.line(bytesBack: back) == expected, "seed \(seed), round \(round)")
            }
        }
    }

    @Test func beginsWhereTheConnectionDoesWhenLittleWasWritten() {
        var trail = WriteTrail(from: LineID("r", 7), reach: 1_000)
        #expect(trail.line(bytesBack: 0) == LineID("r", 7) && trail.line(bytesBack: 500) == LineID("r", 7))
        trail.record(.bytes(Self.gap(7...20) + Self.line(21, 100)))
        #expect(trail.line(bytesBack: 0) == LineID("r", 22))
        #expect(trail.line(bytesBack: 100) == LineID("r", 21) && trail.line(bytesBack: 101) == LineID("r", 7))
    }

    /// The log may have let go of lines when the run's `hello` is made, which a gap behind it names.
    @Test func aGapMayBeginBeforeItsRun() {
        var trail = WriteTrail(from: LineID("r1", 7), reach: 1_000)
        trail.record(.bytes(Self.line(7, 100) + Self.hello("r2", first: 5)))
        #expect(trail.line(bytesBack: 0) == LineID("r2", 5) && trail.line(bytesBack: 1) == LineID("r1", 7))
        trail = WriteTrail(from: LineID("r1", 7), reach: 1_000)
        trail.record(.bytes(Self.line(7, 100) + Self.hello("r2", first: 5) + Self.gap(1...4) + Self.line(5, 100)))
        #expect(trail.line(bytesBack: 100) == LineID("r2", 5) && trail.line(bytesBack: 101) == LineID("r1", 7))
        trail = WriteTrail(from: LineID("r2", 5), reach: 1_000)
        trail.record(.bytes(Self.gap(1...4) + Self.line(5, 100)))
        #expect(trail.line(bytesBack: 100) == LineID("r2", 5) && trail.line(bytesBack: 101) == LineID("r2", 1))
    }

    @Test func beginsWithTheFirstRunOfWhichSomethingIsWritten() {
        var trail = WriteTrail(from: LineID("unknown", 1), reach: 1_000)
        trail.record(.bytes(Self.hello("r1", first: 5) + Self.line(5, 100) + Self.hello("r1", first: 6)))
        #expect(trail.line(bytesBack: 1_000) == LineID("r1", 5))
    }

    @Test func knowsTheRunsOfItsLines() {
        var trail = WriteTrail(from: LineID("r0", 1), reach: 1_000)
        for number in 1...40 {
            trail.record(.bytes(Self.hello("r\(number)", first: 1) + Self.line(1, 90) + Self.gap(2...number + 1)))
        }
        #expect(trail.line(bytesBack: 1_000) == LineID("r29", 1))
        // Runs of which nothing was written count as well.
        for number in 41...90 { trail.record(.bytes(Self.hello("r\(number)", first: 1))) }
        #expect(trail.line(bytesBack: 1_000) == LineID("r75", 1))
    }

    @Test func forgetsWhatIsNoLongerAskedFor() {
        var trail = WriteTrail(from: LineID("r", 1), reach: 1_000)
        for sequence in 1...10_000 { trail.record(.bytes(Self.line(sequence, 100))) }
        #expect(trail.count < 200)
    }
}
