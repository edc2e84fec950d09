package import Reactor

/// Bytes of text or JSON that an event carries; a slice, so that a whole document can be shared by its events.
package typealias Bytes = ArraySlice<UInt8>

/// What an input publishes: one thing that happened at one source at one time.
///
/// An event has no number yet: `EventStore.publish` gives it its sequence number and encodes it to its line, once.
package struct Event: Sendable {
    /// When it happened, by the wall clock.
    package var time: Timestamp
    /// Which source it came from; from `EventStore.register`.
    package var source: SourceID
    package var body: Body

    package enum Body: Sendable {
        /// What the upstream said.
        case data(Datum)
        /// How long one request took.
        indirect case latency(LatencySample)
        /// How much memory the agent uses.
        case memory(MemorySample)
        /// Something failed; a person is meant to understand it.
        indirect case error(Failure)
        /// How far a paged input has come.
        case progress(Progress)
        /// A source answers again that had failed.
        case recovered(Recovery)
        /// How the agent itself is doing; the store adds what it counts.
        case agent(AgentSample)
        /// What the journal has of the run before.
        indirect case restart(Restart)
        /// What another agent, whose line it is, has counted.
        indirect case foreignAgent(Line.Agent)
        /// How it is with another agent.
        indirect case peer(Line.Peer)
        /// Lines of another agent's that are missing.
        case lost(Lost)
    }

    package init(time: Timestamp, source: SourceID, body: Body) {
        self.time = time
        self.source = source
        self.body = body
    }
}

/// A source's index in its store; dense, from 0.
package struct SourceID: Sendable, Hashable {
    package let index: Int

    package init(index: Int) { self.index = index }
}

/// One value of one series.
package struct Datum: Sendable {
    /// Names the series within its source (a city, a breed); nil for the source's own series. UTF-8.
    package var key: Bytes?
    /// Finite, or absent.
    package var value: Double?
    /// Plain UTF-8 text, not escaped; cut at 4 KiB in the line.
    package var text: Bytes?
    /// One valid, minified JSON value, as `JSONMinifier` makes it.
    package var data: Bytes?
    /// What `JSONSelection` found in `data` that not every reader would take; the line says what became of it.
    package var flaws: JSONFlaws

    package init(
        key: Bytes? = nil, value: Double? = nil, text: Bytes? = nil, data: Bytes? = nil, flaws: JSONFlaws = []
    ) {
        self.key = key
        self.value = value
        self.text = text
        self.data = data
        self.flaws = flaws
    }
}

/// The phases of one answered request. Phases are in milliseconds and add up to `ms`, less what was spent on redirects.
package struct LatencySample: Sendable, Equatable {
    /// What HTTP has for statuses (RFC 9110 section 15).
    package static let statuses = 100...599

    /// Method, origin and path, without query and credentials: `GET https://catfact.ninja/fact`.
    package var endpoint: String
    /// One of `statuses`.
    package var status: Int
    /// From the start of the request to the last byte of the answer.
    package var ms: Double
    package var dns: Double
    package var connect: Double
    package var tls: Double
    /// From the request being sent to the first byte of the answer.
    package var wait: Double
    package var receive: Double
    /// Bytes of the answer's body as they came over the wire.
    package var bytes: Int
    /// Whether the request went over a connection that was open already.
    package var reused: Bool
    /// How long after its scheduled time the request was started.
    package var late: Double

    package init(
        endpoint: String, status: Int, ms: Double, dns: Double = 0, connect: Double = 0, tls: Double = 0,
        wait: Double = 0, receive: Double = 0, bytes: Int = 0, reused: Bool = false, late: Double = 0
    ) {
        self.endpoint = endpoint
        self.status = status
        self.ms = ms
        self.dns = dns
        self.connect = connect
        self.tls = tls
        self.wait = wait
        self.receive = receive
        self.bytes = bytes
        self.reused = reused
        self.late = late
    }
}

/// What a process holds in memory, in bytes.
package struct MemorySample: Sendable, Equatable {
    /// Resident now, shared pages included.
    package var resident: Int
    /// The most that was ever resident.
    package var peak: Int
    /// Resident and not shared with any other process.
    package var privateBytes: Int

    package init(resident: Int, peak: Int, privateBytes: Int) {
        self.resident = resident
        self.peak = peak
        self.privateBytes = privateBytes
    }
}

/// An upstream's failure: data, never a crash.
package struct Failure: Error, Sendable, Equatable {
    package var code: Code
    /// One sentence for a person: what happened, to whom, and where it helps, what to do.
    package var message: String
    /// The endpoint that failed, when there is one; counts the error there.
    package var endpoint: String?
    /// How many times in a row it has failed now, from 1.
    package var attempt: Int?
    /// When the next try comes.
    package var retryIn: Duration?

    package init(
        _ code: Code, _ message: String, endpoint: String? = nil, attempt: Int? = nil, retryIn: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.endpoint = endpoint
        self.attempt = attempt
        self.retryIn = retryIn
    }

    /// The `code` of an `error` line; docs/wire-format.md says when each is used.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let dns = Code(rawValue: "dns")
        package static let connect = Code(rawValue: "connect")
        package static let tls = Code(rawValue: "tls")
        package static let timeout = Code(rawValue: "timeout")
        package static let reset = Code(rawValue: "reset")
        package static let status = Code(rawValue: "status")
        package static let rateLimited = Code(rawValue: "rate_limited")
        package static let redirect = Code(rawValue: "redirect")
        package static let tooLarge = Code(rawValue: "too_large")
        package static let encoding = Code(rawValue: "encoding")
        package static let notJSON = Code(rawValue: "not_json")
        package static let pointer = Code(rawValue: "pointer")
        package static let lineTooLong = Code(rawValue: "line_too_long")
        package static let `protocol` = Code(rawValue: "protocol")
        package static let closed = Code(rawValue: "closed")
        package static let disk = Code(rawValue: "disk")
        package static let config = Code(rawValue: "config")
        package static let `internal` = Code(rawValue: "internal")
    }
}

/// How far a paged input has come.
package struct Progress: Sendable, Equatable {
    package var done: Int
    /// Absent while the upstream has not said.
    package var total: Int?
    package var page: Int

    package init(done: Int, total: Int?, page: Int) {
        self.done = done
        self.total = total
        self.page = page
    }
}

/// An outage that is over.
package struct Recovery: Sendable, Equatable {
    /// From the first failure to the good answer.
    package var down: Duration
    /// How many tries failed, from 1.
    package var attempts: Int

    package init(down: Duration, attempts: Int) {
        self.down = down
        self.attempts = attempts
    }
}

/// How a journal was found at the start of a run, which is what a lost tail can be told by.
package struct Restart: Sendable, Equatable {
    /// The name of the run before; nil when there is none, or the disk did not say in time.
    package var lastRun: String?
    /// The number of its last line that is kept, 0 for none; nil without such a run.
    package var lastSequence: Int?
    /// Why it ended, as its `bye` said; nil when it did not come so far.
    package var ended: String?

    package init(lastRun: String? = nil, lastSequence: Int? = nil, ended: String? = nil) {
        (self.lastRun, self.lastSequence, self.ended) = (lastRun, lastSequence, ended)
    }
}

/// Lines of an agent of a fleet that never came, or could not be taken.
package struct Lost: Sendable, Equatable {
    /// Of which of its runs; nil where a line does not say.
    package var run: String?
    package var numbers: ClosedRange<Int>

    package init(run: String?, numbers: ClosedRange<Int>) { (self.run, self.numbers) = (run, numbers) }
}

/// What the agent knows of itself besides what its store counts.
package struct AgentSample: Sendable, Equatable {
    /// The most that a timer of the loop was late since the last sample, in milliseconds.
    package var loopLag: Double
    /// Processor time the agent has used since its start, user and system, in milliseconds.
    package var cpu: Double

    package init(loopLag: Double, cpu: Double) {
        self.loopLag = loopLag
        self.cpu = cpu
    }
}
