/// A canvas of dots for drawing lines: two across and four down in every cell. Dots outside are ignored.
struct BrailleCanvas {
    let columns: Int
    let rows: Int
    private(set) var dots: [UInt8]

    init(columns: Int, rows: Int) {
        self.columns = max(columns, 0)
        self.rows = max(rows, 0)
        dots = [UInt8](repeating: 0, count: self.columns * self.rows)
    }

    var width: Int { columns * 2 }
    var height: Int { rows * 4 }

    private static let bits: [UInt8] = [0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80]

    /// Sets a dot, counted from the top left.
    @inline(__always)
    mutating func set(_ x: Int, _ y: Int) {
        guard x >= 0, y >= 0, x < width, y < height else { return }
        dots[(y >> 2) * columns + (x >> 1)] |= Self.bits[((x & 1) << 2) | (y & 3)]
    }

    /// Draws a line between two dots; both may lie outside by as much as a graph is large.
    mutating func line(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) {
        let steps = max(abs(end.x - start.x), abs(end.y - start.y))
        guard steps > 0 else { return set(start.x, start.y) }
        for step in 0...steps {
            let x = start.x + ((end.x - start.x) * step * 2 + steps).flooredQuotient(steps * 2)
            let y = start.y + ((end.y - start.y) * step * 2 + steps).flooredQuotient(steps * 2)
            set(x, y)
        }
    }

    /// The character of a cell; nil when it has no dot.
    func glyph(_ column: Int, _ row: Int) -> Unicode.Scalar? {
        let dots = dots[row * columns + column]
        return dots == 0 ? nil : Unicode.Scalar(0x2800 + UInt32(dots))
    }
}

extension Int {
    /// Rounded down, also below zero; `divisor` is positive.
    fileprivate func flooredQuotient(_ divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
