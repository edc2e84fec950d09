package import Reactor

/// The longer lines about the agent itself.
extension Line {
    /// The agent's introduction: the first line of every connection.
    package struct Hello: Sendable, Equatable {
        /// Always 1 here: the decoder rejects other formats.
        package var format: Int
        /// The name of the agent's run: sequence numbers start again with each run.
        package var run: String
        /// Whether lines are left out on request, so that holes in the sequence numbers mean nothing.
        package var filtered: Bool
        /// The width of a window.
        package var interval: Duration
        /// The period that the log keeps.
        package var history: Duration
        /// The oldest sequence number that can be replayed.
        package var firstSeq: Int
        /// The next event's sequence number.
        package var nextSeq: Int
        /// The oldest sequence number of this run in the journal; nil without a journal.
        package var journalFirstSeq: Int?
        /// The number of the last kept line for a reader that asks for all; nil for none.
        package var keptSeq: Int?
        /// Whether the agent is a hub, whose sources are other agents.
        package var isFleet = false
        package var host: AgentIdentity.Host
        package var app: App
    }

    /// The program.
    package struct App: Sendable, Equatable {
        package var name: String?
        package var version: String?
        package var started: Timestamp?
    }

    /// The state of an agent of a fleet.
    package struct Peer: Sendable, Equatable {
        /// One of `MemberState.Standing`, or of a later version.
        package var state: String
        /// The start of that state, by the hub's clock.
        package var since: Timestamp
        /// The time when the hub last heard from the agent, by the hub's clock; nil if it never has.
        package var heard: Timestamp?
        /// The name of its run, as it says; nil, and `host` and `app` empty, if it has not said so yet.
        package var run: String?
        package var host = AgentIdentity.Host()
        package var app = App()
        /// The milliseconds by which its clock is ahead of the hub's; nil if unknown.
        package var skew: Double?
        /// The number of its lines that are lost.
        package var lost = 0
    }

    /// All endpoints and sources as of one sequence number; the second line of every connection.
    package struct Stats: Sendable, Equatable {
        /// The last sequence number included; 0 before the first.
        package var asOf: Int
        package var endpoints: [Endpoint]
        /// The sources in a state that this version knows.
        package var sources: [SourceStatus]
        /// The number of further endpoints that did not fit in the line.
        package var moreEndpoints = 0
        package var moreSources = 0
    }

    /// The answers of one endpoint so far.
    package struct Endpoint: Sendable, Equatable {
        /// Method, origin and path.
        package var endpoint: String
        /// Empty where the line does not name it.
        package var source: String
        package var summary: LatencySummary
    }

    /// The agent's self-metrics, once a window. Counts are since the start.
    package struct Agent: Sendable, Equatable {
        package var events: Int
        package var readers: Int
        package var gaps: Int
        package var stalled = 0
        package var late: Int
        package var future = 0
        package var series: Int
        package var refusedSeries: Int
        package var refusedEndpoints: Int
        package var keptDropped = 0
        /// The longest delay of the event loop in this window, in milliseconds.
        package var loopLag: Double
        /// CPU time used, in milliseconds.
        package var cpu: Double
        package var outputs: [Output]
    }

    /// The state of one output.
    package struct Output: Sendable, Equatable {
        package var output: String
        /// `ok`, or a description of its fault.
        package var state: String
        /// The number of lines that it has yet to write.
        package var behind: Int
        /// The sequence number of the last line that survives the agent's process; nil if not given.
        package var durable: Int?

        /// The longest text, in bytes: a fault may be described in a server's words.
        static let longest = 1_024
    }
}

extension Line.Agent {
    /// The agent's own metrics: its sample and the store's counts.
    init(_ sample: AgentSample, _ counts: StoreCounts, events: Int, outputs: [Line.Output]) {
        self.init(
            events: events, readers: counts.readers, gaps: counts.gaps, stalled: counts.stalledReaders,
            late: counts.late, future: counts.future, series: counts.series, refusedSeries: counts.refusedSeries,
            refusedEndpoints: counts.refusedEndpoints, keptDropped: counts.keptDropped, loopLag: sample.loopLag,
            cpu: sample.cpu, outputs: outputs)
    }
}
