import Glibc
import TestSupport
import Testing

/// `[` and `]` in Detail, where there is a journal.
@Suite(.limited, .enabled(if: Installation.hasPython)) struct ViewPastTests {
    /// Leaves thirty facts of a run that is over in a journal; gives how to go on with it: one more fact comes, and no other.
    /// Its one window is an hour wide then.
    private static func journal(_ stage: Stage) async throws -> [String] {
        let arguments = try await ["-u", stage.url("/fact"), "-i", "1s", "--journal=\(stage.folder)/x.db"]
        let first = try await Finished(of: stage.catwatch(arguments + ["-e", "10ms", "-o", "ndjson", "-n", "30"]))
        #expect(first.ending == .exited(0))
        return arguments + ["-e", "1h", "--history=1s"]
    }

    /// The live graph has the new value, and the newest of the run before if that was read from the journal before the
    /// answer came.
    private static let live = #" n [12]\b"#

    /// Where the value stands that is read, and whether its window has different ones.
    private static func readOut(_ rows: [String]) -> (time: String, isOfMany: Bool)? {
        for row in rows {
            let words = row.split(separator: " ")
            // The day may stand before the time.
            guard let end = words.prefix(3).firstIndex(where: { $0 == "value" || $0 == "nothing" }) else { continue }
            let time = words[..<end].joined(separator: " ")
            if row.contains("nothing in this window") { return (time, false) }
            guard let low = words.firstIndex(of: "min"), let mean = words.firstIndex(of: "mean"), mean + 1 < words.count
            else { continue }
            return (time, words[low + 1] != words[mean + 1])
        }
        return nil
    }

    /// Goes back to the run that is over, and comes back.
    private static func goBack(_ screen: ViewScreen) async throws {
        try await screen.wait(for: "▸ fact ")
        try await screen.type("2", for: live)
        let past = try await screen.type("]", for: #"windows, 6 h(?s:.*) n 31\b"#)
        #expect(past.contains { $0.contains("┤") })
        let whole = try await screen.waitUntilGone("reading the journal")
        #expect(!whole.contains { $0.contains("✕ journal") })
        // An old value can be read, and its window has many values; the newest is alone in its window. The view is paused,
        // because a running clock undoes the steps back on a slow machine.
        try await screen.type(" ", for: "PAUSED|paused")
        try await screen.type("h")
        var place = try await screen.wait(until: "a value is read", Self.readOut)
        for _ in 0..<150 where !place.isOfMany {
            let before = place.time
            try await screen.type("h")
            place = try await screen.wait(until: "one further back is read") { rows in
                // Midnight may lie between them.
                Self.readOut(rows).flatMap { $0.time < before || ($0.time > "23" && before < "01") ? $0 : nil }
            }
        }
        #expect(place.isOfMany)
        try await screen.type(" ")
        try await screen.type("\u{1B}", for: #" n 31\b"#)
        try await screen.type("[", for: #"60 m windows, 60 m(?s:.*)"# + live)
        try await screen.type("1", for: "▸ fact ")
        try await screen.type("q")
        let left = try await screen.end()
        #expect(left.status == 0 && left.changed == [])
    }

    @Test(arguments: [(80, 24), (160, 50)]) func aRunThatIsOverIsSeen(columns: Int, rows: Int) async throws {
        try await Stage.run { stage in
            let arguments = try await Self.journal(stage)
            try await Self.goBack(ViewScreen(stage, arguments, columns: columns, rows: rows))
        }
    }

    @Test func soItIsOfAnotherAgent() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let agent = try await stage.catwatch(Self.journal(stage) + ["-o", "ndjson", "--listen=\(path)"])
            try await stage.wait(for: "a journal that has something") {
                await agent.outputText.split(separator: "\"durable_seq\":").dropFirst().contains { $0.first != "0" }
            }
            try await Self.goBack(ViewScreen(stage, ["--attach=\(path)"]))
        }
    }

    @Test func anAgentWithoutAJournalSaysSo() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            _ = try await stage.catwatch([
                "-u", stage.url("/fact"), "-e", "1h", "-o", "none", "--history=10s", "--listen=\(path)",
            ])
            let screen = try await ViewScreen(stage, ["--attach=\(path)"])
            try await screen.wait(for: "▸ fact ")
            try await screen.type("2]", for: "✕ journal: there is none, or nothing in it yet")
            try await screen.type("[", for: "60 m windows, ")
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }
}
