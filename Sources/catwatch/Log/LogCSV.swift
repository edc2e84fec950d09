internal import Feed
internal import Journal
internal import Reactor

/// Lines as records of RFC 4180.
enum LogCSV {
    static let head = "run,seq,time,type,source,series,value,text"

    /// A record without its end.
    static func record(_ row: JournalRows.Row, _ sequence: Int, run: String) -> String {
        let value = row.value.map { number in
            LineWriter.bytes(atMost: LineWriter.mostNumber) { $0.number(number) }
        }
        let cells = [
            text(run), "\(sequence)", LogText.utc(row.time), text(row.type), text(row.source), text(row.series),
            String(decoding: value ?? [], as: UTF8.self), text(LogText.message(of: row) ?? ""),
        ]
        return cells.joined(separator: ",")
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String { text(String(decoding: bytes, as: UTF8.self)) }

    /// What an upstream said as a cell. Spreadsheets take what begins like a formula for one: it gets an apostrophe in front.
    static func text(_ text: String) -> String {
        var text = text
        if let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) { text = "'" + text }
        let isPlain = text.utf8.allSatisfy { $0 != 0x22 && $0 != 0x2C && $0 != 0x0A && $0 != 0x0D }
        if isPlain { return text }
        return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
