import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct WriteTrailTests {
    @Test func findsTheWayBackAsAListOfEverythingDoes() {
        for seed in 91...94 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let reach = Int(random.next() % 5_000)
            var trail = WriteTrail(reach: reach)
            var all: [(sequence: Int, bytes: Int)] = []
            var sequence = 1
            for round in 0..<2_000 {
                let bytes = 1 + Int(random.next() % 300)
                trail.record(sequence: sequence, bytes: bytes)
                all.append((sequence, bytes))
                sequence += 1 + Int(random.next() % 5)
                let back = Int(random.next() % UInt64(reach + bytes + 1))
                var left = back
                let expected = all.reversed().first {
                    left -= $0.bytes
                    return left <= 0
                }
                #expect(trail.sequence(bytesBack: back) == expected?.sequence, "seed \(seed), round \(round)")
                if random.next() % 500 == 0 {
                    trail.removeAll()
                    all.removeAll()
                    #expect(trail.sequence(bytesBack: 1) == nil)
                }
            }
        }
    }

    @Test func forgetsWhatIsNoLongerAskedFor() {
        var trail = WriteTrail(reach: 1_000)
        for sequence in 1...100_000 { trail.record(sequence: sequence, bytes: 100) }
        #expect(trail.count < 200)
    }
}
