package import Reactor

/// The values of a series, and the errors of its source, in one span of time: a `window` line without a number, which
/// answers a request with `width` (docs/wire-format.md).
package struct Column: Sendable, Equatable {
    /// A whole multiple of `width` since the Unix epoch.
    package var start: Timestamp
    /// In microseconds, at least 1.
    package var width: Int64
    /// Nil when there is no value.
    package var values: BoardWindow?
    package var errors: Int
    /// The number of `gap` lines of the journal in that time.
    package var gaps: Int

    package init(start: Timestamp, width: Int64, values: BoardWindow? = nil, errors: Int = 0, gaps: Int = 0) {
        (self.start, self.width, self.values, self.errors, self.gaps) = (start, width, values, errors, gaps)
    }

    /// Adds the part of the same column that follows.
    package mutating func absorb(_ later: Column) {
        if values == nil { values = later.values } else if let more = later.values { values?.absorb(more) }
        errors += later.errors
        gaps += later.gaps
    }

    /// The column that a line has; nil for any other line.
    package init?(_ line: Bytes) {
        let read = try? line.withUnsafeBufferPointer { bytes throws(LineFault) in
            try LineMembers.with(line: bytes) { members throws(LineFault) -> Column? in
                guard try members.string(.type) == "window", members.value(.seq) == nil else { return nil }
                return try Column(members)
            }.value
        }
        guard let column = read ?? nil else { return nil }
        self = column
    }

    private init?(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            start: try members.time(.start), width: try members.duration(.seconds, unit: 1e6).microseconds,
            errors: try members.int(.errors), gaps: try members.int(.gaps))
        let count = try members.int(.count)
        guard width > 0 else { return nil }
        guard count > 0 else { return }
        let (last, low, high) = (try members.double(.last), try members.double(.min), try members.double(.max))
        guard low <= last, last <= high else { return nil }
        values = BoardWindow(
            start: start, width: width, last: last, count: count, minimum: low, maximum: high,
            mean: min(max(try members.double(.mean), low), high))
    }

    /// The line, written at this time for a series of this source.
    package func line(of series: String, source: String, time: Timestamp) -> [UInt8] {
        ControlLine.line("window", time, atMost: 512 + LineWriter.mostEscaped(series.utf8.count + source.utf8.count)) {
            $0.string("source", source)
            $0.string("series", series)
            $0.time("start", start)
            $0.number("seconds", Double(width) / 1e6)
            $0.number("last", values?.last)
            $0.integer("count", values?.count ?? 0)
            $0.number("min", values?.minimum)
            $0.number("max", values?.maximum)
            $0.number("mean", values?.mean)
            $0.integer("errors", errors)
            $0.integer("gaps", gaps)
        }
    }
}
