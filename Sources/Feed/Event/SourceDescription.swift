/// What a feed says of one of its sources: how lines name it, and how its values are to be read.
package struct SourceDescription: Sendable, Equatable {
    /// The source's name, which begins the names of its series; unique within a feed.
    package var name: String
    /// The `type` of its data lines.
    package var type: String
    /// What its values are measured in, as it is shown behind them: `ms`, `µg/m³`; nil for none.
    package var unit: String?
    /// What its values mean; nil when nobody has said.
    package var bands: BandScale?
    /// Whether it takes the question of how far to go: `n`, from 0 to `PollRequest.mostN`.
    package var takesN: Bool

    /// - Parameter type: nil for the name.
    package init(
        name: String, type: String? = nil, unit: String? = nil, bands: BandScale? = nil, takesN: Bool = false
    ) {
        self.name = name
        self.type = type ?? name
        self.unit = unit
        self.bands = bands
        self.takesN = takesN
    }
}
