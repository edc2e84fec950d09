import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct PollScheduleTests {
    static func instant(_ nanoseconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: nanoseconds) }

    /// A time on the loop's clock of a machine that has been up for less than a year.
    static func someInstant(_ random: inout SeededGenerator) -> LoopInstant {
        instant(Int64.random(in: 0...31_536_000_000_000_000, using: &random))
    }

    static func somePeriod(_ random: inout SeededGenerator) -> Duration {
        [
            .milliseconds(10), .milliseconds(333), .seconds(1), .seconds(2), .seconds(60), .seconds(86_400),
            .nanoseconds(7),
        ]
        .randomElement(using: &random) ?? .seconds(1)
    }

    @Test(arguments: [Duration.nanoseconds(1), .milliseconds(10), .seconds(1), .seconds(7), .seconds(3_600)])
    func ticksAreExactlyAPeriodApart(period: Duration) {
        let schedule = PollSchedule(every: period, name: "fact")
        let first = schedule.tick(after: Self.instant(123_456_789_012))
        var tick = first
        for _ in 0..<10_000 { tick = schedule.tick(after: tick) }
        #expect(first.duration(to: tick) == period * 10_000)
    }

    @Test func aTickIsTheFirstOneAfterTheTimeAskedFor() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let period = Self.somePeriod(&random)
            let schedule = PollSchedule(every: period, name: "name-\(Int.random(in: 0...99, using: &random))")
            let time = Self.someInstant(&random)
            let tick = schedule.tick(after: time)
            #expect(tick > time, "seed \(random.seed)")
            #expect(time.duration(to: tick) <= period, "seed \(random.seed)")
            // Whatever lies between leads to the same tick, and the tick itself to the next one.
            let between = Int64.random(in: time.nanoseconds..<tick.nanoseconds, using: &random)
            #expect(schedule.tick(after: Self.instant(between)) == tick, "seed \(random.seed)")
            #expect(schedule.tick(after: tick) == tick.advanced(by: period), "seed \(random.seed)")
        }
    }

    @Test func aFirstPollComesAtOnceOrByItsPhaseWithinTheSpread() {
        #expect([0, 1, 2, 2_000].map(PollSchedule.spread) == [.zero, .zero, .milliseconds(2), .milliseconds(3_998)])
        let start = Self.instant(77)
        var random = SeededGenerator(seed: 12)
        for number in 0..<500 {
            let period = Self.somePeriod(&random)
            let schedule = PollSchedule(every: period, name: "name-\(number)")
            #expect(schedule.first(after: start, within: .zero) == start)
            for spread in [Duration.milliseconds(2), .seconds(4), .seconds(1_000_000_000)] {
                let wait = start.duration(to: schedule.first(after: start, within: spread))
                #expect(wait >= .zero && wait <= min(spread, period), "seed \(random.seed)")
            }
        }
    }

    @Test func theNamesSpreadThePhasesOverThePeriod() {
        let period = Duration.seconds(10)
        var eighths: [Int64: Int] = [:]
        for number in 0..<4_000 {
            let schedule = PollSchedule(every: period, name: "source-\(number)")
            let phase = schedule.tick(after: Self.instant(0)).nanoseconds % period.nanoseconds
            eighths[phase * 8 / period.nanoseconds, default: 0] += 1
        }
        #expect(eighths.count == 8)
        for (eighth, count) in eighths { #expect(count > 350 && count < 650, "eighth \(eighth) has \(count) of 4000") }
    }

    @Test func thePhaseOfANameIsTheSameAfterEveryStart() {
        // FNV-1a of "fact" and of "" by the algorithm's own definition, modulo the period in nanoseconds.
        let table: [(String, UInt64)] = [("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C)]
        for (name, hash) in table {
            let schedule = PollSchedule(every: .seconds(3), name: name)
            let phase = Int64(hash % 3_000_000_000)
            #expect(schedule.tick(after: Self.instant(phase - 1)) == Self.instant(phase))
            #expect(schedule.tick(after: Self.instant(phase)) == Self.instant(phase + 3_000_000_000))
        }
    }

    @Test func aPollOnATickIsFollowedByTheNextTickHoweverLongItTook() {
        let schedule = PollSchedule(every: .seconds(1), name: "fact")
        let tick = schedule.tick(after: Self.instant(5_000_000_000))
        let table: [(Int, Int)] = [
            (0, 1), (1, 1), (499, 1), (999, 1), (1_000, 2), (1_001, 2), (2_500, 3), (59_999, 60),
        ]
        for (took, next) in table {
            let finished = tick.advanced(by: .milliseconds(took))
            #expect(schedule.next(after: tick, finished: finished) == tick.advanced(by: .seconds(next)), "\(took) ms")
        }
    }

    @Test func neitherThePollAfterTheFirstNorOneAfterAFailureComesTooSoon() {
        var random = SeededGenerator(seed: 12)
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let period = Self.somePeriod(&random)
            let schedule = PollSchedule(every: period, name: "x\(Int.random(in: 0...99, using: &random))")
            let due = Self.someInstant(&random)
            let finished = due.advanced(by: period * Double.random(in: 0...3, using: &random))
            let pause = Duration.nanoseconds((period * Double.random(in: 0...20, using: &random)).nanoseconds)

            let next = schedule.next(after: due, finished: finished)
            #expect(next > finished && due.duration(to: next) >= period / 2, "seed \(random.seed)")
            #expect(finished.duration(to: next) <= period, "seed \(random.seed)")
            if finished < due.advanced(by: period / 2) {
                #expect(due.duration(to: next) <= period, "seed \(random.seed)")
            }
            // At the latest the one behind that is on a tick, and all that follow are.
            let isTick = schedule.tick(after: next.advanced(by: .nanoseconds(-1))) == next
            let further = schedule.next(after: next, finished: next)
            #expect(schedule.tick(after: further.advanced(by: .nanoseconds(-1))) == further, "seed \(random.seed)")
            #expect(further >= next.advanced(by: period / 2), "seed \(random.seed)")
            #expect(isTick == (next.duration(to: further) == period), "seed \(random.seed)")

            let retry = schedule.retry(after: due, finished: finished, pause: pause)
            #expect(retry >= next || due.duration(to: retry) >= period, "seed \(random.seed)")
            #expect(due.duration(to: retry) >= period, "seed \(random.seed)")
            #expect(finished.duration(to: retry) >= pause, "seed \(random.seed)")
            #expect(retry > finished, "seed \(random.seed)")
        }
    }

    @Test(arguments: [Duration.zero, .nanoseconds(-5), .seconds(Int64.max), .seconds(9_223_372_036), .nanoseconds(1)])
    func periodsThatMakeNoSenseDoNoHarm(period: Duration) {
        let schedule = PollSchedule(every: period, name: "fact")
        for time in [0, 1, 1_000_000_000, 31_536_000_000_000_000] as [Int64] {
            let due = Self.instant(time)
            #expect(schedule.tick(after: due) > due)
            #expect(schedule.next(after: due, finished: due) > due)
            #expect(schedule.retry(after: due, finished: due, pause: .seconds(300)) > due)
        }
    }
}
