import Reactor
import TestSupport
import Testing

@testable import Feed

/// How much of a batch, or of the windows that are over, goes into the log at a time.
@Suite(.limited) struct FeedStateSliceTests {
    private let wall = Timestamp(seconds: 1_700_000_000)
    private let now = LoopInstant(nanoseconds: 0)

    private static func state(_ capacity: Int) -> FeedState {
        var limits = FeedState.Limits()
        limits.logCapacity = capacity
        return FeedState(limits: limits)
    }

    /// Events of all lengths: bare numbers, long texts of what must be escaped, long keys, a line as long as there may be.
    private func batch(_ count: Int, from source: SourceID, _ random: inout SeededGenerator) -> EventBatch {
        var batch = EventBatch()
        for number in 0..<count {
            var datum = Datum(value: Double(number))
            switch Int.random(in: 0..<20, using: &random) {
            case 0: datum.text = Bytes(repeating: 0x01, count: Int.random(in: 0...5_000, using: &random))
            case 1: datum.key = Bytes(repeating: 0x02, count: Int.random(in: 0...1_100, using: &random))
            case 2:
                let length = Int.random(in: 0...3, using: &random) == 0 ? 1 << 20 : 60_000
                datum.data = [0x22] + Bytes(repeating: 0x61, count: Int.random(in: 0...length, using: &random)) + [0x22]
            default: break
            }
            batch.add(Event(time: wall, source: source, body: .data(datum)))
        }
        return batch
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aSliceFitsAQuarterOfTheLogOrIsOneEvent(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for capacity in [1 << 16, 1 << 20, 8 << 20] {
            var state = Self.state(capacity)
            let source = state.register(SourceDescription(name: String(repeating: "s", count: 900)), at: wall)
            for _ in 0..<LongRun.rounds(short: 3, long: 100) {
                let batch = batch(300, from: source, &random)
                var next = 0
                while next < batch.count {
                    let before = (place: next, cost: state.log.totalCost, sequence: state.log.nextSequence)
                    next = state.publish(batch, from: next, atMost: state.slice, at: Moment(wall: wall, now: now))
                    #expect(next > before.place, "seed \(seed): nothing was published")
                    // And perhaps the one line that says that a key was too long.
                    let lines = state.log.nextSequence - before.sequence
                    #expect((0...1).contains(lines - (next - before.place)), "seed \(seed)")
                    let growth = state.log.totalCost - before.cost
                    // The last one is the one that there was no room for: whatever it takes, the others take less.
                    let last = 1_200_000
                    let isOne = next - before.place == 1
                    #expect(
                        growth <= capacity / 4 || isOne || growth <= capacity / 8 + last,
                        "seed \(seed): \(next - before.place) events took \(growth) of \(capacity)")
                }
                #expect(next == batch.count)
            }
        }
    }

    @Test func windowsOfManySeriesCloseASliceAtATime() throws {
        let capacity = 1 << 20
        var state = Self.state(capacity)
        let source = state.register(SourceDescription(name: "s"), at: wall)
        let count = 8_000
        var batch = EventBatch()
        for number in 0..<count {
            batch.add(Event(time: wall, source: source, body: .data(Datum(key: Bytes("\(number)".utf8), value: 1))))
        }
        state.publish(batch, at: Moment(wall: wall, now: now))
        let first = state.log.nextSequence
        let later = wall + .seconds(20)
        #expect(state.closeWindows(at: Moment(wall: later, now: now)) == false, "nobody has noticed the time")
        #expect(state.notice(wall: later) == true)
        #expect(state.notice(wall: later) == false)
        var slices = 1
        var cost = state.log.totalCost
        while state.closeWindows(atMost: state.slice, at: Moment(wall: later, now: now)) {
            #expect(state.log.totalCost - cost <= capacity / 4)
            cost = state.log.totalCost
            slices += 1
        }
        #expect(slices > 8 && state.log.nextSequence - first == count)
        // And once only.
        state.advance(at: Moment(wall: later, now: now))
        #expect(state.log.nextSequence - first == count)
    }

    @Test func aBatchIsFullByItsBytesOrItsEvents() {
        var batch = EventBatch()
        let source = SourceID(index: 0)
        for _ in 0..<1_023 { batch.add(time: wall, source: source, value: 1) }
        #expect(!batch.isFull)
        batch.add(time: wall, source: source, value: 1)
        #expect(batch.isFull)
        batch.removeAll()
        #expect(!batch.isFull)
        let bytes = [UInt8](repeating: 0x31, count: (128 << 10) - 1)
        bytes.withUnsafeBytes { batch.add(time: wall, source: source, data: $0) }
        #expect(!batch.isFull)
        bytes.prefix(1).withUnsafeBytes { batch.add(time: wall, source: source, data: $0) }
        #expect(batch.isFull)
    }
}
