/// When something new is to be expected of a source.
package enum Rhythm: Sendable, Equatable {
    /// Whenever it has something: a stream.
    case stream
    /// So much time after the last one.
    case every(Duration)
    /// Never again, once it has come.
    case once

    /// Of a source that is asked again after so much time; nil for one that is not asked again.
    package init(every: Duration?) { self = every.map { .every($0) } ?? .once }
}

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
    /// See `SourceStatus.valuePointer`.
    package var valuePointer: String?
    /// Whether it takes the question of how far to go: `n`, from 0 to `PollRequest.mostN`.
    package var takesN: Bool
    package var rhythm: Rhythm
    /// The agent of a fleet that it stands for, whose feed is a source; nil for any other source.
    package var agent: String?

    /// - Parameter type: nil for the name.
    package init(
        name: String, type: String? = nil, unit: String? = nil, bands: BandScale? = nil, valuePointer: String? = nil,
        takesN: Bool = false, rhythm: Rhythm = .stream
    ) {
        self.name = name
        self.type = type ?? name
        self.unit = unit
        self.bands = bands
        self.valuePointer = valuePointer
        self.takesN = takesN
        self.rhythm = rhythm
    }

    /// An agent of a fleet, for what it says of itself and what is said of it.
    package init(agent: String) {
        self.init(name: "\(agent).\(EventStore.ownName)", type: "memory")
        self.agent = agent
    }
}
