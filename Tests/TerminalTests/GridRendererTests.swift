import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct GridRendererTests {
    private static let size = ScreenSize(columns: 20, rows: 5)

    private static func scribble(_ grid: inout CellGrid, _ random: inout SeededGenerator, _ pieces: [String]) {
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let colors: [CellColor] = [.standard, CellColor(0xFF0000), CellColor(0x336699)]
            let style = Style(
                colors.randomElement(using: &random) ?? .standard,
                on: colors.randomElement(using: &random) ?? .standard,
                Style.Attributes(rawValue: UInt8.random(in: 0...15, using: &random)))
            grid.put(
                pieces.randomElement(using: &random) ?? "", row: Int.random(in: 0..<5, using: &random),
                column: Int.random(in: 0..<20, using: &random), style: style,
                link: Bool.random(using: &random)
                    ? "https://cats.example/\(Int.random(in: 0...1, using: &random))" : nil)
        }
    }

    /// Drawing differences onto a terminal leaves what drawing everything does.
    @Test(arguments: [TerminalCapabilities.Depth.none, .full])
    func differencesAddUpToTheWhole(_ depth: TerminalCapabilities.Depth) {
        var random = SeededGenerator(seed: 9)
        let pieces = ["a", "猫", "e\u{301}", "text that is longer", "    ", "ש", "\u{1B}[31m", "▁▂▃", "🐈"]
        var renderer = GridRenderer(TerminalCapabilities(depth: depth))
        var screen = ScreenModel(columns: 20, rows: 5)
        var grid = CellGrid(Self.size)
        for round in 0..<LongRun.rounds(short: 300, long: 20_000) {
            if round % 7 == 0 { grid = CellGrid(Self.size) }
            Self.scribble(&grid, &random, pieces)
            screen.write(renderer.render(grid)) { Cluster($0).columns }
            var whole = GridRenderer(TerminalCapabilities(depth: depth))
            var fresh = ScreenModel(columns: 20, rows: 5)
            fresh.write(whole.render(grid)) { Cluster($0).columns }
            #expect(screen.cells == fresh.cells, "round \(round), seed \(random.seed)")
            #expect(screen.text == grid.text(), "round \(round), seed \(random.seed)")
            #expect(screen.faults == [] && !screen.isUpdating, "seed \(random.seed)")
            if screen.cells != fresh.cells { return }
        }
    }

    /// A terminal that takes one column for what others take two or eight for: everything else is where it belongs.
    @Test(arguments: [1, 3, 8])
    func putsTheCursorBackAfterDoubtfulCharacters(_ width: Int) {
        var renderer = GridRenderer(TerminalCapabilities(depth: .none))
        var screen = ScreenModel(columns: 20, rows: 5)
        var grid = CellGrid(Self.size)
        grid.put("12345678901234567890", row: 0, column: 0)
        let theirs: (Character) -> Int = { Cluster($0).isDoubtful ? width : Cluster($0).columns }
        screen.write(renderer.render(grid), width: theirs)
        grid.put("👩‍👩‍👧‍👦", row: 0, column: 4)
        screen.write(renderer.render(grid), width: theirs)
        let line = screen.cells[0].map(\.text)
        #expect(line[..<4].joined() == "1234")
        #expect(line[4] == "👩‍👩‍👧‍👦")
        #expect(line[6...].joined() == "78901234567890")
    }

    @Test func writesNothingWhenNothingChanged() {
        var renderer = GridRenderer(TerminalCapabilities(depth: .full))
        var grid = CellGrid(Self.size)
        grid.put("👩‍👩‍👧‍👦 cat", row: 0, column: 0, link: "https://cats.example/")
        #expect(!renderer.render(grid).isEmpty)
        #expect(renderer.render(grid).isEmpty)
        renderer.invalidate()
        #expect(!renderer.render(grid).isEmpty)
    }

    @Test(arguments: [
        (TerminalCapabilities.Depth.full, "\u{1B}[38;2;255;0;0m"), (.palette, "\u{1B}[38;5;196m"),
        (.sixteen, "\u{1B}[91m"), (.none, ""),
    ])
    func takesTheColoursThereAre(_ depth: TerminalCapabilities.Depth, _ expected: String) {
        var renderer = GridRenderer(TerminalCapabilities(depth: depth))
        var grid = CellGrid(Self.size)
        grid.put("x", row: 0, column: 0, style: Style(CellColor(0xFF0000)))
        let text = String(decoding: renderer.render(grid), as: UTF8.self)
        #expect(
            text
                == "\u{1B}[?2026h\u{1B}[m\u{1B}[2J\u{1B}[1H\(expected)x\(expected.isEmpty ? "" : "\u{1B}[m")\u{1B}[?2026l"
        )
    }

    @Test func writesOnlyASCIIWhereNothingElseIsKnown() {
        var renderer = GridRenderer(TerminalCapabilities(depth: .none, isASCII: true))
        var grid = CellGrid(Self.size)
        grid.put("▁▄█ ⣿ ↑↓ 猫 µg/m³ …", row: 0, column: 0)
        let bytes = renderer.render(grid)
        #expect(bytes.allSatisfy { $0 < 0x80 })
        #expect(grid.text(isASCII: true) == "_-# : ^v ?  ug/m3 ~\n\n\n\n\n")
    }

    @Test(
        arguments: [
            (["TERM": "xterm-256color", "LANG": "en_US.UTF-8"], TerminalCapabilities.Depth.palette, false),
            (["TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.utf8"], .full, false),
            (["TERM": "xterm", "LC_ALL": "C", "LANG": "C.UTF-8"], .sixteen, true),
            (["TERM": "xterm", "NO_COLOR": "1", "COLORTERM": "truecolor", "LC_CTYPE": "C.UTF-8"], .none, false),
            (["TERM": "dumb", "LANG": "C.UTF-8"], .none, true), (["TERM": "vt100", "LANG": "C.UTF-8"], .none, false),
            ([:], .none, true),
        ] as [([String: String], TerminalCapabilities.Depth, Bool)])
    func goesByTheEnvironment(_ values: [String: String], _ depth: TerminalCapabilities.Depth, _ isASCII: Bool) {
        let capabilities = TerminalCapabilities { values[$0] }
        #expect(capabilities.depth == depth)
        #expect(capabilities.isASCII == isASCII)
    }
}
