import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct CellGridTests {
    private func grid(_ columns: Int = 12, _ rows: Int = 1) -> CellGrid {
        CellGrid(ScreenSize(columns: columns, rows: rows))
    }

    @Test(arguments: [
        ("cat", 8, "cat|"), ("a long line", 6, "a lon…|"), ("猫猫猫", 6, "猫猫猫|"), ("猫猫猫", 5, "猫猫…|"), ("猫猫猫", 4, "猫…|"),
        ("猫", 1, "…|"), ("a猫", 2, "a…|"), ("\u{1B}[2J", 8, "␛[2J|"), ("a\u{202E}b", 8, "a\\u{202…|"), ("", 3, "|"),
        ("e\u{301}é", 2, "e\u{301}é|"),
    ])
    func cutsTextByItsColumns(_ text: String, _ width: Int, _ expected: String) {
        var grid = grid()
        let used = grid.put(text, row: 0, column: 0, width: width)
        #expect(used <= width)
        grid.put("|", row: 0, column: used)
        #expect(grid.text().filter { $0 != " " } == expected.filter { $0 != " " } + "\n")
    }

    @Test func leavesNoHalfOfAWideCharacter() {
        for column in 0..<4 {
            var grid = grid(4)
            grid.put("猫猫", row: 0, column: 0)
            grid.put("x", row: 0, column: column)
            #expect(grid.text().filter { $0 == "猫" }.count == 1, "\(column)")
            #expect(grid.text().filter { $0 == "x" }.count == 1, "\(column)")
        }
        var grid = grid(4)
        grid.put("猫猫", row: 0, column: 0)
        grid.put("犬", row: 0, column: 1)
        #expect(grid.text() == " 犬\n")
    }

    @Test func writesNothingOutside() {
        var grid = grid(4, 2)
        for (row, column) in [(-1, 0), (2, 0), (0, -1), (0, 4), (Int.max, 0), (0, Int.min)] {
            #expect(grid.put("cat", row: row, column: column) == 0)
            grid.put(glyph: "x", row: row, column: column, style: .plain)
        }
        grid.fill(row: 5, columns: -3..<9, with: "x", style: .plain)
        #expect(grid.text() == "\n\n")
        grid.fill(row: 1, columns: -3..<9, with: "x", style: .plain)
        #expect(grid.text() == "\nxxxx\n")
    }

    /// Whatever is put wherever: halves fit together, and every row is as wide as the grid.
    @Test func staysWholeUnderRandomText() {
        var random = SeededGenerator(seed: 5)
        let pieces = ["a", "猫", "e\u{301}", "👩‍👩‍👧‍👦", "\u{1B}", "\u{202E}", "🇩🇪", "ש", "longer text", "", "क्षि", "\r\n"]
        var grid = grid(9, 3)
        for _ in 0..<LongRun.rounds(short: 3_000, long: 100_000) {
            let text = (0..<Int.random(in: 0...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            grid.put(
                text.joined(), row: Int.random(in: -1...3, using: &random),
                column: Int.random(in: -1...9, using: &random),
                width: Int.random(in: 0...10, using: &random))
            for row in 0..<3 {
                for column in 0..<9 {
                    let cell = grid[row, column]
                    if cell.columns == 2, column == 8 || !grid[row, column + 1].isContinuation {
                        Issue.record("half at \(row), \(column), seed \(random.seed)")
                    }
                    if cell.isContinuation, column == 0 || grid[row, column - 1].columns != 2 {
                        Issue.record("right half alone at \(row), \(column), seed \(random.seed)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("https://cats.example/a.jpg", "https://cats.example/a.jpg"), ("HTTP://x/ü", "HTTP://x/%C3%BC"),
        ("javascript:alert(1)", nil), ("file:///etc/passwd", nil), ("https://x/\u{1B}]8;;", nil),
        ("https://x/a b", nil),
        ("https://x/\u{7}", nil), ("", nil),
    ])
    func linksLeadToTheWebOnly(_ address: String, _ safe: String?) {
        #expect(LinkAddress.safe(address) == safe)
    }

    @Test func linksAreBounded() {
        #expect(LinkAddress.safe("https://" + String(repeating: "x", count: 2_000)) == nil)
    }
}
