/// A screen before it is written: rows of cells, and the only place where text becomes cells.
///
/// Nothing is written outside of the grid, wherever text is put, and no half of a wide character is left.
package struct CellGrid: Sendable {
    package let size: ScreenSize
    package private(set) var cells: [Cell]
    /// The characters of more than one code point; see `Cell.glyph`.
    private(set) var clusters: [String] = []
    /// The addresses of links; see `Cell.link`.
    private(set) var links: [String] = []

    /// A blank screen.
    package init(_ size: ScreenSize) {
        self.size = size
        cells = [Cell](repeating: .blank, count: size.columns * size.rows)
    }

    package var columns: Int { size.columns }
    package var rows: Int { size.rows }

    subscript(row: Int, column: Int) -> Cell { cells[row * size.columns + column] }

    // MARK: Text

    /// Puts text, cut with `…` where it would exceed `width` columns or the grid.
    ///
    /// - Parameter link: the address of a link; only http and https addresses of at most 2,000 bytes are used.
    /// - Returns: the number of columns used.
    @discardableResult
    package mutating func put(
        _ text: String, row: Int, column: Int, style: Style = .plain, width: Int = .max, link: String? = nil
    ) -> Int {
        guard row >= 0, row < rows, column >= 0, column < columns, width > 0 else { return 0 }
        let limit = column + min(width, columns - column)
        let number = link.map { register($0) } ?? 0
        var cell = Cell(
            foreground: style.foreground, background: style.background, attributes: style.attributes, link: number)
        if let used = putASCII(text, row: row, column: column, limit: limit, cell: cell) { return used }
        var place = column
        for character in text {
            let cluster = Cluster(character)
            if cluster.columns > 2 {
                // The visible form of something hidden is made of narrow characters, and may be cut anywhere.
                for scalar in cluster.text.unicodeScalars {
                    let width = WidthClass(scalar) == .two ? 2 : 1
                    guard place + width <= limit else { return cut(row, column, limit, cell) }
                    cell.glyph = scalar.value
                    cell.extent = UInt8(width)
                    set(cell, row: row, column: place)
                    place += width
                }
                continue
            }
            guard place + cluster.columns <= limit else { return cut(row, column, limit, cell) }
            cell.glyph = glyph(of: cluster.text)
            cell.extent = UInt8(cluster.columns) | (cluster.isDoubtful ? Cell.doubtfulBit : 0)
            set(cell, row: row, column: place)
            place += cluster.columns
        }
        return place - column
    }

    /// Puts one narrow character of our own: a block, a line, an arrow.
    package mutating func put(glyph: Unicode.Scalar, row: Int, column: Int, style: Style) {
        guard row >= 0, row < rows, column >= 0, column < columns else { return }
        set(
            Cell(
                glyph: glyph.value, foreground: style.foreground, background: style.background,
                attributes: style.attributes), row: row, column: column)
    }

    /// Changes the style of a part of a row, clamped to the grid, and leaves its text.
    package mutating func restyle(row: Int, columns range: Range<Int>, _ change: (Style) -> Style) {
        guard row >= 0, row < rows else { return }
        for column in range.clamped(to: 0..<columns) {
            let index = row * columns + column
            let style = change(cells[index].style)
            cells[index].foreground = style.foreground
            cells[index].background = style.background
            cells[index].attributes = style.attributes
        }
    }

    /// Fills a part of a row, clamped to the grid, with one narrow character.
    package mutating func fill(row: Int, columns range: Range<Int>, with glyph: Unicode.Scalar, style: Style) {
        for column in range.clamped(to: 0..<columns) { put(glyph: glyph, row: row, column: column, style: style) }
    }

    /// Puts text that is all printable ASCII; returns nil for any other.
    private mutating func putASCII(_ text: String, row: Int, column: Int, limit: Int, cell: Cell) -> Int? {
        let room = limit - column
        let done = text.utf8.withContiguousStorageIfAvailable { bytes -> Bool in
            // Only the visible part is checked: a long text costs no more than a short one.
            for byte in bytes.prefix(room + 1) where byte < 0x20 || byte >= 0x7F { return false }
            var cell = cell
            for place in 0..<min(bytes.count, room) {
                cell.glyph = UInt32(bytes[place])
                set(cell, row: row, column: column + place)
            }
            return true
        }
        guard done == true else { return nil }
        let length = text.utf8.count
        return length > room ? cut(row, column, limit, cell) : length
    }

    /// Ends text that is too long with an ellipsis in the last column of its room.
    private mutating func cut(_ row: Int, _ column: Int, _ limit: Int, _ cell: Cell) -> Int {
        var cell = cell
        var place = limit - 1
        // A wide character that did not fit leaves the last column unset.
        if place > column, self[row, place - 1].isContinuation == false, self[row, place - 1].columns == 2 {
            place -= 1
        }
        cell.glyph = 0x2026
        cell.extent = 1
        set(cell, row: row, column: place)
        cell.glyph = 0x20
        for rest in place + 1..<max(limit, place + 1) { set(cell, row: row, column: rest) }
        return limit - column
    }

    /// Sets a cell inside the grid; the other half of an overwritten wide character becomes blank.
    @inline(__always)
    private mutating func set(_ cell: Cell, row: Int, column: Int) {
        let index = row * columns + column
        let width = cell.columns
        if cells[index].isContinuation, column > 0 { blank(index - 1) }
        let last = index + width - 1
        if cells[last].columns == 2, column + width < columns { blank(last + 1) }
        cells[index] = cell
        if width == 2 {
            var half = cell
            half.glyph = 0
            half.extent = 0
            cells[index + 1] = half
        }
    }

    private mutating func blank(_ index: Int) {
        cells[index].glyph = 0x20
        cells[index].extent = 1
    }

    // MARK: Tables

    private mutating func glyph(of text: String) -> UInt32 {
        var scalars = text.unicodeScalars.makeIterator()
        // A cluster is never empty.
        let first = scalars.next()?.value ?? 0x20
        if scalars.next() == nil { return first }
        clusters.append(text)
        return UInt32(clusters.count - 1) | Cell.clusterBit
    }

    private mutating func register(_ address: String) -> UInt16 {
        guard let safe = LinkAddress.safe(address), links.count < Int(UInt16.max) else { return 0 }
        if let known = links.firstIndex(of: safe) { return UInt16(known + 1) }
        links.append(safe)
        return UInt16(links.count)
    }

    /// The text of a cell.
    func text(of cell: Cell) -> String {
        if cell.isCluster { return clusters[Int(cell.glyph & ~Cell.clusterBit)] }
        return Unicode.Scalar(cell.glyph).map { String(Character($0)) } ?? ""
    }

    /// The address that a cell links to; nil for none.
    func address(of cell: Cell) -> String? { cell.link == 0 ? nil : links[Int(cell.link) - 1] }

    /// The rows as plain text, without trailing blanks, each ended by a newline: for scripts and tests.
    ///
    /// - Parameter isASCII: whether other characters are replaced by similar ASCII ones.
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
