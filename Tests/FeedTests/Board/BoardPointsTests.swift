import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct BoardPointsTests {
    @Test(arguments: [(1, 1), (1, 3), (4, 10), (16, 40), (100, 90)])
    func agreesWithOneListOfAllPoints(_ perSeries: Int, _ limit: Int) {
        var random = SeededGenerator(seed: 5)
        var points = BoardHistories<BoardPoint>(limitPerOwner: perSeries, limit: limit)
        var twin: [(series: Int, point: BoardPoint)] = []
        var trimmed: Set<Int> = []
        for sequence in 1...2_000 {
            let series = Int(min(random.next() % 7, random.next() % 7))
            let time = Int64(sequence) - Int64(random.next() % 5)
            let point = BoardPoint(time: Timestamp(microseconds: time), value: 1, sequence: sequence)
            let expiry = Int64(sequence) - 60
            points.append(point, to: series, expiry: expiry)

            while let first = twin.firstIndex(where: { $0.series == series }), twin[first].point.microseconds <= expiry
            {
                twin.remove(at: first)
            }
            twin.append((series, point))
            if twin.count(where: { $0.series == series }) > perSeries,
                let first = twin.firstIndex(where: { $0.series == series })
            {
                twin.remove(at: first)
                trimmed.insert(series)
            }
            if twin.count > limit { trimmed.insert(twin.removeFirst().series) }
            #expect(points.count == twin.count, "seed \(random.seed)")
            if sequence % 10 == 0 {
                for series in 0..<7 {
                    #expect(
                        Array(points[series]) == twin.filter { $0.series == series }.map(\.point), "seed \(random.seed)"
                    )
                    #expect(points.isTrimmed(series) == trimmed.contains(series), "seed \(random.seed)")
                }
            }
        }
    }

    @Test func aRingGivesMemoryBackAsItEmpties() {
        var random = SeededGenerator(seed: 7)
        var ring = BoardRing<Int>(capacity: 4_096)
        var twin: [Int] = []
        for phase in 0..<12 {
            let count = Int(random.next() % 4_096)
            for number in 0..<count {
                ring.append(number)
                twin.append(number)
            }
            twin = twin.suffix(4_096)
            let rest = phase % 3 == 0 ? 0 : twin.count / 7
            while ring.count > rest { ring.removeFirst() }
            twin = twin.suffix(rest)
            #expect(Array(ring) == twin && ring.room <= max(64, rest * 4), "seed \(random.seed)")
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 63, 64])
    func ringsAgreeWithAnArray(_ capacity: Int) {
        var random = SeededGenerator(seed: 6)
        var ring = BoardRing<Int>(capacity: capacity)
        var twin: [Int] = []
        for number in 0..<500 {
            if random.next() % 3 == 0 {
                #expect(ring.first == twin.first)
                ring.removeFirst()
                if !twin.isEmpty { twin.removeFirst() }
            } else {
                let oldest = ring.append(number)
                #expect(oldest == (twin.count == capacity ? twin.first : nil))
                twin.append(number)
                if twin.count > capacity { twin.removeFirst() }
            }
            #expect(Array(ring) == twin)
        }
    }
}
