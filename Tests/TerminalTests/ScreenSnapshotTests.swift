import Feed
import Reactor
import TestSupport
import Testing

@testable import Terminal

/// Every screen at the size of most terminals, and three of them at three sizes, as they were when somebody last looked.
@Suite(.limited) struct ScreenSnapshotTests {
    private static let usual = (80, 24)
    private static let sizes = [(20, 5), usual, (120, 40)]
    /// A list, a graph and a table have to be laid out anew at each size.
    private static let busy: [((Int, Int), String)] =
        sizes.flatMap { size in ["list", "detail", "metrics"].map { (size, $0) } }
        + ["fact", "breed", "feed", "help"].map { (usual, $0) }

    @Test(arguments: busy)
    func busyFeed(_ size: (Int, Int), _ screen: String) {
        var script = FeedScript.busy(columns: size.0, rows: size.1)
        script.pass(1.5)
        _ = script.frame()
        switch screen {
        case "detail":
            script.choose("aqi/Delhi")
            script.press(.enter)
        case "fact":
            script.choose("fact")
            script.press(.enter)
        case "breed":
            script.choose("breeds/Aegean")
            script.press(.enter)
        case "metrics": script.type("3")
        case "feed": script.type("4")
        case "help": script.type("?")
        default: break
        }
        Snapshot.check(script.frame(), "\(screen)-\(size.0)x\(size.1)")
    }

    @Test func hostileText() {
        var script = FeedScript.hostile()
        for (key, screen) in [("1", "list"), ("2", "detail"), ("4", "feed")] {
            script.type(key)
            Snapshot.check(script.frame(), "hostile-\(screen)-80x24")
        }
    }

    @Test(arguments: ["waiting", "loading", "stale", "error", "lost", "paused", "scrub", "log", "filter", "fibonacci"])
    func states(_ state: String) {
        var script = FeedScript.busy()
        switch state {
        case "waiting":
            script = FeedScript(connection: .waiting(target: "catfact.ninja", since: FeedScript.noon))
            script.pass(1.2)
        case "loading":
            script = FeedScript()
            script.hello()
            script.add("progress", "breeds", .progress(Progress(done: 30, total: 98, page: 1)))
            script.pass(0.7)
        case "stale": script.pass(40)
        case "error":
            script.fail(
                "fact",
                Failure(.timeout, "no answer from catfact.ninja within 10 s", attempt: 3, retryIn: .milliseconds(4_180))
            )
            script.pass(1)
        case "lost":
            script.view.connection = .lost(
                reason: "connection reset by peer", since: script.now, retryAt: script.now + .seconds(5))
            script.pass(3)
        case "paused":
            _ = script.frame()
            script.type(" ")
            script.pass(5)
            script.data("fact", 1_000, text: "unseen")
        case "scrub", "log":
            _ = script.frame()
            script.choose("aqi/Delhi")
            script.press(.enter)
            if state == "log" { script.type("L") } else { script.press(.left) }
            for _ in 0..<12 where state == "scrub" { script.press(.left) }
        case "filter": script.type("/aq")
        default:
            script = FeedScript()
            script.hello()
            for (n, f) in [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89].enumerated() {
                script.data("fibonacci", key: "\(n)", text: "\(f)", json: #"{"n":\#(n),"f":"\#(f)"}"#)
            }
            script.data("fibonacci", 0.042, text: "F(0)…F(11) in 0.042 ms", json: #"{"n":11,"ms":0.042}"#)
        }
        Snapshot.check(script.frame(), "\(state)-80x24")
    }

    /// What somebody sees who has just started it.
    @Test func firstFrames() {
        var script = FeedScript()
        script.pass(3)
        script.hello()
        for second in 0..<15 {
            if second % 2 == 0 {
                script.latency(
                    "fact", "GET https://catfact.ninja/fact", ms: 120 + Double(second * 7 % 30), reused: second > 0)
                script.data("fact", Double(60 + second * 37 % 90), text: "Cats sleep for about two thirds of the day.")
            }
            script.pass(1)
        }
        _ = script.frame()
        script.press(.enter)
        Snapshot.check(script.frame(), "first-15s-80x24")
        Snapshot.check(script.frame().text(isASCII: true), "first-15s-80x24-ascii")
    }

    @Test func detailSaysWhereTheFirstNumberWas() {
        var script = FeedScript(columns: 80, rows: 24)
        script.hello()
        script.data("api", 7, json: #"{"latency_ms":7}"#, pointer: "/latency_ms")
        script.data("api", 8, json: #"{"latency_ms":8}"#)
        script.choose("api")
        _ = script.frame()
        script.press(.enter)
        #expect(script.frame().text().contains("\n  api  value: /latency_ms "))
    }

    /// Without colour nothing that matters is lost: letters, arrows and marks are text.
    @Test(arguments: sizes)
    func withoutColour(_ size: (Int, Int)) {
        var script = FeedScript.busy(columns: size.0, rows: size.1)
        let grid = script.frame()
        var renderer = GridRenderer(TerminalCapabilities(depth: .none))
        var screen = ScreenModel(columns: size.0, rows: size.1)
        screen.write(renderer.render(grid)) { Cluster($0).columns }
        #expect(screen.text == grid.text())
        #expect(screen.cells.joined().allSatisfy { $0.look.allSatisfy { [1, 2, 4, 7].contains($0) } })
        #expect(screen.faults == [])
    }
}
