import Feed
import Reactor
import TestSupport
import Testing

@testable import Terminal

/// Every screen at the size of most terminals, and three at all sizes, as they were when somebody last looked at them.
@Suite(.limited) struct ScreenSnapshotTests {
    private static let usual = (80, 24)
    private static let sizes = [(20, 5), usual, (120, 40), (200, 60)]
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

    @Test(arguments: [usual])
    func hostileText(_ size: (Int, Int)) {
        var script = FeedScript.hostile(columns: size.0, rows: size.1)
        Snapshot.check(script.frame(), "hostile-list-\(size.0)x\(size.1)")
        script.press(.enter)
        Snapshot.check(script.frame(), "hostile-detail-\(size.0)x\(size.1)")
        script.type("4")
        Snapshot.check(script.frame(), "hostile-feed-\(size.0)x\(size.1)")
    }

    @Test(
        arguments: [usual],
        ["waiting", "loading", "stale", "error", "lost", "paused", "scrub", "log", "filter", "pairs", "sums"])
    func states(_ size: (Int, Int), _ state: String) {
        var script = FeedScript.busy(columns: size.0, rows: size.1)
        switch state {
        case "waiting":
            script = FeedScript(
                columns: size.0, rows: size.1, connection: .waiting(target: "catfact.ninja", since: FeedScript.noon))
            script.pass(1.2)
        case "loading":
            script = FeedScript(columns: size.0, rows: size.1)
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
            for n in [3, 90] {
                for (place, f) in ["0", "1", "1", "2"].enumerated() {
                    script.data("fibonacci", json: #"{"n":\#(place),"f":"\#(f)"}"#)
                }
                if n == 90 {
                    script.data("fibonacci", json: #"{"n":89,"f":"1779979416004714189"}"#)
                    script.data("fibonacci", json: #"{"n":90,"f":"2880067194370816120"}"#)
                }
                script.data("fibonacci", Double(n) / 8, json: #"{"n":\#(n),"ms":\#(Double(n) / 8)}"#)
            }
            _ = script.frame()
            script.choose("fibonacci")
            script.press(.enter)
            if state == "sums" { script.type("S") }
        }
        Snapshot.check(script.frame(), "\(state)-\(size.0)x\(size.1)")
    }

    /// What somebody sees who has just started it.
    @Test(arguments: [usual], [3, 15, 40])
    func firstFrames(_ size: (Int, Int), _ seconds: Int) {
        var script = FeedScript(columns: size.0, rows: size.1)
        script.pass(3)
        script.hello()
        for second in 0..<seconds {
            if second % 2 == 0 {
                script.latency(
                    "fact", "GET https://catfact.ninja/fact", ms: 120 + Double(second * 7 % 30), reused: second > 0)
                script.data("fact", Double(60 + second * 37 % 90), text: "Cats sleep for about two thirds of the day.")
            }
            script.pass(1)
        }
        _ = script.frame()
        script.press(.enter)
        Snapshot.check(script.frame(), "first-\(seconds)s-\(size.0)x\(size.1)")
        Snapshot.check(script.frame().text(isASCII: true), "first-\(seconds)s-\(size.0)x\(size.1)-ascii")
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

    @Test(arguments: [usual], ["list", "detail", "metrics"])
    func inASCII(_ size: (Int, Int), _ name: String) {
        var script = FeedScript.busy(columns: size.0, rows: size.1)
        _ = script.frame()
        if name == "detail" {
            script.choose("aqi/Delhi")
            script.press(.enter)
        }
        if name == "metrics" { script.type("3") }
        let text = script.frame().text(isASCII: true)
        #expect(text.utf8.allSatisfy { 0x20...0x7E ~= $0 || $0 == 0x0A })
        Snapshot.check(text, "\(name)-\(size.0)x\(size.1)-ascii")
    }
}
