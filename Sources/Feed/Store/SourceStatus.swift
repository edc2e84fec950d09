package import Reactor

/// The state and description of one source in a `stats` line.
package struct SourceStatus: Sendable, Equatable {
    /// The state of a source.
    package enum State: String, Sendable {
        /// Nothing has arrived from it yet.
        case starting
        /// Its newest result was no error.
        case ok
        /// Its newest result was an error.
        case failing
    }

    package var source: String
    package var state: State
    /// The start of that state; nil where a line does not say.
    package var since: Timestamp?
    /// Its newest failure, while failing; nil where an older agent does not say.
    package var failure: SourceFailure?
    /// The time of its last good answer: data, the answer that nothing has changed, or a page of a listing. Nil before
    /// the first, and where an older agent does not say.
    package var answered: Timestamp?
    /// The `type` of its data lines; nil if unknown, as when relaying an older agent.
    package var type: String?
    /// At most 32 bytes of UTF-8.
    package var unit: String?
    /// Nil when there are no bands, or invalid ones.
    package var bands: BandScale?
    /// The JSON Pointer, in its events' data, to the first number, which is the value of a source without a configured
    /// pointer; at most `longestPointer` bytes of UTF-8.
    package var valuePointer: String?
    /// A stream's if unknown.
    package var rhythm = Rhythm.stream
}

/// The newest failure of a source that is failing.
package struct SourceFailure: Sendable, Equatable {
    package var code: String
    /// At most 1,000 characters; nil when there was no room for it.
    package var message: String?
    /// The number of consecutive failures, from 1; nil when that means nothing.
    package var attempt: Int?
    /// The time of the next attempt; nil when there is none.
    package var retryAt: Timestamp?

    /// The failure of an `error` line with this time.
    package init(_ failure: Failure, at time: Timestamp) {
        self.init(
            code: failure.code.rawValue, message: failure.message, attempt: failure.attempt,
            retryAt: failure.retryIn.map { time + $0 })
    }

    /// Texts are not cut.
    package init(code: String, message: String?, attempt: Int?, retryAt: Timestamp?) {
        (self.code, self.message, self.attempt, self.retryAt) = (code, message, attempt, retryAt)
    }

    /// The most bytes that `write` may write.
    var mostEncoded: Int { 128 + LineWriter.mostEscaped(code.utf8.count + (message?.utf8.count ?? 0)) }

    func write(to writer: inout LineWriter) {
        writer.string("code", code)
        writer.string("message", message)
        writer.integer("attempt", attempt)
        writer.time("retry_at", retryAt)
    }
}

extension SourceStatus {
    /// Whether both describe a source alike, whatever its state.
    func isDescribed(like other: SourceStatus) -> Bool {
        var other = other
        (other.state, other.since, other.failure, other.answered) = (state, since, failure, answered)
        return self == other
    }

    package static let longestPointer = 256

    /// Nil for a pointer that is too long: a part of one would lead elsewhere.
    static func valuePointer(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= longestPointer ? $0 : nil }
    }

    /// Whether older lines have nothing to add to the state: it comes with its reason.
    var isWhole: Bool { state == .failing ? failure != nil : answered != nil }

    /// The most bytes that `write` may write, plus braces and a comma.
    var mostEncoded: Int {
        var most = LineEncoder.most(
            source.utf8.count, type?.utf8.count ?? 0, unit?.utf8.count ?? 0, valuePointer?.utf8.count ?? 0)
        for band in bands?.bands ?? [] {
            most += 96 + LineWriter.mostEscaped(band.name.utf8.count + band.letter.utf8.count)
        }
        return most + (failure?.mostEncoded ?? 0)
    }

    /// Writes the members of one element of the line's `sources`.
    func write(to writer: inout LineWriter) {
        writer.string("source", source)
        writer.string("state", state.rawValue)
        writer.time("since", since)
        failure?.write(to: &writer)
        writer.time("answered_at", answered)
        writer.string("type", type)
        writer.string("unit", unit)
        if let bands {
            // At most 96 bytes besides the name and the letter.
            writer.list("bands", bands.bands) { band, writer in
                writer.string("name", band.name)
                writer.string("letter", String(band.letter))
                writer.string("color", band.color.hex)
                writer.number("up_to", band.upTo)
            }
            writer.bool("higher_is_better", bands.higherIsBetter)
        }
        writer.string("value_pointer", valuePointer)
        switch rhythm {
        case .stream: break
        case .every(let period): writer.number("every_s", period.seconds)
        case .once: writer.bool("runs_once", true)
        }
    }
}
