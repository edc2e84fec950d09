extension CellGrid {
    /// The rows as plain text, without trailing blanks, each ended by a newline: for scripts and tests.
    ///
    /// - Parameter isASCII: whether everything else gets its likeness.
    package func text(isASCII: Bool = false) -> String {
        var output = ""
        for row in 0..<rows {
            var line = ""
            for column in 0..<columns {
                let cell = self[row, column]
                if cell.isContinuation { continue }
                if isASCII {
                    line.unicodeScalars.append(Unicode.Scalar(GlyphFallback.ascii(cell.glyph)))
                    if cell.columns == 2 { line += " " }
                } else {
                    line += text(of: cell)
                }
            }
            while line.utf8.last == 0x20 { line.removeLast() }
            output += line + "\n"
        }
        return output
    }
}
