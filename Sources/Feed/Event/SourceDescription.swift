/// When to expect new data from a source.
package enum Rhythm: Sendable, Equatable {
    /// At any time: a stream.
    case stream
    /// This long after the last data.
    case every(Duration)
    /// Never again after the first data.
    case once

    /// The rhythm of a source that is polled again after this time; nil for one that is polled once.
    package init(every: Duration?) { self = every.map { .every($0) } ?? .once }

    /// How long a source may be without a good answer before it is late: two and a half periods, or windows if these are longer.
    ///
    /// - Parameter window: the width of a window.
    /// - Returns: nil for a source that is never late.
    package func patience(window: Duration) -> Duration? {
        if case .every(let period) = self { max(period, window) * 5 / 2 } else { nil }
    }
}

/// The description of a source: its names in lines, and the meaning of its values.
package struct SourceDescription: Sendable, Equatable {
    /// The source's name, which begins the names of its series; unique within a feed.
    package var name: String
    /// The `type` of its data lines.
    package var type: String
    /// The unit of its values, shown after them: `ms`, `µg/m³`; nil for none.
    package var unit: String?
    /// The meaning of its values; nil if not configured.
    package var bands: BandScale?
    /// See `SourceStatus.valuePointer`.
    package var valuePointer: String?
    package var rhythm: Rhythm
    /// How long a line of it is kept for late readers, by the line's time, while it is its series' newest. Nil to forget
    /// what a complete answer does not contain, or, without such answers, what is a day old.
    package var keep: Duration?
    /// The fleet's agent whose feed this source is; nil for any other source.
    package var agent: String?

    /// - Parameter type: nil to use the name.
    package init(
        name: String, type: String? = nil, unit: String? = nil, bands: BandScale? = nil, valuePointer: String? = nil,
        rhythm: Rhythm = .stream, keep: Duration? = nil
    ) {
        self.name = name
        self.type = type ?? name
        self.unit = unit
        self.bands = bands
        self.valuePointer = valuePointer
        self.rhythm = rhythm
        self.keep = keep
    }

    /// The source for an agent of a fleet: for the agent's lines about itself, and the hub's about it.
    package init(agent: String) {
        self.init(name: "\(agent).\(EventStore.ownName)", type: "memory")
        self.agent = agent
    }
}
