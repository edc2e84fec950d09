import Feed
import Outputs
import TestSupport
import Testing

@Suite(.limited) struct ProgressBarTests {
    private static func text(
        _ done: Int, of total: Int?, source: String = "breeds", page: Int = 2, columns: Int,
        style: ProgressBar.Style = .unicode
    ) -> String {
        ProgressBar(source: source, progress: Progress(done: done, total: total, page: page), style: style)
            .text(columns: columns)
    }

    @Test(
        arguments: [
            (80, "breeds  [████████████████████████░░░░░░░░░░░░░░░░]  60 of 98  page 2"),
            (50, "breeds  [█████████████░░░░░░░░░]  60 of 98  page 2"),
            (34, "breeds  [███░░░]  60 of 98  page 2"), (33, "breeds  60 of 98  page 2"),
            (24, "breeds  60 of 98  page 2"), (23, "breeds  60 of 98"), (16, "breeds  60 of 98"),
            (15, "bree…  60 of 98"), (13, "br…  60 of 98"), (12, "60 of 98"), (8, "60 of 98"), (7, ""), (0, ""),
            (-3, ""),
        ])
    func leavesOutWhatDoesNotFit(columns: Int, text: String) {
        #expect(Self.text(60, of: 98, columns: columns) == text)
    }

    @Test func withoutATotalThereIsACountOnly() {
        #expect(Self.text(60, of: nil, columns: 80) == "breeds  60  page 2")
        #expect(Self.text(60, of: nil, columns: 9) == "bree…  60")
    }

    @Test(
        arguments: [
            (0, 4, "[------]"), (1, 4, "[#-----]"), (3, 4, "[####--]"), (4, 4, "[######]"), (9, 4, "[######]"),
            (0, 0, "[######]"),
        ])
    func isFullOnlyWhenAllIsThere(done: Int, total: Int, bar: String) {
        let text = Self.text(done, of: total, source: "x", columns: 27, style: .ascii)
        #expect(text.hasPrefix("x  \(bar)"), "\(text)")
    }

    @Test func asciiIsASCII() {
        let text = Self.text(1, of: 2, source: "kö\u{1b}[2J", columns: 80, style: .ascii)
        #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(Self.text(60, of: 98, columns: 15, style: .ascii) == "bree~  60 of 98")
    }

    @Test func namesAreShownAndNotObeyed() {
        let text = Self.text(1, of: nil, source: "a\u{1b}[2J\r\n\u{202e}b", columns: 80)
        #expect(text == "a␛[2J␍␊\\u{202e}b  1  page 2")
    }

    @Test func neverIsWiderThanTheTerminal() {
        var random = SeededGenerator(seed: 21)
        for _ in 0..<LongRun.rounds(short: 2_000, long: 100_000) {
            let length = Int.random(in: 0...60, using: &random)
            let name = String((0..<length).map { _ in "ab猫é\u{1}".randomElement(using: &random) ?? "a" })
            let done = Int.random(in: 0...1_000_000, using: &random)
            let total = Bool.random(using: &random) ? Int.random(in: 0...1_000_000, using: &random) : nil
            let columns = Int.random(in: -2...130, using: &random)
            let style: ProgressBar.Style = Bool.random(using: &random) ? .unicode : .ascii
            let text = Self.text(done, of: total, source: name, columns: columns, style: style)
            #expect(ProgressBar.columns(of: text) <= max(0, columns), "seed \(random.seed)")
        }
        #expect(!Self.text(.max, of: .max, columns: 200).contains("░"))
    }
}
