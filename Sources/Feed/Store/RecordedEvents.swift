package import Reactor

/// Shows an observer the lines of a recording. Events with known names that have nothing but a number are not decoded.
package struct RecordedEvents: Sendable {
    private struct Series {
        let source: String
        let observed: ObservedSeries
    }

    // Bound: series of a recording whose events are not decoded | 16,384 | those of others are
    private static let mostSeries = 16_384

    private var names = PlainNames<Series>(most: mostSeries)

    package init() {}

    /// Has names be looked up again, because the observer is another one.
    package mutating func forgetNames() { names.removeAll() }

    /// Shows the next line.
    package mutating func show(_ line: RecordedLine, to observer: inout some FeedObserver, at moment: Moment) {
        switch line {
        case .other(let relayed):
            // Series may be gone, and sources be described anew.
            if case .data = relayed.line.body {} else { names.removeAll() }
            observer.apply(relayed.line, at: moment)
        case .plain(let plain, let bytes):
            let slice = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[plain.names]))
            if plain.kind == .data, let known = names.meaning(of: slice) {
                observer.observe(.data, of: known.source, line: plain.sequence, at: moment)
                guard known.observed.index >= 0 else { return }
                if let value = plain.value, !known.observed.needsEvents {
                    return observer.observe(value, of: known.observed.index, line: plain.sequence, at: moment)
                }
            }
            guard let line = try? LineDecoder.decode(Bytes(bytes)) else { return }
            observer.apply(line, at: moment)
            if case .data(let data) = line.body, let source = line.source {
                let observed = observer.series(named: data.series, of: source, at: moment)
                names.learn(slice, Series(source: source, observed: observed))
            }
        }
    }
}

/// The time of a recorded feed by both clocks: `clock` lines say when the wall clock was set and the machine slept, and between
/// two runs no time passes.
package struct RecordedTime: Sendable {
    package private(set) var moment: Moment?
    private var offset = Duration.zero
    private var isNewRun = false

    /// The steady clock before the first line.
    package static let start = LoopInstant(nanoseconds: 1_000_000_000)
    /// Where it ends, whatever times lines have: far enough from what a clock can count.
    private static let end = LoopInstant(nanoseconds: .max / 4)

    package init() {}

    /// Another run begins.
    package mutating func beginRun() { isNewRun = true }

    /// Moves on to the time of a numbered line.
    package mutating func advance(to time: Timestamp, _ clock: ClockChange? = nil) -> Moment {
        let start = moment?.now ?? Self.start
        if moment == nil || isNewRun { offset = time - start.timestamp }
        isNewRun = false
        if let clock { offset += clock.step + clock.slept }
        let now = min(start.advanced(by: max(.zero, (time - offset) - start.timestamp)), Self.end)
        let new = Moment(wall: now.timestamp + offset, now: now)
        moment = new
        return new
    }

    /// The moment at which the steady clock is so late, between the newest line and the next.
    package func moment(at now: LoopInstant) -> Moment { Moment(wall: now.timestamp + offset, now: now) }
}
