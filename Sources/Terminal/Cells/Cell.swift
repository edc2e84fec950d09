/// One column of one row of a screen; 16 bytes, so that grids are compared and copied in one go.
package struct Cell: Sendable, Equatable {
    /// A code point; with the top bit set, an index into the grid's `clusters`. 0 in the right half of a wide
    /// character.
    var glyph: UInt32 = 0x20
    var foreground = CellColor.standard
    var background = CellColor.standard
    var attributes: Style.Attributes = []
    /// 1 or 2 columns; 0 for the right half of a wide character. The top bit means that terminals differ on the width.
    var extent: UInt8 = 1
    /// 1 + index into the grid's `links`; 0 for none.
    var link: UInt16 = 0

    static let blank = Cell()
    static let clusterBit: UInt32 = 0x8000_0000
    static let doubtfulBit: UInt8 = 0x80

    var columns: Int { Int(extent & 3) }
    var isDoubtful: Bool { extent & Self.doubtfulBit != 0 }
    var isCluster: Bool { glyph & Self.clusterBit != 0 }
    var isContinuation: Bool { extent & 3 == 0 }
    var style: Style { Style(foreground, on: background, attributes) }
}

/// The size of a screen, in cells.
package struct ScreenSize: Sendable, Equatable {
    package var columns: Int
    package var rows: Int

    /// Both are limited to 1 to 1,000: a terminal that reports 0 does not know its size.
    package init(columns: Int, rows: Int) {
        self.columns = min(max(columns, 1), 1_000)
        self.rows = min(max(rows, 1), 1_000)
    }
}
