package import Reactor

/// Bytes of text or JSON in an event; a slice, so that a document's events can share it.
package typealias Bytes = ArraySlice<UInt8>

/// An input's result: one thing that happened at one source at one time.
///
/// An event has no sequence number yet: `EventStore.publish` assigns it and encodes the event as a line, once.
package struct Event: Sendable {
    /// The time when it happened, by the wall clock.
    package var time: Timestamp
    /// The source that it came from, as `EventStore.register` returned it.
    package var source: SourceID
    package var body: Body

    package enum Body: Sendable {
        /// Data from the upstream.
        case data(Datum)
        /// The time that one request took.
        indirect case latency(LatencySample)
        /// The memory that the agent uses.
        case memory(MemorySample)
        /// A failure, with a message for a person.
        indirect case error(Failure)
        /// The progress of a paged input, or a complete answer of another agent's source.
        case progress(Progress)
        /// A complete answer of a source.
        case answer(CompleteAnswer)
        /// A source answers again after failures.
        case recovered(Recovery)
        /// The agent's own metrics; the store adds its counts.
        case agent(AgentSample)
        /// The journal's state from the previous run.
        indirect case restart(Restart)
        /// The counts of another agent, from its own line.
        indirect case foreignAgent(Line.Agent)
        /// The state of another agent.
        indirect case peer(Line.Peer)
        /// Missing lines of another agent.
        case lost(Lost)
        /// An alert fires, or is resolved.
        indirect case alert(Alert)
        /// The machine's clock was set, or the machine slept.
        case clock(ClockChange)
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
    /// The name of the series within its source (a city, a breed); nil for the source's own series. UTF-8.
    package var key: Bytes?
    /// Finite, or absent.
    package var value: Double?
    /// The word that the value stands for, 1 to `BandScale.longestName` bytes of UTF-8; nil for a number.
    package var word: Bytes?
    /// Plain UTF-8 text, not escaped; cut at 4 KiB in the line.
    package var text: Bytes?
    /// One valid, minified JSON value, as `JSONMinifier` makes it.
    package var data: Bytes?
    /// Flaws that `JSONSelection` found in `data`, which some readers would not accept; the line says what became of
    /// them.
    package var flaws: JSONFlaws

    package init(
        key: Bytes? = nil, value: Double? = nil, word: Bytes? = nil, text: Bytes? = nil, data: Bytes? = nil,
        flaws: JSONFlaws = []
    ) {
        self.key = key
        self.value = value
        self.word = word
        self.text = text
        self.data = data
        self.flaws = flaws
    }
}

/// The times of one answered request. Phases are in milliseconds and add up to `ms`, except time spent on redirects.
package struct LatencySample: Sendable, Equatable {
    /// The range of HTTP statuses (RFC 9110 section 15).
    package static let statuses = 100...599

    /// Method, origin and path, without query and credentials: `GET https://catfact.ninja/fact`.
    package var endpoint: String
    /// One of `statuses`.
    package var status: Int
    /// The time from the start of the request to the last byte of the answer.
    package var ms: Double
    package var dns: Double
    package var connect: Double
    package var tls: Double
    /// The time from the sent request to the first byte of the answer.
    package var wait: Double
    package var receive: Double
    /// The number of bytes of the answer's body on the wire.
    package var bytes: Int
    /// Whether the request used a connection that was open already.
    package var reused: Bool
    /// The delay between the request's scheduled time and its start.
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

/// The memory of a process, in bytes.
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
    /// The endpoint that failed, if any; the error counts there.
    package var endpoint: String?
    /// The number of consecutive failures so far, from 1.
    package var attempt: Int?
    /// The time until the next attempt.
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

/// The progress of a paged input, or what a complete answer says.
package struct Progress: Sendable, Equatable {
    package var done: Int
    /// Nil while the upstream has not said.
    package var total: Int?
    package var page: Int
    /// The number of items that a complete answer came to, for sources that count them.
    package var items: Int?
    /// The keys of the series that are gone: a complete answer no longer had them.
    package var gone: [String]

    // Gone keys in a `progress` line: 1,000, and 64 KiB; rest in further lines.
    package static let mostGone = 1_000
    package static let mostGoneBytes = 64 << 10

    package init(done: Int, total: Int?, page: Int, items: Int? = nil, gone: [String] = []) {
        self.done = done
        self.total = total
        self.page = page
        self.items = items
        self.gone = gone
    }
}

/// The end of a complete answer of a source: a document that was read to its end, or all pages of a listing. The store
/// marks the series that were not in it as gone.
///
/// An answer with an item whose key is unknown is not complete.
package struct CompleteAnswer: Sendable, Equatable {
    /// The number of items and pages, and of the items that it came to, where they are counted.
    package var progress: Progress
    /// No line of the answer has a lower number.
    package var first: Int
    /// Whether it has a line even if nothing is gone.
    package var isReported: Bool

    package init(_ progress: Progress, from first: Int, isReported: Bool) {
        self.progress = progress
        self.first = first
        self.isReported = isReported
    }
}

/// An outage that is over.
package struct Recovery: Sendable, Equatable {
    /// From the first failure to the good answer.
    package var down: Duration
    /// The number of failed attempts, from 1.
    package var attempts: Int

    package init(down: Duration, attempts: Int) {
        self.down = down
        self.attempts = attempts
    }
}

/// The journal's state at the start of a run, from which a reader can tell whether its end was lost.
package struct Restart: Sendable, Equatable {
    /// The name of the previous run; nil when there is none, or the disk did not answer in time.
    package var lastRun: String?
    /// The sequence number of its last line in the journal, 0 for none; nil without such a run.
    package var lastSequence: Int?
    /// The reason in its `bye` line; nil when it never wrote one.
    package var ended: String?

    package init(lastRun: String? = nil, lastSequence: Int? = nil, ended: String? = nil) {
        (self.lastRun, self.lastSequence, self.ended) = (lastRun, lastSequence, ended)
    }
}

/// Lines of an agent of a fleet that never came, or could not be accepted.
package struct Lost: Sendable, Equatable {
    /// The run of that agent; nil where a line does not say.
    package var run: String?
    package var numbers: ClosedRange<Int>

    package init(run: String?, numbers: ClosedRange<Int>) { (self.run, self.numbers) = (run, numbers) }
}

/// The agent's metrics about itself, besides the store's counts.
package struct AgentSample: Sendable, Equatable {
    /// The longest delay of a timer of the event loop since the last sample, in milliseconds.
    package var loopLag: Double
    /// Processor time that the agent has used since its start, user and system, in milliseconds.
    package var cpu: Double

    package init(loopLag: Double, cpu: Double) {
        self.loopLag = loopLag
        self.cpu = cpu
    }
}
