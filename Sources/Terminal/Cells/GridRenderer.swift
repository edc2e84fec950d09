/// Turns grids into the bytes that update a terminal: the differences from the previous grid.
///
/// A frame is wrapped in synchronised-update marks (`CSI ? 2026 h` and `l`), which terminals ignore if they do not know
/// them, and resets the text style at its end. The renderer expects that lines do not wrap (DECAWM off), that nobody
/// else moves the cursor, and that every frame was written entirely; otherwise call `invalidate`.
package struct GridRenderer: Sendable {
    package let capabilities: TerminalCapabilities
    private var shown: CellGrid?
    private var output: [UInt8] = []

    // The terminal's state within a frame. `column` is nil after a character on whose width terminals differ.
    private var row = -1
    private var column: Int?
    private var style = Style.plain
    private var link: String?

    package init(_ capabilities: TerminalCapabilities) { self.capabilities = capabilities }

    /// Forgets what is on the screen: the next frame writes everything.
    package mutating func invalidate() { shown = nil }

    /// Returns the bytes that make the screen look like `grid`; none when it already does.
    package mutating func render(_ grid: CellGrid) -> [UInt8] {
        output.removeAll(keepingCapacity: true)
        output += "\u{1B}[?2026h".utf8
        let start = output.count
        row = -1
        column = nil
        let old: CellGrid
        if let shown, shown.size == grid.size {
            old = shown
        } else {
            output += "\u{1B}[m\u{1B}[2J".utf8
            old = CellGrid(grid.size)
        }
        grid.cells.withUnsafeBufferPointer { new in
            old.cells.withUnsafeBufferPointer { previous in
                for row in 0..<grid.rows { render(row, of: grid, new, over: old, previous) }
            }
        }
        shown = grid
        guard output.count > start else { return [] }
        look(like: .plain, link: nil)
        output += "\u{1B}[?2026l".utf8
        return output
    }

    private mutating func render(
        _ number: Int, of grid: CellGrid, _ new: UnsafeBufferPointer<Cell>, over old: CellGrid,
        _ previous: UnsafeBufferPointer<Cell>
    ) {
        let base = number * grid.columns
        var place = 0
        // Cells before this column may have been overdrawn by a doubtful character: they are written in any case.
        var certain = 0
        // The end of the row's text; computed at the first difference.
        var end = -1
        while place < grid.columns {
            let cell = new[base + place]
            if place >= certain, isSame(cell, of: grid, previous[base + place], of: old) {
                place += 1
                continue
            }
            if cell.isContinuation {
                place += 1
                continue
            }
            if end < 0 {
                end = grid.columns
                while end > 0, new[base + end - 1] == .blank { end -= 1 }
            }
            move(to: number, place, grid, new)
            if place >= end, grid.columns - place > 3 {
                look(like: .plain, link: nil)
                output += "\u{1B}[K".utf8
                return
            }
            look(like: cell.style, link: grid.address(of: cell))
            write(cell, of: grid, at: place)
            place += cell.columns
            if cell.isDoubtful { certain = place + 8 }
        }
    }

    private func isSame(_ cell: Cell, of grid: CellGrid, _ other: Cell, of old: CellGrid) -> Bool {
        if !cell.isCluster, cell.link == 0 { return cell == other }
        var (left, right) = (cell, other)
        if left.isCluster, right.isCluster {
            guard grid.text(of: left) == old.text(of: right) else { return false }
            left.glyph = 0
            right.glyph = 0
        }
        guard grid.address(of: left) == old.address(of: right) else { return false }
        left.link = 0
        right.link = 0
        return left == right
    }

    private mutating func write(_ cell: Cell, of grid: CellGrid, at place: Int) {
        if capabilities.isASCII {
            output.append(GlyphFallback.ascii(cell.glyph))
            if cell.columns == 2 { output.append(UInt8(ascii: " ")) }
            column = place + cell.columns
            return
        }
        if cell.isDoubtful {
            // Blanks first, for a terminal that draws the character narrower; then back, and the next write sets its
            // own column.
            output += repeatElement(UInt8(ascii: " "), count: cell.columns)
            goTo(column: place)
            output += grid.text(of: cell).utf8
            column = nil
            return
        }
        if cell.isCluster { output += grid.text(of: cell).utf8 } else { append(scalar: cell.glyph) }
        column = place + cell.columns
    }

    @inline(__always)
    private mutating func append(scalar value: UInt32) {
        if value < 0x80 {
            output.append(UInt8(value))
        } else if let scalar = Unicode.Scalar(value) {
            output += UTF8.encode(scalar).unsafelyUnwrapped
        }
    }

    // MARK: Place

    private mutating func move(to row: Int, _ place: Int, _ grid: CellGrid, _ new: UnsafeBufferPointer<Cell>) {
        if row == self.row, column == place { return }
        if row != self.row {
            output += [0x1B, UInt8(ascii: "[")]
            output.append(decimal: row + 1)
            if place > 0 {
                output.append(UInt8(ascii: ";"))
                output.append(decimal: place + 1)
            }
            output.append(UInt8(ascii: "H"))
        } else if let column, column < place {
            let gap = place - column
            let start = row * grid.columns + column
            let plain = (start..<start + gap).allSatisfy {
                new[$0].extent == 1 && new[$0].glyph < 0x80 && new[$0].style == style && new[$0].link == 0
            }
            if gap <= 4, plain, link == nil {
                // Repeating the characters there takes no more bytes than moving the cursor.
                for index in start..<start + gap { output.append(UInt8(new[index].glyph)) }
            } else {
                output += [0x1B, UInt8(ascii: "[")]
                if gap > 1 { output.append(decimal: gap) }
                output.append(UInt8(ascii: "C"))
            }
        } else {
            goTo(column: place)
        }
        self.row = row
        column = place
    }

    private mutating func goTo(column: Int) {
        output += [0x1B, UInt8(ascii: "[")]
        output.append(decimal: column + 1)
        output.append(UInt8(ascii: "G"))
        self.column = column
    }

    // MARK: Look

    private mutating func look(like new: Style, link address: String?) {
        if capabilities.hasLinks, address != link {
            output += "\u{1B}]8;;\(address ?? "")\u{1B}\\".utf8
            link = address
        }
        var wanted = new
        if capabilities.depth == .none {
            wanted.foreground = .standard
            wanted.background = .standard
        }
        guard wanted != style else { return }
        defer { style = wanted }
        if wanted == .plain {
            output += "\u{1B}[m".utf8
            return
        }
        output += [0x1B, UInt8(ascii: "[")]
        let start = output.count
        let gone = style.attributes.subtracting(wanted.attributes)
        var added = wanted.attributes.subtracting(style.attributes)
        if !gone.isDisjoint(with: [.bold, .dim]) {
            // One code ends both bold and dim.
            parameter(22, since: start)
            added.formUnion(wanted.attributes.intersection([.bold, .dim]))
        }
        if gone.contains(.underline) { parameter(24, since: start) }
        if gone.contains(.inverse) { parameter(27, since: start) }
        if added.contains(.bold) { parameter(1, since: start) }
        if added.contains(.dim) { parameter(2, since: start) }
        if added.contains(.underline) { parameter(4, since: start) }
        if added.contains(.inverse) { parameter(7, since: start) }
        color(wanted.foreground, instead: style.foreground, isBackground: false, since: start)
        color(wanted.background, instead: style.background, isBackground: true, since: start)
        output.append(UInt8(ascii: "m"))
    }

    private mutating func parameter(_ code: Int, since start: Int) {
        if output.count > start { output.append(UInt8(ascii: ";")) }
        output.append(decimal: code)
    }

    private mutating func color(_ new: CellColor, instead old: CellColor, isBackground: Bool, since start: Int) {
        guard new != old else { return }
        if new.isStandard { return parameter(isBackground ? 49 : 39, since: start) }
        if output.count > start { output.append(UInt8(ascii: ";")) }
        ColorCode.append(new, isBackground: isBackground, depth: capabilities.depth, to: &output)
    }
}
