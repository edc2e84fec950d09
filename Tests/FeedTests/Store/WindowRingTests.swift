import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct WindowRingTests {
    private func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }

    private func flushed(_ ring: inout WindowRing, _ now: Double) -> [Window] {
        var lines: [Window] = []
        ring.flush(now: at(now)) { lines.append($0) }
        return lines
    }

    static let shapes: [(width: Duration, history: Duration)] = [
        (.seconds(10), .seconds(120)), (.seconds(1), .seconds(120)), (.milliseconds(100), .seconds(12)),
        (.microseconds(777_777), .seconds(60)), (.microseconds(1_234_567), .microseconds(7_654_321)),
        (.milliseconds(1), .milliseconds(120)), (.milliseconds(1), .milliseconds(37)), (.seconds(3_600), .seconds(120)),
        (.seconds(10), .zero), (.microseconds(1), .microseconds(9)), (.seconds(60), .seconds(60)),
    ]

    @Test(arguments: shapes, [false, true])
    func agreesWithItsBruteForceTwin(_ shape: (width: Duration, history: Duration), isExtreme: Bool) {
        let events = LongRun.rounds(short: 1_500, long: 1_000_000 / Self.shapes.count + 1)
        let seed = isExtreme ? UInt64(7) : 8
        let report = WindowScenario(
            seed: seed, width: shape.width, history: shape.history, events: events, isExtreme: isExtreme
        ).run()
        #expect(report.mismatch == nil, "seed \(seed)")
        // The scenario is worth nothing unless all of it happens.
        #expect(report.recorded > 0 && report.late > 0 && report.future > 0, "seed \(seed), \(report)")
        #expect(report.emitted > 0 && report.steps > 0, "seed \(seed), \(report)")
    }

    @Test func restoredWindowsStandInOrderWithinTheBounds() {
        var ring = WindowRing(width: .seconds(10), history: .seconds(120))
        var added: [Bool] = []
        func restore(_ index: Int64, _ value: Double) {
            added.append(ring.restore(Window(index: index, value: value, time: at(0), sequence: 1)))
        }
        restore(7, 7)
        #expect(ring.nextDue == at(200))
        restore(3, 3)
        #expect(ring.nextDue == at(160))
        restore(5, 5)
        // What is there stays.
        restore(5, 9)
        #expect(ring.held.map(\.last) == [3, 5, 7] && added == [true, true, true, false])
        for index in 8..<200 { restore(Int64(index), 1) }
        #expect(ring.held.count == ring.capacity)
        #expect(zip(ring.held, ring.held.dropFirst()).allSatisfy { $0.index < $1.index })
    }

    /// The ring remembers the place of the last value's window, which a restored window moves.
    @Test func aWindowRestoredBeforeTheNewestGetsNoneOfItsValues() {
        var ring = WindowRing(width: .seconds(10), history: .seconds(120))
        _ = ring.record(1, time: at(105), sequence: 2, now: at(106))
        _ = ring.restore(Window(index: 8, value: 5, time: at(85), sequence: 1))
        _ = ring.record(2, time: at(107), sequence: 3, now: at(108))
        #expect(ring.held.map(\.last) == [5, 2] && ring.held.map(\.count) == [1, 2])
    }

    @Test func scenariosCoverFullRings() {
        var full = 0
        for seed in 0..<UInt64(20) {
            let report = WindowScenario(
                seed: seed, width: .milliseconds(10), history: .milliseconds(40), events: 500, flushEvery: 200
            ).run()
            #expect(report.mismatch == nil, "seed \(seed)")
            full += report.full
        }
        #expect(full > 0)
    }

    @Test func emitsAWindowOnceItHasClosed() {
        var ring = WindowRing(width: .seconds(10))
        #expect(ring.nextDue == nil)
        _ = ring.record(106, time: at(12), sequence: 1, now: at(12))
        _ = ring.record(61, time: at(11), sequence: 2, now: at(13))
        _ = ring.record(140, time: at(10), sequence: 3, now: at(14))
        #expect(ring.nextDue == at(20))
        #expect(flushed(&ring, 19.999_999).isEmpty)
        let lines = flushed(&ring, 20)
        #expect(lines.count == 1)
        #expect(lines.first?.index == 1)
        #expect(lines.first?.last == 106 && lines.first?.lastSequence == 1 && lines.first?.lastTime == at(12))
        #expect(lines.first?.count == 3 && lines.first?.minimum == 61 && lines.first?.maximum == 140)
        #expect(lines.first?.mean == (106.0 + 61 + 140) / 3)
        #expect(flushed(&ring, 20).isEmpty)
        #expect(ring.nextDue == at(140))
    }

    @Test func windowsOnlyGoForward() {
        var ring = WindowRing(width: .seconds(10))
        // Its window is over, and had no line.
        #expect(ring.record(1, time: at(15), sequence: 1, now: at(31)) == .recorded)
        #expect(ring.record(2, time: at(5), sequence: 2, now: at(31)) == .recorded)
        #expect(ring.nextDue == at(10))
        #expect(flushed(&ring, 31).map(\.last) == [2, 1])
        for time in [19.999_999, 5, 0] { #expect(ring.record(3, time: at(time), sequence: 3, now: at(31)) == .late) }
        #expect(ring.record(4, time: at(20), sequence: 4, now: at(31)) == .recorded)
        #expect(flushed(&ring, 31).map(\.last) == [4])
        // A clock that steps back by more than a window begins again.
        #expect(flushed(&ring, 5).isEmpty && ring.held.map(\.index) == [0, 1])
        #expect(ring.record(5, time: at(19), sequence: 5, now: at(15)) == .late)
        #expect(ring.record(6, time: at(20), sequence: 6, now: at(15)) == .recorded)
        #expect(flushed(&ring, 30).map(\.last) == [6])
    }

    @Test func takesAFarFutureValueAtTheClocksTime() {
        var ring = WindowRing(width: .seconds(10))
        #expect(ring.record(1, time: at(22), sequence: 1, now: at(12)) == .recorded)
        #expect(ring.record(2, time: at(22.000_001), sequence: 2, now: at(12)) == .future)
        #expect(ring.held.map(\.index) == [1, 2])
        #expect(ring.held.map(\.lastTime) == [at(12), at(22)])
    }

    @Test func emitsWhatAClockStepPutsIntoTheFuture() {
        var ring = WindowRing(width: .seconds(10))
        _ = ring.record(1, time: at(1_000), sequence: 1, now: at(1_000))
        _ = ring.record(2, time: at(1_010), sequence: 2, now: at(1_010))
        let lines = flushed(&ring, 500)
        #expect(lines.map(\.last) == [1, 2])
        #expect(ring.held.isEmpty)
    }

    @Test(arguments: [(1, 2, 2.0), (2, 1, 1.0), (1, 1, 2.0)])
    func breaksTiesBySequence(_ first: Int, _ second: Int, _ expected: Double) {
        var ring = WindowRing(width: .seconds(10))
        _ = ring.record(1, time: at(3), sequence: first, now: at(3))
        _ = ring.record(2, time: at(3), sequence: second, now: at(3))
        #expect(ring.held.first?.last == expected)
    }

    @Test func alignsWindowsBefore1970Downwards() {
        #expect(Window.index(of: at(-0.000_001), width: 10_000_000) == -1)
        #expect(Window.index(of: at(-10), width: 10_000_000) == -1)
        #expect(Window.index(of: at(-10.000_001), width: 10_000_000) == -2)
        #expect(Window.start(of: -1, width: 10_000_000) == at(-10))
        #expect(Window.end(of: -1, width: 10_000_000) == at(0))
        #expect(Window.start(of: .min, width: 10).microseconds == .min)
        #expect(Window.end(of: .max, width: 10).microseconds == .max)
    }

    @Test func keepsTheMeanFiniteWhereTheSumIsNot() {
        var ring = WindowRing(width: .seconds(10))
        for sequence in 1...3 {
            _ = ring.record(.greatestFiniteMagnitude, time: at(1), sequence: sequence, now: at(1))
        }
        #expect(ring.held.first?.sum == .infinity)
        #expect(ring.held.first?.mean == .greatestFiniteMagnitude)
    }

    @Test func staysWithinItsCapacityWhenNobodyFlushes() {
        var ring = WindowRing(width: .seconds(1), history: .seconds(5))
        var full = 0
        for second in 0..<1_000 {
            let time = at(Double(second))
            if ring.record(1, time: time, sequence: second, now: time) == .full { full += 1 }
        }
        #expect(ring.held.count == ring.capacity && ring.capacity == 13)
        #expect(full == 1_000 - 13)
    }

    /// A value of an earlier run is the newest one until there is one of this run.
    @Test func theNewestValueMayBeRememberedOnly() {
        var ring = WindowRing(width: .seconds(10), history: .seconds(60))
        func window(_ value: Double, at seconds: Int64) -> Window {
            Window(restored: value, index: seconds / 10, time: Timestamp(seconds: seconds), sequence: 0)
        }
        ring.remember(window(2, at: 105))
        ring.remember(window(1, at: 95))
        #expect(ring.newest?.last == 2 && ring.held.isEmpty)
        _ = ring.record(3, time: Timestamp(seconds: 101), sequence: 1, now: Timestamp(seconds: 106))
        // The clock may have been ahead before.
        #expect(ring.newest?.last == 3 && ring.held.map(\.count) == [1])
        ring.remember(window(5, at: 108))
        ring.flush(now: Timestamp(seconds: 1_000)) { _ in }
        #expect(ring.newest?.last == 5 && ring.held.isEmpty)
        _ = ring.record(4, time: Timestamp(seconds: 1_001), sequence: 2, now: Timestamp(seconds: 1_001))
        #expect(ring.newest?.last == 4)
    }

    @Test func aRestoredWindowStaysAsItIs() {
        var ring = WindowRing(width: .seconds(10), history: .seconds(600))
        let line = Line.Window(
            series: "s", start: Timestamp(seconds: 100), width: .seconds(10), last: 5, lastSeq: 1, count: 3, min: 4,
            max: 6,
            mean: 5, band: nil, trend: nil, isKept: true)
        let isRestored = ring.restore(Window(line, sequence: 0))
        #expect(isRestored)
        #expect(ring.record(7, time: at(105), sequence: 9, now: at(125)) == .late)
        #expect(flushed(&ring, 125).isEmpty && ring.held.map(\.count) == [3])
        // It ends at 110: until then, a value of this run begins it anew.
        #expect(ring.record(7, time: at(105), sequence: 9, now: at(110)) == .late)
        #expect(ring.record(7, time: at(105), sequence: 9, now: at(109)) == .recorded)
        #expect(ring.held.map(\.count) == [1])
    }
}
