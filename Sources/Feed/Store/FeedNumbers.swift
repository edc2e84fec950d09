package import Reactor

/// The metrics of a source.
package struct SourceNumbers: Sendable {
    package let name: String
    package let state: SourceStatus.State
    package let timeliness: Timeliness
    /// The width of its series' windows.
    package let window: Duration
    /// Whether it is currently configured: false for one that a reload removed.
    package let isListed: Bool
    /// Answers by status; empty for an attached feed, whose lines do not state them.
    package var answers = CodeTally()
    /// Errors by their codes; likewise.
    package var errors = CodeTally()
}

/// The metrics of a series.
package struct SeriesNumbers: Sendable {
    package let source: String
    package let kind: SeriesKind
    /// What its name has behind the source's and a slash; nil for one with the source's own name.
    package let key: Bytes?
    /// The newest value by event time.
    package let value: Double
    package let time: Timestamp
    /// The word that its newest event has; nil when that has none.
    package var word: Bytes?
}

/// The metrics of the agent that the feed belongs to.
package struct AgentNumbers: Sendable {
    package let identity: AgentIdentity
    package let interval: Duration
    package let history: Duration
    /// Numbered lines so far.
    package let lines: Int
    /// Nil for an attached feed whose agent has not sent them yet.
    package let counts: StoreCounts?
    /// The newest samples; nil while there are none.
    package let memory: MemorySample?
    package let agent: AgentSample?
    /// The connection of an attached feed; nil for our own feed.
    package let attachment: Attachment?

    /// The connection of an attached feed.
    package struct Attachment: Sendable, Equatable {
        package var isConnected = false
        /// The time since its last line; nil before the first.
        package var silence: Duration?
    }
}

/// The metrics of an agent of a fleet.
package struct MemberNumbers: Sendable {
    package let name: String
    package let isLive: Bool
    /// The time since it was last heard from; nil if never.
    package let age: Duration?
    package let lost: Int
    /// The number of its lines that were received again and ignored; nil when attached to a hub.
    package var repeated: Int?
    /// The number of its lines of types that this version does not know; likewise.
    package var unknown: Int?
}
