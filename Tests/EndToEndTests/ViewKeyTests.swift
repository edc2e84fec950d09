import Glibc
import TestSupport
import Testing

/// The view in a terminal, and what its keys do.
@Suite(.limited, .enabled(if: Installation.hasPython)) struct ViewKeyTests {
    static let demo = ["--demo", "--preset", "all", "-i", "1s"]

    @Test(arguments: [(20, 5), (120, 40)])
    func showsItsScreensAtAnySize(columns: Int, rows: Int) async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(stage, Self.demo, columns: columns, rows: rows)
            try await screen.wait(for: #"● fact .*\d"#)
            // From screen to screen and round, in both directions.
            try await screen.type("\t", for: columns < 60 ? "^ Detail" : "fact .*ago")
            try await screen.type("\t", for: columns < 60 ? "^ Metrics" : "Endpoints")
            try await screen.type("\t", for: columns < 60 ? "^ Feed" : #"^ \d\d:\d\d:\d\d\.\d\d\d  \w+"#)
            try await screen.type("\t", for: "fact ")
            try await screen.type("\u{1B}[Z", for: columns < 60 ? "^ Feed" : #"^ \d\d:\d\d:\d\d\.\d\d\d  \w+"#)
            try await screen.type("3", for: columns < 60 ? "^ Metrics" : "Endpoints")
            let list = try await screen.type("1", for: "fact ")
            #expect(list.count == rows && list.allSatisfy { $0.unicodeScalars.count <= columns })
            try await screen.type("q")
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [] && left.after.contains("--- catwatch: "))
        }
    }

    @Test func goesIntoACityAndBack() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(stage, Self.demo)
            try await screen.wait(for: "aqi ▾ 20 series")
            try await screen.type("/", for: "filter: ")
            try await screen.type("del", for: "filter: del.*1 of ")
            try await screen.type("\r", for: #"\n▸   Delhi .* AQI [ GSMPVX→]{3} "#)
            // The band's letter and its name, the graph's axis, the figures and the event's own members.
            let names = "G  good|S  satisfactory|M  moderate|P  poor|V  very poor|X  severe"
            let detail = try await screen.type("\r", for: "aqi/Delhi +\\d+ AQI .*(\(names))")
            #expect(detail.contains { $0.contains("┤") } && detail.contains { $0.contains("mean ") })
            #expect(detail.contains { $0.contains("city  Delhi") })
            // The read-out of the cursor, and without it again.
            try await screen.type("\u{1B}[D", for: #"\d\.\d   value \d+"#)
            try await screen.type("\u{1B}", for: #"last \d+   min"#)
            try await screen.type("\u{1B}", for: "▸   Delhi")
            // The filter goes last.
            try await screen.type("\u{1B}", for: "Amritsar")
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func theMouseChoosesRowsWhenAskedFor() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(stage, ["--demo", "--preset", "aqi", "--mouse"])
            let rows = try await screen.wait(for: "aqi/Ahmedabad(?s:.*)aqi/Bhopal")
            let row = try #require(rows.firstIndex { $0.contains("Ahmedabad") }) + 1
            // A press and a release in the fifth column of that row, and the wheel.
            let click = "\u{1B}[<0;5;\(row)M\u{1B}[<0;5;\(row)m"
            try await screen.type(click, for: "▸ aqi/Ahmedabad")
            try await screen.type("\u{1B}[<65;5;6M", for: "▸ aqi/Bhopal")
            try await screen.type("\u{1B}[<64;5;6M", for: "▸ aqi/Ahmedabad")
            try await screen.type(click, for: "aqi/Ahmedabad .*ago")
            try await screen.type("q")
            #expect(try await screen.end().changed == [])
            #expect(try await screen.count(#"\x1b\[\?1000h"#) == 1)
            #expect(try await screen.count(#"(?s)\x1b\[\?1000h.*\x1b\[\?1000l"#) == 1)

            let other = try await ViewScreen(stage, ["--demo"])
            try await other.wait(for: "▸ fact ")
            #expect(try await other.count(#"\x1b\[\?100[0-6]h"#) == 0)
        }
    }

    @Test func listsFibonacciNumbersAndTheTimeOfTheRun() async throws {
        try await Stage.run { stage in
            let source = #"{"name":"fibonacci","kind":"fibonacci","n":15,"unit":"ms","emit":"pairs"}"#
            let path = try await stage.write(#"{"sources":[\#(source)]}"#, to: "config.json")
            let screen = try await ViewScreen(stage, ["--config", path])
            try await screen.wait(for: #"fibonacci .*ms(?s:.*)fibonacci/15 .*610"#)
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func takesASizeThatChanges() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            _ = try await stage.catwatch([
                "--demo", "--preset", "all", "-e", "1h", "-i", "10s", "-o", "none", "--listen=\(path)",
            ])
            let screen = try await ViewScreen(stage, ["--attach=\(path)"])
            try await screen.wait(for: "aqi ▾ 20 series")
            for (columns, rows) in [(120, 40), (40, 10), (20, 5), (80, 24)] {
                try await screen.resize(columns: columns, rows: rows)
                let fresh = try await ViewScreen(stage, ["--attach=\(path)"], columns: columns, rows: rows)
                try await fresh.wait(for: "fact ")
                // The same feed and the same time: nothing may be left of the other size.
                #expect(try await screen.waitToShow(the: fresh).count == rows)
                try await fresh.type("q")
                _ = try await fresh.end()
            }
        }
    }
}
