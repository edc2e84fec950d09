package import Reactor

/// A walk over all sources, endpoints or series of a store, piece by piece: what is there at its beginning is visited once
/// unless it goes, what comes meanwhile not at all, also when it was there before.
package struct FeedWalk: Sendable {
    /// The run whose they are; of another one there is nothing more to visit.
    package let run: String
    /// What was added before this is visited.
    let limit: Int
    /// Where the next one is looked for.
    var place = 0

    init(run: String, limit: Int) {
        self.run = run
        self.limit = limit
    }

    /// Begins anew, with the same ones.
    package mutating func restart() { place = 0 }
}

/// What there is to be told of a source in numbers.
package struct SourceNumbers: Sendable {
    package let name: String
    package let state: SourceStatus.State
    package let timeliness: Timeliness
    /// Whether it is one that is to be watched now: not one that a reload took out.
    package let isListed: Bool
    /// Answers by their statuses; none over an attached feed, whose lines do not tell.
    package var answers = CodeTally()
    /// Errors by their codes; likewise.
    package var errors = CodeTally()
}

/// What there is to be told of a series in numbers.
package struct SeriesNumbers: Sendable {
    package let source: String
    package let kind: SeriesKind
    /// What the name of a data series is, or begins with: a slash and the key follow where there is one.
    package let name: String
    package let key: Bytes?
    /// The newest by its time.
    package let value: Double
    package let time: Timestamp
}

/// What there is to be told of the agent whose feed it is.
package struct AgentNumbers: Sendable {
    package let identity: AgentIdentity
    package let interval: Duration
    package let history: Duration
    /// Numbered lines so far.
    package let lines: Int
    /// Nil over an attached feed whose agent has not said yet.
    package let counts: StoreCounts?
    /// The newest samples; nil while there are none.
    package let memory: MemorySample?
    package let agent: AgentSample?
    /// How the feed comes here; nil for one of our own.
    package let attachment: Attachment?

    /// How an attached feed comes here.
    package struct Attachment: Sendable, Equatable {
        package var isConnected = false
        /// Since its last line; nil when none has come yet.
        package var silence: Duration?
    }
}

/// What there is to be told of an agent of a fleet in numbers.
package struct MemberNumbers: Sendable {
    package let name: String
    package let isLive: Bool
    /// How long ago something came of it; nil before anything has.
    package let age: Duration?
    package let lost: Int
    /// How many of its lines came again, and were not taken; nil for a fleet that is attached to.
    package var repeated: Int?
}
