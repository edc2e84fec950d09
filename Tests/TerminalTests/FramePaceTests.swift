import Reactor
import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct FramePaceTests {
    private let start = LoopInstant(nanoseconds: 0)

    @Test func drawsAtOnceAndThenNoSoonerThanAPaceLater() {
        var pace = FramePace(.milliseconds(100))
        #expect(pace.next(start) == .draw)
        #expect(pace.next(start) == .nothing)
        pace.change(urgently: false)
        let due = start.advanced(by: .milliseconds(100))
        #expect(pace.next(start.advanced(by: .milliseconds(1))) == .wait(until: due))
        pace.change(urgently: false)
        #expect(pace.next(start.advanced(by: .milliseconds(2))) == .nothing)
        pace.endWait()
        #expect(pace.next(due) == .draw)
    }

    @Test func aKeyIsNotWaitedFor() {
        var pace = FramePace(.milliseconds(100))
        _ = pace.next(start)
        pace.change(urgently: false)
        let now = start.advanced(by: .milliseconds(1))
        _ = pace.next(now)
        pace.change(urgently: true)
        #expect(pace.next(now) == .draw)
        // The wait from before is still to end: there is no second one.
        pace.change(urgently: false)
        #expect(pace.next(now) == .nothing)
        pace.endWait()
        #expect(pace.next(now) == .wait(until: now.advanced(by: .milliseconds(100))))
    }
}
