import Feed
import Journal

/// All that a history gives, page by page.
enum LineReader {
    /// `run:number` of each line, gaps as `run:from-to`.
    static func numbers(
        _ history: SQLiteHistory, _ query: JournalQuery = .init(), bytes: Int = 4_096
    ) throws -> [String] {
        try pages(history, query, bytes: bytes).flatMap { page in
            try page.lines.split(separator: 0x0A).map { bytes in
                let line = try LineDecoder.decode(bytes)
                if case .gap(let gap) = line.body { return "\(page.run.name):\(gap.from)-\(gap.to)" }
                return "\(page.run.name):\(line.seq ?? -1)"
            }
        }
    }

    static func pages(
        _ history: SQLiteHistory, _ query: JournalQuery = .init(), bytes: Int = 4_096
    ) throws -> [JournalPage] {
        var pages: [JournalPage] = []
        while let page = try history.page(query, behind: pages.last?.last, bytes: bytes) { pages.append(page) }
        return pages
    }

    static func numbers(_ run: String, _ range: ClosedRange<Int>) -> [String] { range.map { "\(run):\($0)" } }
}
