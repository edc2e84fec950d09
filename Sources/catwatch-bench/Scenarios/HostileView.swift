internal import Feed
internal import Reactor
internal import Terminal

/// The terminal view with malicious feeds, random keys, sizes and clocks: a trap ends the program.
enum HostileView: Scenario {
    static let name = "hostile-view"
    static let summary = "random hostile feeds into the view with random keys: 2,000, or 100,000 with --long"
    static let defaultRuns = 1

    private static let keys: [Key] =
        [
            .up, .down, .left, .right, .enter, .escape, .tab, .backTab, .pageUp, .pageDown, .home, .end, .backspace,
            .paste("9\u{1B}x"), .function(1), .mouse(.init(kind: .press, column: 3, row: 5)),
            .mouse(.init(kind: .wheelDown, column: 0, row: 0)),
        ] + "1234 +-[]Lysf/?nSrgGhjkl9a".unicodeScalars.map { .character($0) }

    static func measure(_ setting: Setting) throws -> [Figure] {
        let feeds = setting.isLong ? 100_000 : 2_000
        var survived = Figure(
            name: "feeds without a trap", unit: "", runs: [], statistic: .least, limit: .atLeast(Double(feeds)))
        var lines = Figure(
            name: "lines that were taken in", unit: "", runs: [], note: "the seed of a feed is its number")
        for _ in 0..<setting.runs {
            var view = HostileView.view()
            var renderer = GridRenderer(TerminalCapabilities(depth: .full))
            var taken = 0
            for number in 0..<feeds {
                if number % 20 == 0 { view = HostileView.view() }
                taken += run(HostileFeed(seed: UInt64(number)), into: &view, &renderer)
                if (number + 1) % 10_000 == 0 { Text.say("\(number + 1) feeds") }
            }
            survived.runs.append(Double(feeds))
            lines.runs.append(Double(taken))
        }
        let peak = TextFile.value(of: "VmHWM", in: "/proc/self/status").flatMap { text in
            text.split(separator: " ").first.flatMap { Double($0) }
        }
        return [
            survived, lines,
            Figure(
                name: "resident at most, of this program", unit: "MiB", runs: peak.map { [$0 / 1_024] } ?? [],
                statistic: .most, limit: .atMost(64)),
        ]
    }

    private static func view() -> TerminalView {
        TerminalView(size: ScreenSize(columns: 80, rows: 24), connection: .open)
    }

    /// Returns the number of the feed's valid lines.
    private static func run(_ feed: HostileFeed, into view: inout TerminalView, _ renderer: inout GridRenderer) -> Int {
        var feed = feed
        var taken = 0
        let starts: [Int64] = [1_772_366_400, 0, 253_402_300_799, -62_167_219_200]
        var now = Timestamp(seconds: feed.number(3) > 0 ? starts[0] : feed.one(of: starts))
        for _ in 0..<1 + feed.number(40) {
            if let line = try? LineDecoder.decode(Bytes(Array(feed.line().utf8))) {
                view.apply(line, now: now)
                taken += 1
            }
            if feed.number(4) == 0 { _ = view.handle(feed.one(of: keys), now: now) }
            if feed.number(12) == 0 {
                view.resize(ScreenSize(columns: 1 + feed.number(180), rows: 1 + feed.number(60)))
            }
            if feed.number(10) == 0 { _ = renderer.render(view.frame(now: now)) }
            now = now + .milliseconds(feed.number(3_000))
        }
        _ = renderer.render(view.frame(now: now))
        return taken
    }
}
