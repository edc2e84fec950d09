import TestSupport
import Testing

@testable import Reactor

@Suite(.limited) struct TimerHeapTests {
    /// A timer as the twin keeps it: a sorted list.
    private struct Entry {
        let timer: LoopTimer
        let deadline: Int64
        let order: UInt64
    }

    @Test(arguments: 1...8) func agreesWithASortedListOnRandomSequences(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var heap = TimerHeap()
        var twin: [Entry] = []
        var gone: [LoopTimer] = []
        var now: Int64 = 0
        for step in 0..<LongRun.rounds(short: 4_000, long: 20_000) {
            switch random.next() % 16 {
            case 0..<8:
                // Few different deadlines: many ties.
                let deadline = now + Int64.random(in: -20...200, using: &random)
                let order = heap.mark
                let timer = heap.insert(deadline: LoopInstant(nanoseconds: deadline)) {}
                let place = twin.firstIndex { $0.deadline > deadline } ?? twin.count
                twin.insert(Entry(timer: timer, deadline: deadline, order: order), at: place)
            case 8..<12:
                guard let index = twin.indices.randomElement(using: &random) else { continue }
                heap.remove(twin[index].timer)
                gone.append(twin.remove(at: index).timer)
            case 12:
                if let timer = gone.randomElement(using: &random) { heap.remove(timer) }
            default:
                now += Int64.random(in: 0...30, using: &random)
                let mark = random.next() % 4 == 0 ? UInt64.random(in: 0...heap.mark, using: &random) : heap.mark
                let popped = heap.popDue(at: LoopInstant(nanoseconds: now), setBefore: mark)
                var expected: LoopTimer?
                if let first = twin.first, first.deadline <= now, first.order < mark {
                    expected = twin.removeFirst().timer
                }
                #expect(popped === expected, "step \(step), seed \(seed)")
                if let popped { gone.append(popped) }
            }
            #expect(heap.count == twin.count, "step \(step), seed \(seed)")
            #expect(heap.earliest?.nanoseconds == twin.first?.deadline, "step \(step), seed \(seed)")
            if heap.count != twin.count { return }
        }
        // What is left comes out in order, each timer once.
        for entry in twin {
            #expect(heap.popDue(at: LoopInstant(nanoseconds: .max), setBefore: .max) === entry.timer, "seed \(seed)")
        }
        #expect(heap.count == 0)
    }
}
