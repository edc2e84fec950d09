package import Reactor

/// The longer lines about the agent itself.
extension Line {
    /// Who speaks; the first line of every connection.
    package struct Hello: Sendable, Equatable {
        /// Always 1 here: the decoder refuses other formats.
        package var format: Int
        /// Tells the agent's runs apart: sequence numbers start again with each.
        package var run: String
        /// Whether lines are left out on request, so that holes in the numbers mean nothing.
        package var filtered: Bool
        /// How wide windows are.
        package var interval: Duration
        /// How far back the log goes.
        package var history: Duration
        /// The oldest sequence number that can be replayed.
        package var firstSeq: Int
        /// The number that the next event will have.
        package var nextSeq: Int
        /// The oldest sequence number that the journal has of this run; nil without one.
        package var journalFirstSeq: Int?
        /// Whether its sources are other agents.
        package var isFleet = false
        package var host: AgentIdentity.Host
        package var app: App
    }

    /// The program.
    package struct App: Sendable, Equatable {
        package var name: String?
        package var version: String?
        package var started: Timestamp?

        package init(name: String? = nil, version: String? = nil, started: Timestamp? = nil) {
            (self.name, self.version, self.started) = (name, version, started)
        }
    }

    /// How it is with an agent of a fleet.
    package struct Peer: Sendable, Equatable {
        /// One of `MemberState.Standing`, or of a later version.
        package var state: String
        /// Since when it is in that state, by the fleet's time.
        package var since: Timestamp
        /// When something came of it last, by the fleet's time; nil before anything has.
        package var heard: Timestamp?
        /// What it says of itself; nil and empty where it has not.
        package var run: String?
        package var host = AgentIdentity.Host()
        package var app = App()
        /// By how many milliseconds its clock is ahead of the fleet's; nil when nobody knows.
        package var skew: Double?
        /// How many of its lines are lost.
        package var lost = 0
    }

    /// All endpoints and sources as of one sequence number; the second line of every connection.
    package struct Stats: Sendable, Equatable {
        /// The last sequence number that is counted in; 0 before the first.
        package var asOf: Int
        package var endpoints: [Endpoint]
        /// Those in a state that this version knows.
        package var sources: [SourceStatus]
        /// How many further ones the line had no room for.
        package var moreEndpoints = 0
        package var moreSources = 0
    }

    /// How one endpoint has answered so far.
    package struct Endpoint: Sendable, Equatable {
        /// Method, origin and path.
        package var endpoint: String
        /// Empty where the line does not say.
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
        /// The longest the loop was late in this window, in milliseconds.
        package var loopLag: Double
        /// CPU time used, in milliseconds.
        package var cpu: Double
        package var outputs: [Output]
    }

    /// How one output is doing.
    package struct Output: Sendable, Equatable {
        package var output: String
        package var state: String
        /// How many lines it has still to take.
        package var behind: Int
        /// The number of the last line that outlives the agent's process; nil where that is not said.
        package var durable: Int?
    }
}
