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
}
