import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct AgentClockTests {
    private func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1_000_000 + seconds) }

    /// Tests/Vectors/clock, in seconds.
    @Test(arguments: VectorFiles.names(of: "clock"))
    func timesAreThoseOfTheVectors(_ name: String) throws {
        for life in try VectorFiles.elements("lives", of: name, in: "clock") {
            var clock = AgentClock()
            for (place, step) in (life["steps"]?.elements ?? []).map(\.elements).enumerated() {
                let (one, other) = (Int64(step[1].number ?? 0), Int64(step[2].number ?? 0))
                if step[0].string == "note" {
                    clock.record(Timestamp(seconds: one), local: Timestamp(seconds: other))
                } else {
                    let about = "\(life["about"]?.string ?? "") step \(place)"
                    #expect(clock.time(Timestamp(seconds: one)) == Timestamp(seconds: other), "\(about)")
                }
            }
        }
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
        #expect(script.view.frame(now: local).text().holds("1h00m"))
    }
}
