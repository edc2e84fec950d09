internal import Journal
internal import Reactor

/// The filter for the lines of a journal.
struct LogFilter {
    let from: Timestamp?
    /// The first time that is excluded.
    let until: Timestamp?
    // The names as bytes; empty for any name.
    private let types: [[UInt8]]
    private let sources: [[UInt8]]
    private let series: [[UInt8]]

    init(from: Timestamp?, until: Timestamp?, types: [String], sources: [String], series: [String]) {
        (self.from, self.until) = (from, until)
        self.types = types.map { Array($0.utf8) }
        self.sources = sources.map { Array($0.utf8) }
        self.series = series.map { Array($0.utf8) }
    }

    /// Whether lines are filtered by time only, if at all.
    var takesAnyName: Bool { types.isEmpty && sources.isEmpty && series.isEmpty }

    var takesAll: Bool { takesAnyName && from == nil && until == nil }

    func admits(_ row: JournalRows.Row) -> Bool {
        if let from, row.time < from { return false }
        if let until, row.time >= until { return false }
        return Self.isAmong(row.type, types) && Self.isAmong(row.source, sources) && Self.isAmong(row.series, series)
    }

    private static func isAmong(_ name: @autoclosure () -> UnsafeRawBufferPointer, _ names: [[UInt8]]) -> Bool {
        if names.isEmpty { return true }
        let name = name()
        return names.contains { $0.elementsEqual(name) }
    }
}
