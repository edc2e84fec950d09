import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

extension FeedScript {
    /// Twelve series of which two fire, and an alert about a set of them.
    static func firing(columns: Int = 80, rows: Int = 24) -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.now = noon - .seconds(60)
        script.hello()
        script.list(["rooms", "fact"], every: 5)
        for step in 0..<30 {
            script.pass(2)
            for room in 1...10 { script.data("rooms", key: "room \(room)", Double(900 + (step * room) % 50)) }
            script.data("rooms", key: "kitchen", Double(700 + step * 16))
            script.data("fact", 43, text: "Cats sleep.")
        }
        script.alert("rooms/kitchen", value: 1_004, note: "Open a window.")
        script.alert(
            "rooms/room 7", "cold", value: 12, severity: "warning", limit: Alert.Limit(.less, 15), from: 0, to: 9)
        script.alert("rooms/*", "spread", value: nil, severity: "critical", limit: nil, from: 0, to: 0)
        script.pass(90)
        for room in 1...10 { script.data("rooms", key: "room \(room)", 930) }
        script.data("rooms", key: "kitchen", 1_164)
        script.data("fact", 43, text: "Cats sleep.")
        return script
    }
}

/// Alerts that fire, on all screens.
@Suite(.limited) struct AlertScreenTests {
    @Test(arguments: ["list", "detail"]) func areShown(_ screen: String) {
        var script = FeedScript.firing()
        _ = script.frame()
        if screen == "detail" {
            script.choose("rooms/kitchen")
            script.press(.enter)
        }
        Snapshot.check(script.frame(), "alerts-\(screen)-80x24")
    }

    @Test func whatFiresComesFirstAndGoesBackWhenItIsOver() {
        var script = FeedScript.firing()
        let names = script.lines().dropFirst(3).prefix(3).map { String($0.dropFirst(4).prefix { $0 != " " }) }
        #expect(names == ["rooms/*", "rooms/kitchen", "rooms/room"])
        #expect(!script.lines().contains { $0.hasPrefix("    kitchen") })
        #expect(script.lines()[1].hasPrefix(" ✕ 3 alerts"))
        script.alert("rooms/kitchen", isOver: true)
        script.alert("rooms/*", "spread", limit: nil, isOver: true)
        #expect(script.lines()[3].contains("rooms/room 7"))
        #expect(script.lines().contains { $0.hasPrefix("    kitchen") })
        #expect(script.lines()[1].hasPrefix(" ▲ 1 alert "))
        script.alert("rooms/room 7", "cold", isOver: true)
        #expect(!script.lines().contains { $0.utf8.contains(UInt8(ascii: "!")) || $0.hasPrefix(" ✕") })
    }

    @Test func aKeyShowsOnlyWhatFires() {
        var script = FeedScript.firing()
        #expect(script.lines().count > 12 && (script.lines().last ?? "").contains("! alerts"))
        script.type("!")
        #expect(script.lines().filter { $0.contains("since") }.count == 3)
        #expect(!script.lines().contains { $0.contains("fact ") && !$0.contains("● fact") })
        #expect((script.lines().last ?? "").contains("! everything"))
        for alert in [("rooms/kitchen", "hot"), ("rooms/room 7", "cold"), ("rooms/*", "spread")] {
            script.alert(alert.0, alert.1, isOver: true)
        }
        #expect(script.lines().contains { $0.contains("nothing fires; ! shows everything") })
        script.press(.escape)
        #expect(script.lines().contains { $0.contains("kitchen") })
        script.type("!!")
        #expect(script.lines().contains { $0.contains("kitchen") })
    }

    @Test func anAlertAboutASetLeadsToItsSource() {
        var script = FeedScript.firing()
        _ = script.frame()
        script.press(.home, .enter)
        #expect(script.view.state.screen == .detail)
        #expect(script.lines()[2].contains("rooms/"))
    }

    @Test func theGraphHasTheLimitAndSaysWhenValuesWereBeyond() {
        var script = FeedScript.firing(columns: 100, rows: 30)
        script.choose("rooms/kitchen")
        script.type("2")
        let grid = script.frame()
        let text = grid.text().split(separator: "\n").map(String.init)
        #expect(text[3].contains("✕ hot 1004 > 1000 since 12:00 · lines 640 to 811 · Open a window."))
        let limit = text.first { $0.contains("┄") }
        #expect(limit?.contains("1000 ") == true)
        let axis = text.first { $0.contains("└") } ?? ""
        // The newest third of the values is beyond.
        let (first, excess) = (axis.firstIndex(of: "┴"), axis.firstIndex(of: "═"))
        #expect(first.flatMap { first in excess.map { first < $0 } } == true)
        // A limit that values are far from is shown as well.
        script.alert("rooms/kitchen", "in", limit: Alert.Limit(.within, 2_000, 3_000))
        #expect(script.frame().text().split(separator: "\n").filter { $0.contains("┄") }.count == 3)
    }

    @Test func agentsOfAFleetHaveTheirNumberOfAlerts() throws {
        for columns in [60, 80, 140] {
            var script = FeedScript(columns: columns)
            script.hello()
            for agent in ["web1", "web2"] {
                let peer =
                    #"{"seq":\#(script.sequence + 1),"time":"2026-03-01T12:00:00Z","type":"peer","source":"\#(agent).catwatch","state":"live","since":"2026-03-01T11:00:00Z","lost":0,"agent":"\#(agent)"}"#
                script.view.apply(try LineDecoder.decode(Bytes(Array(peer.utf8))), now: script.now)
                script.skip()
            }
            script.type("3")
            #expect(!script.lines()[2].contains("alerts"))
            script.alert("web2.rooms/kitchen")
            script.alert("web2")
            script.pass(2)
            let lines = script.lines()
            #expect(lines[2].contains("alerts"), "\(columns)")
            #expect(lines[3].contains(" 0 ") && lines[4].contains("✕ 2"), "\(columns)")
        }
    }

    @Test(arguments: [(80, 24), (40, 10), (20, 5), (30, 1), (200, 60)])
    func hostileAndManyAlertsFit(_ size: (Int, Int)) {
        var script = FeedScript(columns: size.0, rows: size.1)
        script.hello()
        let evil = "\u{1B}[2J\u{202E}\u{9B}31m🏴‍☠️" + String(repeating: "猫", count: 400)
        for number in 0..<30 {
            script.data("x", key: "\(number)", Double(number))
            script.alert("x/\(number)", evil, value: 1e300, severity: evil, limit: Alert.Limit(.outside, -1e308, 1e308))
            script.alert("y/\(number)" + evil, evil, value: nil, limit: nil, note: evil)
        }
        for keys in ["1", "!", "G", "2", "L", "L", "3", "1"] {
            script.type(keys)
            let grid = script.frame()
            #expect(grid.cells.count == size.0 * size.1)
            for scalar in grid.text().unicodeScalars where scalar != "\n" {
                #expect(!Sanitizer.isHidden(scalar) || scalar == "\u{200D}" || scalar == "\u{FE0F}", "\(scalar.value)")
            }
        }
        script.type("!")
        #expect(script.view.order.rows.count == 60)
    }
}
