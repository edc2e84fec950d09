package import Feed
package import Reactor

/// A series over a longer time than a board's: its columns from a journal, including those of earlier runs. The newest
/// column is asked for again and again, so that the graph goes on.
package struct PastSeries: Sendable {
    /// A span of time, and the width of the columns in it.
    package struct Span: Sendable, Equatable {
        package let duration: Duration
        /// In microseconds; the widths on the screen are multiples of it.
        package let width: Int64

        fileprivate init(minutes: Int, width seconds: Int64) {
            (duration, width) = (.seconds(minutes * 60), seconds * 1_000_000)
        }

        fileprivate var count: Int { Int(duration.microseconds / width) }
    }

    package static let spans = [
        Span(minutes: 5, width: 1), Span(minutes: 15, width: 1), Span(minutes: 60, width: 5),
        Span(minutes: 6 * 60, width: 30), Span(minutes: 24 * 60, width: 60), Span(minutes: 7 * 24 * 60, width: 600),
    ]

    /// The progress of reading the journal.
    package enum Progress: Sendable, Equatable {
        case reading
        case here(isOlder: Bool)
        /// Reading failed, for this reason.
        case failed(String)
    }

    package let name: String
    package let source: String
    package let span: Span
    /// Distinguishes this instance from earlier ones.
    package let number: Int
    package private(set) var progress = Progress.reading
    /// Whether an answer was read to its end: until then a graph shows what the board holds.
    package private(set) var isRead = false
    /// Whether the journal reports a gap in that time.
    package var hasHoles: Bool { columns.contains { $0.gaps > 0 } }

    /// The time that was asked for last.
    private var times: Range<Timestamp>
    // Bound: the past of a series in a terminal: columns | 1,444 | older ones dropped
    /// Ascending, without those that have nothing.
    private var columns: [Column] = []

    /// Whether an answer is in progress, and whether its own greeting has come.
    private var (isAsking, isAnswered) = (false, false)
    private var splitter = LineSplitter(limit: LineEncoder.longestLine)
    private var bytes = 0

    // Bound: the past of a series in a terminal: a response | 64 MiB with the log's lines before it; one at a time |
    //   reading stops, the graph says so
    private static let most = 64 << 20

    /// - Parameter now: the agent's time.
    package init(of series: BoardSeries, over span: Span, at now: Timestamp, number: Int) {
        (name, source, self.span, self.number) = (series.name, series.source, span, number)
        times = Self.times(of: span, at: now)
    }

    /// The span until the column of this time, and one more for times ahead of the clock.
    private static func times(of span: Span, at now: Timestamp) -> Range<Timestamp> {
        let until = Window.end(of: Window.index(of: now, width: span.width) + 1, width: span.width)
        return until - span.duration - .microseconds(2 * span.width)..<until
    }

    package func isOf(_ name: String, _ span: Span) -> Bool {
        self.span == span && self.name.utf8.elementsEqual(name.utf8)
    }

    // MARK: The journal

    /// Begins to read the journal: all of the span at first, later from its last column on.
    ///
    /// - Parameter now: the agent's time.
    package mutating func begin(at now: Timestamp) -> PastRequest {
        (isAsking, isAnswered, bytes) = (true, false, 0)
        splitter = LineSplitter(limit: LineEncoder.longestLine)
        times = Self.times(of: span, at: now)
        columns.removeAll { !times.contains($0.start) }
        return PastRequest(
            series: name, source: source, width: Int(span.width / 1_000_000),
            from: columns.last?.start ?? times.lowerBound, until: times.upperBound)
    }

    /// Handles a piece of the answer; returns false when the rest is not wanted.
    package mutating func read(_ piece: [UInt8]) -> Bool {
        guard isAsking else { return false }
        bytes += piece.count
        guard bytes <= Self.most else {
            end(failure: "the answer is too long")
            return false
        }
        splitter.push(piece[...])
        while isAsking, let item = splitter.next() {
            guard case .line(let text) = item else { continue }
            // Those before the greeting go with what it replaces.
            if let column = Column(text) { add(column) }
            guard let line = try? LineDecoder.decode(text) else { continue }
            switch line.body {
            case .hello(let hello) where !hello.filtered:
                // The greeting of the connection; the answer follows a second greeting.
                guard hello.journalFirstSeq == nil else { continue }
                // Nil also before the run's first line is in the journal.
                end(failure: "there is none, or nothing in it yet")
            case .hello: isAnswered = true
            case .refusal(let failure): end(failure: failure.message)
            case .bye(let bye) where bye.reason == "until" && isAnswered:
                (isAsking, isRead) = (false, true)
                progress = .here(isOlder: bye.oldest.map { $0 < times.lowerBound } ?? false)
            case .bye: end(failure: "the agent has ended")
            default: break
            }
        }
        return isAsking
    }

    /// Ends an answer early, with a reason if there is one; a complete answer ends with its `bye`.
    package mutating func end(failure: String?) {
        guard isAsking else { return }
        isAsking = false
        progress = .failed(Sanitizer.visible(failure ?? "the connection broke", limit: 200))
    }

    private mutating func add(_ column: Column) {
        guard isAnswered, column.width == span.width, times.contains(column.start) else { return }
        // The last column is asked for again.
        if columns.last?.start == column.start { columns.removeLast() }
        guard column.values != nil || column.errors + column.gaps > 0,
            columns.last.map({ $0.start < column.start }) ?? true
        else { return }
        columns.append(column)
    }

    // MARK: What is shown

    /// The windows that overlap a range of time, ascending.
    ///
    /// - Parameter width: the width in microseconds, a multiple of the span's.
    package func windows(width: Int64, over range: Range<Timestamp>) -> [BoardWindow] {
        let all = columns.compactMap(\.values)
        return BoardWindow.widened(all, to: width).filter {
            $0.start < range.upperBound && $0.start + .microseconds($0.width) > range.lowerBound
        }
    }

    /// The middle of each column in which the source had an error, in microseconds, ascending.
    package func errors(over range: Range<Timestamp>) -> [Int64] {
        columns.filter { $0.errors > 0 }.map { $0.start + .microseconds(span.width / 2) }
            .filter { range.contains($0) }.map(\.microseconds)
    }

    private static let widths: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
    ].map { $0 * 1_000_000 }

    /// A width of windows of which at most `count` fit into the span.
    ///
    /// - Parameter least: the least width, in microseconds.
    package func width(atMost count: Int, least: Int64 = 0) -> Int64 {
        let whole = span.duration.microseconds
        return Self.widths.first {
            $0.isMultiple(of: span.width) && $0 >= least && whole / $0 <= Int64(max(count, 1))
        } ?? whole
    }
}
