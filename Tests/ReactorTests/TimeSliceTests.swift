import Reactor
import TestSupport
import Testing

@Suite(.limited) struct TimeSliceTests {
    @Test func endsAfterItsStepsAndBeginsAnew() async throws {
        try await withLoop(virtual: true) { loop in
            var slice = TimeSlice(of: loop, steps: 100)
            for _ in 0..<3 {
                let answers = (1...101).map { _ in slice.goesOn() }
                #expect(answers == (1...101).map { $0 < 100 })
                slice.restart()
            }
        }
    }

    @Test func endsAfterItsTime() async throws {
        try await withLoop { loop in
            let start = loop.clock.now
            var slice = TimeSlice(of: loop, time: .milliseconds(1), steps: .max)
            while slice.goesOn() {}
            #expect(start.duration(to: loop.clock.now) >= .milliseconds(1))
            let isOver = !slice.goesOn()
            #expect(isOver)
        }
    }

    @Test func looksAtTheClockOftenWhenStepsAreLong() async throws {
        try await withLoop { loop in
            var slice = TimeSlice(of: loop, time: .milliseconds(1), steps: 10_000)
            // Short ones first, so that it has no reason to look.
            for _ in 0..<1_000 { if !slice.goesOn() { slice.restart() } }
            for round in 0..<3 {
                slice.restart()
                var steps = 0
                repeat {
                    let end = loop.clock.now.advanced(by: .milliseconds(1))
                    while loop.clock.now < end {}
                    steps += 1
                } while slice.goesOn()
                #expect(steps <= (round == 0 ? 32 : 1))
            }
        }
    }
}
