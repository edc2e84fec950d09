package import Reactor

/// One line of the feed as `LineDecoder` reads it (format 1, docs/wire-format.md).
package struct Line: Sendable, Equatable {
    /// The sequence number, from 1; nil in lines that belong to one connection.
    package var seq: Int?
    package var time: Timestamp
    /// The line's `type`; for a data event what the source calls its events.
    package var type: String
    /// Which source it is about; nil in lines that belong to one connection.
    package var source: String?
    package var body: Body
    /// What of it not every reader could read.
    package var flaws: JSONFlaws = []
    /// Which agent of a fleet it came from; nil in lines of an agent's own.
    package var agent: String?
    /// Whether that one wrote it, and not the fleet about it.
    package var isForwarded = false
    /// Whether an answer took less than nothing, or longer than is counted, which is read as 0.
    package var hasNoTime = false

    package enum Body: Sendable, Equatable {
        indirect case hello(Hello)
        case stats(Stats)
        case data(Data)
        case latency(LatencySample)
        case memory(MemorySample)
        case window(Window)
        case error(Failure)
        case progress(Progress)
        case recovered(Recovery)
        indirect case agent(Agent)
        indirect case restart(Restart)
        case lost(Lost)
        indirect case peer(Peer)
        case gap(Gap)
        case bye(Bye)
        /// An `error` line of one connection, without number and source: what this reader asked for cannot be had.
        case refusal(Failure)
        /// A type that this version does not know; format 1 gains types.
        case unknown
    }

    /// What an upstream said.
    package struct Data: Sendable, Equatable {
        /// `source`, or `source/key`.
        package var series: String
        package var value: Double?
        package var text: String?
        /// The upstream's JSON as it stands in the line: a slice of the line's bytes.
        package var data: Bytes?
        /// Whether `text` was cut or `data` left out.
        package var truncated: Bool
        /// Whether a lone surrogate was replaced.
        package var altered = false
        /// Where the value was found, as `SourceStatus.valuePointer` says; only in the first line from there.
        package var valuePointer: String?
    }

    /// One closed window of one series.
    package struct Window: Sendable, Equatable {
        package var series: String
        /// When the window starts; it ends `width` later.
        package var start: Timestamp
        package var width: Duration
        /// The value that counts: the last one by event time.
        package var last: Double
        /// The number of the line with that value.
        package var lastSeq: Int
        package var count: Int
        package var min: Double
        package var max: Double
        package var mean: Double
        package var band: String?
        package var trend: String?
        /// How often the window was revised by late events; 0 the first time.
        package var revision: Int
    }

    /// Lines that a reader missed.
    package struct Gap: Sendable, Equatable {
        /// The first sequence number missed.
        package var from: Int
        /// The last one, at least `from`.
        package var to: Int
        package var reason: String?
    }

    /// The agent's last line on a connection.
    package struct Bye: Sendable, Equatable {
        package var run: String?
        /// The last sequence number of the run; 0 when there was none.
        package var lastSeq: Int?
        package var reason: String?
    }
}
