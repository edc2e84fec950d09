package import Reactor

/// A change of an alert for one series, source or set of series. Its newest line says where it stands.
package struct Alert: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        /// The tests hold, but not yet for long enough; they do not any more, and it has not fired.
        case pending, ok
        /// It fires; it still does; what ends it holds, but not yet for long enough; it is over.
        case firing, reminder, clearing, resolved

        /// Whether it is over, or never fired.
        package var isOver: Bool { self == .ok || self == .resolved }
        /// Whether it fires.
        package var isFiring: Bool { self == .firing || self == .reminder || self == .clearing }
    }

    /// Why it is resolved.
    package enum Reason: String, Sendable {
        /// What ends the condition came true.
        case until
        /// The condition was removed, or is not about it any more.
        case removed
        /// The series or source is gone.
        case forgotten
    }

    /// The lines that show it, by their numbers in a run.
    package struct Evidence: Sendable, Equatable {
        package var run: String
        /// The line since which the tests hold, and the one that decided. 0 if no line did, but time.
        package var from: Int
        package var to: Int

        package init(run: String, from: Int, to: Int) { (self.run, self.from, self.to) = (run, from, to) }
    }

    /// A test of a value with a number, or with a range.
    package struct Limit: Sendable, Equatable {
        package enum Comparison: String, Sendable {
            case less = "<"
            case atMost = "<="
            case greater = ">"
            case atLeast = ">="
            case equal = "="
            case unequal = "!="
            case within = "in"
            case outside = "not in"

            /// Whether it is of a range.
            package var isOfRange: Bool { self == .within || self == .outside }
        }

        package var comparison: Comparison
        /// The number; of a range its lower end.
        package var value: Double
        /// The upper end of a range.
        package var upper: Double?

        package init(_ comparison: Comparison, _ value: Double, _ upper: Double? = nil) {
            (self.comparison, self.value, self.upper) = (comparison, value, upper)
        }
    }

    /// The series, source or agent that it is about; of a set, as the condition names it.
    package var about: String
    /// The name of the condition.
    package var condition: String
    package var state: State
    /// The same in all lines of an episode, from the first to the last, and different from that of any other.
    package var id: String
    /// When it was decided, and since when the tests hold.
    package var at: Timestamp
    package var since: Timestamp
    package var severity: String?
    /// The value that decided, if it is a number, and finite.
    package var value: Double?
    /// The value that decided, if it is another; cut.
    package var text: String?
    /// The value that is furthest beyond the limit since the tests hold; nil if values have no order.
    package var worst: Double?
    /// The condition as written, without its name.
    package var test: String
    /// The first test of `value` with a number; nil without one.
    package var limit: Limit?
    package var note: String?
    /// How long it has fired, once it is resolved.
    package var down: Duration?
    package var reason: Reason?
    package var evidence: Evidence

    // Bound: name, test, note and what an alert is about | 4,096 bytes each | cut
    package init(
        about: String, condition: String, state: State, id: String, at: Timestamp, since: Timestamp,
        severity: String? = nil, value: Double? = nil, text: String? = nil, worst: Double? = nil, test: String,
        limit: Limit? = nil,
        note: String? = nil, down: Duration? = nil, reason: Reason? = nil, evidence: Evidence
    ) {
        self.about = LineEncoder.cut(about)
        self.condition = LineEncoder.cut(condition)
        (self.state, self.id, self.at, self.since, self.severity) = (state, id, at, since, severity)
        (self.value, self.text, self.worst) = (value, text, worst)
        self.test = LineEncoder.cut(test)
        self.limit = limit
        self.note = note.map { LineEncoder.cut($0) }
        (self.down, self.reason, self.evidence) = (down, reason, evidence)
    }
}

extension Alert {
    /// What tells it from the other alerts of a source: the condition and what it is about, as the key of a series.
    var key: [UInt8] {
        let whole = Array(condition.utf8) + [0] + Array(about.utf8)
        guard whole.count >= SeriesTable.longestKey else { return whole }
        return whole.prefix(SeriesTable.longestKey - 18) + [0] + Array(Self.digest(whole).utf8)
    }

    /// 16 hexadecimal digits that depend on all bytes: FNV-1a of 64 bits (RFC 9923). Not for secrets.
    package static func digest(_ bytes: some Sequence<UInt8>) -> String {
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The machine's clock was set, or the machine slept, since the line before.
package struct ClockChange: Sendable, Equatable {
    /// How much later the clock is than without the step; negative if it was set back.
    package var step: Duration
    package var slept: Duration

    package init(step: Duration, slept: Duration) { (self.step, self.slept) = (step, slept) }
}
