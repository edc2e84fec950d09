internal import Feed
internal import Journal

/// A journal's summary as a table: a row for each source, names left-aligned and numbers right-aligned.
enum SummaryTable {
    static func text(_ summary: JournalSummary) -> String {
        var rows = [["source", "events", "answers", "errors", "min", "mean", "p50", "p95", "p99", "max"]]
        for source in summary.sources { rows.append(row(Sanitizer.visible(source.name, limit: 40), source)) }
        if let others = summary.others { rows.append(row("(all others)", others)) }
        let widths = rows[0].indices.map { column in rows.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        let lines = rows.map { cells in
            zip(cells, widths).enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: cell.1 - cell.0.unicodeScalars.count)
                return column == 0 ? cell.0 + blanks : blanks + cell.0
            }.joined(separator: "  ")
        }
        let count = summary.lines == 1 ? "1 line" : "\(summary.lines) lines"
        return lines.joined(separator: "\n") + "\n\n\(count); how long answers took is in milliseconds\n"
    }

    private static func row(_ name: String, _ source: JournalSummary.Source) -> [String] {
        let answers = source.answers
        return [name, "\(source.events)", "\(answers.count)", "\(answers.errors)"] + answers.figures
    }
}
