package import Feed

/// A colour of a cell: the terminal's own, or one of 16 million.
package struct CellColor: Sendable, Hashable {
    /// 0 for the terminal's own; otherwise 0x01RRGGBB.
    let value: UInt32

    private init(value: UInt32) { self.value = value }

    /// The terminal's default colour.
    package static let standard = CellColor(value: 0)

    /// - Parameter rgb: 0xRRGGBB
    package init(_ rgb: UInt32) { value = 0x0100_0000 | rgb & 0xFF_FFFF }

    package init(_ color: Band.Color) {
        self.init(UInt32(color.red) << 16 | UInt32(color.green) << 8 | UInt32(color.blue))
    }

    var red: Int { Int(value >> 16 & 0xFF) }
    var green: Int { Int(value >> 8 & 0xFF) }
    var blue: Int { Int(value & 0xFF) }
    var isStandard: Bool { value == 0 }

    /// Whether black is more readable on it than white.
    package var isLight: Bool { red * 299 + green * 587 + blue * 114 > 128_000 }
}

/// The look of a cell.
package struct Style: Sendable, Hashable {
    package struct Attributes: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let bold = Attributes(rawValue: 1)
        package static let dim = Attributes(rawValue: 2)
        package static let underline = Attributes(rawValue: 4)
        package static let inverse = Attributes(rawValue: 8)
    }

    package var foreground = CellColor.standard
    package var background = CellColor.standard
    package var attributes: Attributes = []

    package init(
        _ foreground: CellColor = .standard, on background: CellColor = .standard, _ attributes: Attributes = []
    ) {
        self.foreground = foreground
        self.background = background
        self.attributes = attributes
    }

    package static let plain = Style()

    /// Returns the same style with further attributes.
    package func with(_ attributes: Attributes) -> Style {
        Style(foreground, on: background, self.attributes.union(attributes))
    }
}
