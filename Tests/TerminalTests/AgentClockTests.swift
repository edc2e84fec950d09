import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct AgentClockTests {
    private func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1_000_000 + seconds) }

    @Test func goesOnByTheLocalClock() {
        var clock = AgentClock()
        #expect(clock.time(at(5)) == at(5))
        clock.note(at(3_600), local: at(0))
        #expect(clock.time(at(0)) == at(3_600))
        #expect(clock.time(at(90)) == at(3_690))
    }

    @Test func replayedLinesDoNotTurnItBack() {
        var clock = AgentClock()
        clock.note(at(100), local: at(0))
        for second in Int64(-20)..<95 { clock.note(at(second), local: at(0)) }
        #expect(clock.time(at(1)) == at(101))
    }

    @Test func forgetsAStepOfTheLocalClock() {
        var clock = AgentClock()
        for second in Int64(0)..<10 { clock.note(at(second), local: at(second)) }
        // The local clock is put forward by a minute: for a while it looks as if the lines were late.
        for second in Int64(10)..<100 { clock.note(at(second), local: at(second + 60)) }
        #expect(clock.time(at(160)) == at(100))
        // And back again.
        clock.note(at(100), local: at(100))
        #expect(clock.time(at(101)) == at(101))
    }

    @Test func forgetsAStepBackOfBothClocks() {
        var clock = AgentClock()
        clock.note(at(150), local: at(100))
        // Both are put back, the agent's by more.
        clock.note(at(0), local: at(0))
        #expect(clock.time(at(1)) == at(1))
    }

    @Test func staysWhileNothingComes() {
        var clock = AgentClock()
        clock.note(at(50), local: at(0))
        #expect(clock.time(at(10_000)) == at(10_050))
    }

    @Test func extremeTimesAreNotAddedUp() {
        var clock = AgentClock()
        clock.note(Timestamp(microseconds: .max), local: Timestamp(microseconds: .min))
        #expect(!clock.isKnown)
        clock.note(Timestamp(microseconds: .max), local: at(0))
        #expect(clock.time(Timestamp(microseconds: .max)) == Timestamp(microseconds: .max))
    }

    /// An event of an hour ago, replayed on attaching, is an hour old.
    @Test func agesOfReplayedEventsAreRight() {
        var script = FeedScript()
        script.now = FeedScript.noon - .seconds(3_600)
        var hello = script
        hello.now = FeedScript.noon
        hello.hello()
        script.view = hello.view
        let local = FeedScript.noon
        script.view.apply(
            .init(
                seq: 1, time: script.now, type: "error", source: "fact",
                body: .error(.init(.timeout, "old"))), now: local)
        script.view.apply(
            .init(
                seq: 2, time: script.now, type: "fact", source: "fact",
                body: .data(.init(series: "fact", value: 5, text: nil, data: nil, truncated: false))), now: local)
        #expect(script.view.frame(now: local).text().holds("60m"))
    }
}
