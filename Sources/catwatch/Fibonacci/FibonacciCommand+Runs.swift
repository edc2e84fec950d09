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
            try scan.pieces(in: .first...(.last)) { row in
                guard !row.series.isEmpty, holds(row.line, marker),
                    let line = try? LineDecoder.decode(Array(row.line)[...]), let sum = FibonacciRuns.sum(of: line)
                else { return true }
                if isEmpty { text += self.row("N", "ms") }
                isEmpty = false
                text += self.row("\(sum.n)", NumberText.fixed(sum.ms, 3))
                return text.utf8.count < 64 << 10
            } piece: { _ in
                try Descriptor.write(text, to: output)
                text = ""
                return true
            }
            return isEmpty ? 1 : 0
        }
    }

    /// Whether a line holds these bytes; `firstRange` would link the regular expressions.
    private static func holds(_ line: some RandomAccessCollection<UInt8>, _ marker: [UInt8]) -> Bool {
        line.indices.contains { line[$0] == marker[0] && line[$0...].starts(with: marker) }
    }

    private static func row(_ left: String, _ right: String) -> String {
        left + String(repeating: " ", count: max(2, 20 - left.utf8.count - right.utf8.count)) + right + "\n"
    }
}
