internal import Feed

/// The few styles that screens use. Without colours, the important ones still differ.
package struct Theme: Sendable, Equatable {
    package var text = Style.plain
    /// Labels, units and other secondary text.
    package var muted = Style(CellColor(0x8A919C))
    /// Lines and marks in the background.
    package var faint = Style(CellColor(0x5A616C))
    package var title = Style(.standard, .bold)
    /// The selection, and lines of graphs.
    package var accent = Style(CellColor(0x6CB6FF))
    package var good = Style(CellColor(0x6BC46D))
    package var warning = Style(CellColor(0xE0B354))
    package var bad = Style(CellColor(0xF47067))
    /// Values that are too old.
    package var stale = Style(CellColor(0x767C87), .dim)

    package init() {}

    /// The colour of a band as text.
    func band(_ band: Band) -> Style { Style(CellColor(band.color)) }

    func course(_ course: Standing.Course?) -> Style {
        switch course {
        case .better: good
        case .worse: bad
        case nil: muted
        }
    }

    /// The letter of a band on its colour.
    func badge(_ band: Band) -> Style {
        let color = CellColor(band.color)
        return Style(CellColor(color.isLight ? 0x101318 : 0xFFFFFF), on: color, .bold)
    }
}

extension Style {
    init(_ foreground: CellColor, _ attributes: Attributes) { self.init(foreground, on: .standard, attributes) }
}
