internal import Feed
internal import Journal
internal import Reactor

/// Lines as CSV records (RFC 4180).
enum LogCSV {
    static let head = "run,seq,time,type,source,series,value,text"

    /// A record without its line end.
    static func record(_ row: JournalRows.Row, _ sequence: Int, run: String) -> String {
        let cells = [
            text(run), "\(sequence)", row.time.text, text(row.type), text(row.source), text(row.series),
            number(row.value), text(LogText.message(of: row) ?? ""),
        ]
        return cells.joined(separator: ",")
    }

    /// Empty for none.
    static func number(_ value: Double?) -> String { value.map { LineWriter.text(of: $0) } ?? "" }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String { text(String(decoding: bytes, as: UTF8.self)) }

    /// Foreign text as a cell. Spreadsheets evaluate text that begins like a formula, so it gets an apostrophe in
    /// front, as in the page's export.
    static func text(_ text: String) -> String {
        let text = isLikeFormula(text) ? "'" + text : text
        let isPlain = text.utf8.allSatisfy { $0 != 0x22 && $0 != 0x2C && $0 != 0x0A && $0 != 0x0D }
        if isPlain { return text }
        // By scalars: a quotation mark with a combining accent still has to be doubled.
        return "\"" + text.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }

    /// Whether the text begins with a tab or a line break, or its first visible character is one that begins a formula.
    private static func isLikeFormula(_ text: String) -> Bool {
        let scalars = text.unicodeScalars
        if let first = scalars.first, "\t\r\n".unicodeScalars.contains(first) { return true }
        let seen = scalars.first { scalar in
            let properties = scalar.properties
            let isHidden = properties.generalCategory == .format || properties.generalCategory == .control
            return !isHidden && !properties.isWhitespace
        }
        return seen.map { "=+-@|%\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains($0) } ?? false
    }
}
