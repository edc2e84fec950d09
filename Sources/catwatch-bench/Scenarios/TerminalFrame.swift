internal import Feed
internal import Reactor
internal import Terminal

/// The cost of a frame of the terminal view: from the board to the bytes, without writing them.
enum TerminalFrame: Scenario {
    static let name = "terminal-frame"
    static let summary = "a frame of the terminal view, 120 by 40: CPU and bytes"

    private static let size = ScreenSize(columns: 120, rows: 40)
    private static let start = Timestamp(seconds: 1_772_366_400)

    static func measure(_ setting: Setting) throws -> [Figure] {
        var figures: [Figure] = []
        func add(_ name: String, _ unit: String, _ limit: Double?, _ run: () throws -> Double) throws {
            figures.append(
                Figure(
                    name: name, unit: unit, runs: try (0..<setting.runs).map { _ in try run() },
                    limit: limit.map { .atMost($0) }))
        }
        try add("list, 100 series all changed", "ms", 2) { try frames(series: 100, keys: "") }
        try add("list, 100 series all changed, of which 20 fire", "ms", 2) {
            try frames(series: 100, firing: 20, keys: "")
        }
        try add("list, 10,000 series in 100 folded sources, all changed", "ms", 2) {
            try frames(series: 10_000, sources: 100, keys: "")
        }
        try add("list by value, 10,000 series all changed", "ms", nil) { try frames(series: 10_000, keys: "ss") }
        try add("scrolling through 10,000 series, a key and its frame", "ms", nil) { try scroll(series: 10_000) }
        try add("scrolling through 10 series, a key and its frame", "ms", nil) { try scroll(series: 10) }
        try add("detail, its series changed", "ms", 2) { try frames(series: 100, keys: "2") }
        try add("bytes when one value changed", "bytes", 200) { try bytes() }
        return figures
    }

    /// A feed with two minutes of history: for each series a value every second, or every 10 s with over 1,000 series.
    private struct Feed {
        var view: TerminalView
        let names: [String]
        var now = TerminalFrame.start
        var sequence = 0

        /// Without headings where there is one source, and folded below them where there are more.
        init(series: Int, sources: Int = 1) throws {
            view = TerminalView(size: TerminalFrame.size, connection: .open)
            names = (0..<series).map { "cats\($0 * sources / series)/cat-\($0)" }
            let hello =
                #"{"type":"hello","time":"2026-03-01T12:00:00Z","format":1,"run":"r","interval_s":10,"history_s":120,"first_seq":1,"next_seq":1}"#
            view.apply(try LineDecoder.decode(Array(hello.utf8)[...]), now: now)
            let listed = (0..<sources).map { #"{"source":"cats\#($0)","state":"ok"}"# }.joined(separator: ",")
            let stats =
                #"{"type":"stats","time":"2026-03-01T12:00:00Z","as_of":0,"endpoints":[],"sources":[\#(listed)]}"#
            view.apply(try LineDecoder.decode(Array(stats.utf8)[...]), now: now)
            for _ in 0..<(series > 1_000 ? 12 : 120) {
                try change(names.indices)
                now = now + .seconds(series > 1_000 ? 10 : 1)
            }
            guard sources > 1 else { return }
            // Folded, the next heading is the row below.
            _ = view.frame(now: now)
            _ = view.handle(.home, now: now)
            for _ in 0..<sources {
                _ = view.handle(.left, now: now)
                _ = view.frame(now: now)
                _ = view.handle(.down, now: now)
            }
            _ = view.handle(.home, now: now)
        }

        /// Begins an alert for each of these series.
        mutating func fire(_ names: some Sequence<String>) throws {
            for name in names {
                sequence += 1
                let text =
                    #"{"seq":\#(sequence),"time":"2026-03-01T12:00:00Z","type":"alert","source":"cats0","about":"\#(name)","condition":"hot","state":"firing","id":"\#(name)","at":"2026-03-01T12:00:00Z","since":"2026-03-01T12:00:00Z","severity":"critical","value":1130,"test":"cats0/* > 1000","op":">","threshold":1000,"evidence":{"run":"r","from":1,"to":2}}"#
                view.apply(try LineDecoder.decode(Array(text.utf8)[...]), now: now)
            }
        }

        /// Gives each of these series another value.
        mutating func change(_ indices: Range<Int>) throws {
            for index in indices {
                sequence += 1
                // Scattered numbers, the same in each run.
                let value = ((sequence &* 2_654_435_761) >> 16) % 1_000
                let text =
                    #"{"seq":\#(sequence),"time":"2026-03-01T12:00:00Z","type":"cats","source":"\#(names[index].prefix { $0 != "/" })","series":"\#(names[index])","value":\#(value)}"#
                var line = try LineDecoder.decode(Array(text.utf8)[...])
                line.time = now
                view.apply(line, now: now)
            }
        }
    }

    /// The milliseconds of the thread's CPU time for a frame.
    private static func frames(series: Int, sources: Int = 1, firing: Int = 0, keys: String) throws -> Double {
        var feed = try Feed(series: series, sources: sources)
        try feed.fire(feed.names.prefix(firing))
        var renderer = GridRenderer(TerminalCapabilities(depth: .full))
        _ = renderer.render(feed.view.frame(now: feed.now))
        for key in keys.unicodeScalars { _ = feed.view.handle(.character(key), now: feed.now) }
        _ = renderer.render(feed.view.frame(now: feed.now))
        let count = series > 1_000 ? 20 : 200
        var spent = 0.0
        for _ in 0..<count {
            feed.now = feed.now + .milliseconds(100)
            try feed.change(feed.names.indices)
            let before = ThreadTime.now
            let bytes = renderer.render(feed.view.frame(now: feed.now))
            spent += ThreadTime.now - before
            // Of folded series nothing is shown.
            guard !bytes.isEmpty || sources > 1 else { throw BenchError("nothing was drawn") }
        }
        return spent / Double(count)
    }

    private static func scroll(series: Int) throws -> Double {
        var feed = try Feed(series: series)
        var renderer = GridRenderer(TerminalCapabilities(depth: .full))
        _ = renderer.render(feed.view.frame(now: feed.now))
        let count = 500
        let before = ThreadTime.now
        for index in 0..<count {
            _ = feed.view.handle(index % 20 < 10 ? .pageDown : .pageUp, now: feed.now)
            _ = renderer.render(feed.view.frame(now: feed.now))
        }
        return (ThreadTime.now - before) / Double(count)
    }

    private static func bytes() throws -> Double {
        var feed = try Feed(series: 100)
        var renderer = GridRenderer(TerminalCapabilities(depth: .full))
        _ = renderer.render(feed.view.frame(now: feed.now))
        var most = 0
        // The frame after one visible series got a value within the same second; the largest of many.
        for round in 0..<200 {
            try feed.change(round % 20..<round % 20 + 1)
            most = max(most, renderer.render(feed.view.frame(now: feed.now)).count)
        }
        return Double(most)
    }
}
