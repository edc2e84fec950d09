internal import Feed
internal import Journal
internal import Settings

/// Lists the types, sources and series of a journal's newest lines, for a user who asked for a name that none has.
enum LogNames {
    /// The names of one kind.
    private struct Kind {
        let option: String
        let wanted: [String]
        var there: Set<String> = []
        /// Whether a wanted name was found, or none is wanted.
        var isFound: Bool

        init(_ option: String, _ wanted: [String]) {
            (self.option, self.wanted) = (option, wanted)
            isFound = wanted.isEmpty
        }

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            guard !isFound, !bytes.isEmpty else { return }
            let name = String(decoding: bytes, as: UTF8.self)
            isFound = wanted.contains(name)
            if there.count < mostNames { there.insert(name) }
        }
    }

    private static let mostLines = 100_000
    private static let mostNames = 1_000
    private static let mostShown = 20

    /// Returns one sentence for each kind whose wanted names occur in no line.
    static func missing(_ options: Options, in rows: JournalRows) throws -> [String] {
        let settings = SettingTable.rows
        var types = Kind(settings.logTypes.flag, options[\.logTypes])
        var sources = Kind(settings.logSources.flag, options[\.logSources])
        var series = Kind(settings.logSeries.flag, options[\.logSeries])
        var count = 0
        _ = try rows.rows(in: 0...(.max), isReversed: true, atMost: mostLines) { row in
            count += 1
            types.add(row.type)
            sources.add(row.source)
            series.add(row.series)
            return !(types.isFound && sources.isFound && series.isFound)
        }
        let lines = count < mostLines ? "no line" : "none of the newest \(mostLines) lines"
        return [types, sources, series].filter { !$0.isFound && !$0.there.isEmpty }.map { kind in
            let wanted = kind.wanted.map { "'\(Sanitizer.visible($0, limit: 80))'" }.joined(separator: ", ")
            let there = kind.there.sorted().prefix(mostShown).map { Sanitizer.visible($0, limit: 80) }
            let more = kind.there.count > mostShown ? ", …" : ""
            return "\(kind.option): \(lines) has \(wanted); there is \(there.joined(separator: ", "))\(more)"
        }
    }
}
