internal import Feed
internal import Glibc
internal import Journal
internal import Reactor
internal import Terminal

extension FibonacciCommand {
    /// `catwatch fibonacci --summary`: prints the time that each computation in a journal took, the oldest first: N on
    /// the left, milliseconds right-aligned in a fixed width.
    ///
    /// - Parameter complain: prints whole lines on standard error.
    /// - Returns: the exit status, as for `LogCommand.run`.
    static func printRuns(
        of journal: String, to output: Int32 = STDOUT_FILENO, complain: (String) -> Void
    ) -> Int32 {
        JournalReading.status(of: journal, complain: complain) {
            let marker = Array("\"data\":{\"n\":".utf8)
            var text = ""
            var isEmpty = true
            let scan = try JournalRows(path: journal)
            try scan.pieces(in: 0...(.max)) { row in
                guard !row.series.isEmpty, holds(row.line, marker),
                    let line = try? LineDecoder.decode(Array(row.line)[...]), let run = run(of: line)
                else { return true }
                if isEmpty { text += self.row("N", "ms") }
                isEmpty = false
                text += self.row("\(run.n)", NumberText.fixed(run.ms, 3))
                return text.utf8.count < 64 << 10
            } piece: { _ in
                try Descriptor.write(text, to: output)
                text = ""
                return true
            }
            return isEmpty ? 1 : 0
        }
    }

    /// Reads a line of a run: its value is the time, its data is `{"n":500,"ms":0.042}`.
    private static func run(of line: Line) -> (n: Int, ms: Double)? {
        guard case .data(let data) = line.body, let ms = data.value, let json = data.data else { return nil }
        let members = String(decoding: json, as: UTF8.self).split(separator: ",")
        guard members.count == 2, members[1].hasPrefix("\"ms\":"), let n = Int(members[0].dropFirst(5)) else {
            return nil
        }
        return (n, ms)
    }

    /// Whether a line holds these bytes; `firstRange` would link the regular expressions.
    private static func holds(_ line: some RandomAccessCollection<UInt8>, _ marker: [UInt8]) -> Bool {
        line.indices.contains { line[$0] == marker[0] && line[$0...].starts(with: marker) }
    }

    private static func row(_ left: String, _ right: String) -> String {
        left + String(repeating: " ", count: max(2, 20 - left.utf8.count - right.utf8.count)) + right + "\n"
    }
}
