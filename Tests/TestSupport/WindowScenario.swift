import Feed
import Reactor

/// A random life of one series: values in time, late, from the future and at equal times, flushes, and a wall clock
/// that steps in both directions. Fed to a `WindowRing` and its twin, which must agree on everything.
package struct WindowScenario: Sendable {
    package var seed: UInt64
    package var width: Duration
    package var history: Duration
    package var events: Int
    /// Whether times come from all of `Int64`, its ends included.
    package var isExtreme: Bool
    /// How many events come between two flushes, on average.
    package var flushEvery: UInt64

    package init(
        seed: UInt64, width: Duration, history: Duration, events: Int, isExtreme: Bool = false, flushEvery: UInt64 = 8
    ) {
        self.seed = seed
        self.width = width
        self.history = history
        self.events = events
        self.isExtreme = isExtreme
        self.flushEvery = flushEvery
    }

    /// What happened in a run; the tests look whether all of it did.
    package struct Report: Sendable {
        /// The first thing ring and twin disagreed on; nil when nothing.
        package var mismatch: String?
        package var recorded = 0
        package var late = 0
        package var future = 0
        package var full = 0
        package var emitted = 0
        package var steps = 0
    }

    /// Runs ring and twin side by side until the end or the first mismatch.
    package func run() -> Report {
        var random = SeededGenerator(seed: seed)
        var ring = WindowRing(width: width, history: history)
        var twin = WindowTwin(width: width, history: history)
        var report = Report()
        var now = Timestamp(
            microseconds: isExtreme
                ? Self.extreme(&random) : Int64.random(in: 0...4_000_000_000_000_000, using: &random))
        var previous = now
        for sequence in 1...events {
            now = advance(now, &random, &report)
            let time = eventTime(now: now, previous: previous, &random)
            previous = time
            let value = Double(Int64.random(in: -1_000...1_000, using: &random)) / 8
            // Sequence numbers go up, but a pair may come in the wrong order or twice.
            let number = random.next() % 16 == 0 ? sequence + 2 : sequence
            var outcome = ring.record(value, time: time, sequence: number, now: now)
            let expected = twin.record(value, time: time, sequence: number, now: now)
            if outcome != expected {
                report.mismatch = describe("event \(sequence): \(outcome), not \(expected)")
                return report
            }
            if outcome == .full {
                report.full += 1
                report.mismatch = compareFlush(&ring, &twin, now: now, &report)
                outcome = ring.record(value, time: time, sequence: number, now: now)
                let again = twin.record(value, time: time, sequence: number, now: now)
                if outcome == .full || outcome != again {
                    report.mismatch = describe("event \(sequence): \(outcome) right after a flush, not \(again)")
                }
            }
            switch outcome {
            case .recorded: report.recorded += 1
            case .future: report.future += 1
            case .late: report.late += 1
            case .full: break
            }
            if report.mismatch == nil, random.next() % flushEvery == 0 {
                report.mismatch = compareFlush(&ring, &twin, now: now, &report)
            }
            if report.mismatch != nil { return report }
        }
        return report
    }

    private func compareFlush(
        _ ring: inout WindowRing, _ twin: inout WindowTwin, now: Timestamp, _ report: inout Report
    ) -> String? {
        if ring.nextDue != twin.nextDue {
            return describe("next due \(String(describing: ring.nextDue)), not \(String(describing: twin.nextDue))")
        }
        if let mismatch = compareHeld(ring, twin) { return mismatch }
        var lines: [WindowTwin.Snapshot] = []
        ring.flush(now: now) { lines.append(WindowTwin.Snapshot($0)) }
        let expected = twin.flush(now: now)
        report.emitted += lines.count
        guard lines == expected else { return describe("at \(now): emitted \(lines), not \(expected)") }
        return compareHeld(ring, twin)
    }

    private func compareHeld(_ ring: WindowRing, _ twin: WindowTwin) -> String? {
        let held = ring.held.map { WindowTwin.Snapshot($0) }
        let expected = twin.snapshots
        if held.count > ring.capacity { return describe("holds \(held.count) of \(ring.capacity)") }
        return held == expected ? nil : describe("holds \(held), not \(expected)")
    }

    private func describe(_ text: String) -> String { "\(text) (\(self))" }

    private func advance(
        _ now: Timestamp, _ random: inout SeededGenerator, _ report: inout Report
    ) -> Timestamp {
        let width = self.width.microseconds
        let span = history.microseconds + 3 * width
        switch random.next() % 256 {
        case 0:
            report.steps += 1
            if isExtreme { return Timestamp(microseconds: Self.extreme(&random)) }
            return now.adding(Int64.random(in: -2 * span...2 * span, using: &random))
        case 1:
            report.steps += 1
            return now.adding(Int64.random(in: -2 * width...2 * width, using: &random))
        case 2...60:
            return now
        case 61...70:
            // To the very edge of a window, where off-by-one errors live.
            let edge = Window.end(of: Window.index(of: now, width: width), width: width)
            return edge.adding(Int64.random(in: -1...1, using: &random))
        default:
            return now.adding(Int64.random(in: 0...width / 8 + 1, using: &random))
        }
    }

    private func eventTime(now: Timestamp, previous: Timestamp, _ random: inout SeededGenerator) -> Timestamp {
        let width = self.width.microseconds
        let history = self.history.microseconds
        switch random.next() % 64 {
        case 0...3: return previous
        case 4...7: return now.adding(-Int64.random(in: 0...history + 2 * width, using: &random))
        case 8: return now.adding(Int64.random(in: 0...3 * width, using: &random))
        case 9: return now.adding(width + Int64.random(in: -1...1, using: &random))
        case 10: return now.adding(-history + Int64.random(in: -1...1, using: &random))
        case 11 where isExtreme: return Timestamp(microseconds: Self.extreme(&random))
        case 12:
            return Timestamp(
                microseconds: Window.start(of: Window.index(of: now, width: width), width: width).microseconds)
        default: return now.adding(-Int64.random(in: 0...width / 4, using: &random))
        }
    }

    private static func extreme(_ random: inout SeededGenerator) -> Int64 {
        switch random.next() % 6 {
        case 0: return .max - Int64(random.next() % 4)
        case 1: return .min + Int64(random.next() % 4)
        case 2: return Int64(random.next() % 9) - 4
        case 3: return .max - Int64(random.next() % 100_000_000)
        case 4: return .min + Int64(random.next() % 100_000_000)
        default: return Int64(bitPattern: random.next())
        }
    }
}

extension Timestamp {
    /// The time `microseconds` later, or the end of time.
    fileprivate func adding(_ microseconds: Int64) -> Timestamp {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return Timestamp(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }
}
