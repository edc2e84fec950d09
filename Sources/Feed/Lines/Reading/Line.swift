package import Reactor

/// One line of the feed as `LineDecoder` reads it (format 1, docs/wire-format.md).
package struct Line: Sendable, Equatable {
    /// The sequence number, from 1; nil in lines that belong to one connection.
    package var seq: Int?
    package var time: Timestamp
    /// The line's `type`; of a data event, the name that the source gives its events.
    package var type: String
    /// The source that the line is about; nil in lines that belong to one connection.
    package var source: String?
    package var body: Body
    /// The flaws that keep some readers from reading the line.
    package var flaws: JSONFlaws = []
    /// The agent of a fleet that the line is from; nil in an agent's own lines.
    package var agent: String?
    /// Whether that agent wrote the line itself, rather than the hub about it.
    package var isForwarded = false
    /// Whether a response time was negative or at least 10¹² ms, and so was read as 0.
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
        indirect case alert(Alert)
        case clock(ClockChange)
        case gap(Gap)
        case bye(Bye)
        indirect case kept(Kept)
        /// An `error` line of one connection, without sequence number and source: this reader's request cannot be
        /// fulfilled.
        case refusal(Failure)
        /// A type that this version does not know; format 1 may gain types.
        case unknown
    }

    /// The agent of a fleet that wrote the line itself; nil for the feed's own.
    var forwardingAgent: String? { isForwarded ? agent : nil }

    /// Whether it is about an alert.
    package var isAlert: Bool { if case .alert = body { true } else { false } }

    /// The data that an upstream sent.
    package struct Data: Sendable, Equatable {
        /// `source`, or `source/key`.
        package var series: String
        package var value: Double?
        /// The word that the value stands for, 1 to 64 bytes of UTF-8, and the time from which on the series has it; both
        /// or neither, and only with a value.
        package var word: String?
        package var since: Timestamp?
        package var text: String?
        /// The upstream's JSON as it stands in the line: a slice of the line's bytes.
        package var data: Bytes?
        /// Whether `text` was cut or `data` left out.
        package var truncated: Bool
        /// Whether a lone surrogate was replaced.
        package var altered = false
        /// The pointer to the value, as `SourceStatus.valuePointer`; only in the first line with a value from there.
        package var valuePointer: String?
    }

    /// One closed window of a series.
    package struct Window: Sendable, Equatable {
        package var series: String
        /// When the window starts; it ends `width` later.
        package var start: Timestamp
        package var width: Duration
        /// The window's value: the last one by event time.
        package var last: Double
        /// The sequence number of the line with that value.
        package var lastSeq: Int
        package var count: Int
        package var min: Double
        package var max: Double
        package var mean: Double
        package var band: String?
        package var trend: String?
        /// Whether it comes in a `kept` line.
        package var isKept = false
    }

    /// What a reader that comes later needs of a series: its newest line, or its windows.
    package struct Kept: Sendable, Equatable {
        package var run: String
        /// A numbered data, latency or memory line, or the newest one of `windows`.
        package var line: Line
        /// The line's bytes: a slice of the line that it came in.
        package var bytes: Bytes
        /// The series' windows, all of one width; empty unless `line` is one of them.
        package var windows: [Window] = []
    }

    /// Sequence numbers of lines that a reader missed.
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
        /// The last sequence number of the run; 0 if it had none, nil if the line does not say.
        package var lastSeq: Int?
        package var reason: String?
        /// The time of the journal's oldest line, after columns of it.
        package var oldest: Timestamp?
    }
}
