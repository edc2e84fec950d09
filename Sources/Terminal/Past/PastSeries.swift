package import Feed
package import Reactor

/// A series over a longer time than a board's: its columns from a journal, including those of earlier runs, and the
/// values that come meanwhile, in columns narrow enough for any graph. Its memory depends only on the span.
///
/// The journal's columns have the lines up to the one that the answer names; of the current run, the board's values and
/// those that come are added from there on.
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

    /// The content of one column.
    private struct Slot {
        var index: Int64
        /// What the journal has.
        var read: BoardWindow?
        /// Kept values without a number, which the journal may have.
        var kept: Window?
        /// The values since then.
        var live: Window?
        /// The time of the last error; of the journal's, the column's middle.
        var error: Int64?
    }

    package let name: String
    package let source: String
    package let span: Span
    /// Distinguishes this instance from earlier ones.
    package let number: Int
    package private(set) var progress = Progress.reading
    /// Whether the journal reports a gap in that time.
    package private(set) var hasHoles = false

    /// The time that is asked for.
    private let times: Range<Timestamp>
    /// The last line that has come.
    private var newest: Int
    // Bound: the past of a series in a terminal: columns | 2,884, half of them for the future | past the span dropped,
    //   as values further ahead
    /// Column k is at k modulo the number of slots: those of the span, and as many future ones.
    private var slots: [Slot]
    /// The last column that is accepted: times come from outside and may be wrong, as may the clocks of those who write
    /// them.
    private var horizon: Int64

    /// Whether an answer is in progress, and whether its own greeting has come.
    private var (isAsking, isAnswered) = (false, false)
    private var splitter = LineSplitter(limit: LineEncoder.longestLine)
    private var bytes = 0

    /// The number of values to wait for before a journal without an answer is asked again; it grows each time.
    private var wait: (left: Int, next: Int) = (0, 1)

    // Bound: the past of a series in a terminal: a response | 64 MiB with the log's lines before it; one at a time |
    //   reading stops, the graph says so
    private static let most = 64 << 20

    /// - Parameters:
    ///   - index: the series on the board, whose values are copied.
    ///   - now: the agent's time.
    package init(of index: Int, on board: Board, over span: Span, at now: Timestamp, number: Int) {
        let series = board.series[index]
        (name, source, self.span, self.number) = (series.name, series.source, span, number)
        // Includes the current column, and one more for times ahead of the clock.
        let column = Window.index(of: now, width: span.width)
        let until = Window.end(of: column + 1, width: span.width)
        times = until - span.duration - .microseconds(2 * span.width)..<until
        newest = board.lastSequence
        slots = Array(repeating: Slot(index: .min), count: 2 * span.count + 4)
        horizon = column + Int64(span.count + 1)
        addValues(of: board, behind: nil)
    }

    package func isOf(_ name: String, _ span: Span) -> Bool {
        self.span == span && self.name.utf8.elementsEqual(name.utf8)
    }

    // MARK: The journal

    /// The next request to the journal; nil when there is nothing more to read.
    package var request: PastRequest? {
        guard progress == .reading else { return nil }
        return PastRequest(
            series: name, source: source, width: Int(span.width / 1_000_000), from: times.lowerBound,
            until: times.upperBound)
    }

    /// Begins the answer to `request`.
    package mutating func begin() {
        (isAsking, isAnswered, bytes) = (true, false, 0)
        splitter = LineSplitter(limit: LineEncoder.longestLine)
    }

    /// Handles a piece of the answer; returns false when the rest is not wanted.
    package mutating func read(_ piece: [UInt8], on board: Board) -> Bool {
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
                wait = (wait.next, wait.next.addingSaturated(wait.next))
            case .hello(let hello):
                isAnswered = true
                for index in slots.indices { slots[index] = Slot(index: .min) }
                addValues(of: board, behind: Self.lastInColumns(behind: hello, of: board.hello))
            case .refusal(let failure): end(failure: failure.message)
            case .bye(let bye) where bye.reason == "until" && isAnswered:
                isAsking = false
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

    /// The last line of the board's run that the columns behind this `hello` have: all, when a later run has begun.
    private static func lastInColumns(behind answer: Line.Hello, of board: Line.Hello?) -> Int {
        if answer.run == board?.run { return answer.nextSeq - 1 }
        guard let mine = board?.app.started, let other = answer.app.started, mine < other else { return 0 }
        return .max
    }

    private mutating func add(_ column: Column) {
        guard column.width == span.width, times.contains(column.start), let slot = slotIndex(for: column.start) else {
            return
        }
        slots[slot].read = column.values
        hasHoles = hasHoles || column.gaps > 0
        guard column.errors > 0 else { return }
        slots[slot].error = max(slots[slot].error ?? .min, column.start.microseconds + column.width / 2)
    }

    /// Adds the values that a board has of the series, kept ones without a number included, and the errors of its source.
    ///
    /// - Parameter sequence: the last line of this run that the journal's columns have, and with it those of earlier
    ///   runs; nil without columns.
    private mutating func addValues(of board: Board, behind sequence: Int?) {
        guard let index = board.series(named: name) else { return }
        for point in board.points(of: index)
        where point.sequence == 0 || sequence.map({ point.sequence > $0 }) ?? true {
            add(point.value, at: point.time, point.sequence)
        }
        guard let source = board.source(named: source) else { return }
        for error in board.errors(of: source) { addError(at: Timestamp(microseconds: error.microseconds)) }
    }

    // MARK: Live lines

    /// Handles a live line.
    ///
    /// - Parameter now: the agent's time.
    package mutating func handle(live line: Line, at now: Timestamp) {
        guard let sequence = line.seq, sequence > newest else { return }
        newest = sequence
        horizon = Window.index(of: now, width: span.width) + Int64(span.count + 1)
        guard let name = line.source, name.utf8.elementsEqual(source.utf8) else { return }
        if case .error = line.body { return addError(at: line.time) }
        guard let value = value(of: line) else { return }
        add(value, at: line.time, sequence)
        guard wait.left > 0 else { return }
        wait.left -= 1
        if wait.left == 0 { progress = .reading }
    }

    private func value(of line: Line) -> Double? {
        switch line.body {
        case .data(let data) where isName(data.series): data.value
        case .latency(let sample) where isName(SeriesKind.latency.prefix + source): sample.ms
        case .memory(let sample) where isName(SeriesKind.memory.prefix + source): Double(sample.resident)
        case .progress(let progress) where isName(SeriesKind.count.prefix + source): progress.items.map { Double($0) }
        default: nil
        }
    }

    private func isName(_ text: String) -> Bool { text.utf8.elementsEqual(name.utf8) }

    private mutating func add(_ value: Double, at time: Timestamp, _ sequence: Int) {
        guard value.isFinite, let slot = slotIndex(for: time) else { return }
        let part = sequence == 0 ? \Slot.kept : \Slot.live
        if slots[slot][keyPath: part]?.add(value, time: time.microseconds, sequence: sequence) == nil {
            slots[slot][keyPath: part] =
                Window(index: slots[slot].index, value: value, time: time, sequence: sequence)
        }
    }

    private mutating func addError(at time: Timestamp) {
        guard let slot = slotIndex(for: time) else { return }
        slots[slot].error = max(slots[slot].error ?? .min, time.microseconds)
    }

    /// The index of the slot for a time, emptied if it was for an older column; nil if it is for a newer one or the time
    /// is out of range.
    private mutating func slotIndex(for time: Timestamp) -> Int? {
        let index = Window.index(of: time, width: span.width)
        let rest = Int(index % Int64(slots.count))
        let slot = rest < 0 ? rest + slots.count : rest
        guard index <= horizon, index >= oldest, slots[slot].index <= index else { return nil }
        if slots[slot].index < index { slots[slot] = Slot(index: index) }
        return slot
    }

    /// The oldest column that can be stored.
    private var oldest: Int64 { horizon - Int64(slots.count) + 1 }

    // MARK: What is shown

    /// The windows that overlap a range of time, ascending.
    ///
    /// - Parameter width: the width in microseconds, a multiple of the span's.
    package func windows(width: Int64, over range: Range<Timestamp>) -> [BoardWindow] {
        let all = slots.filter { $0.index >= oldest }.compactMap { slot -> BoardWindow? in
            let live = slot.live.map { BoardWindow($0, width: span.width) }
            guard var window = slot.read ?? slot.kept.map({ BoardWindow($0, width: span.width) }) else { return live }
            guard let live else { return window }
            window.absorb(live)
            return window
        }
        .sorted { $0.start < $1.start }
        return BoardWindow.widened(all, to: width).filter {
            $0.start < range.upperBound && $0.start + .microseconds($0.width) > range.lowerBound
        }
    }

    /// The times of the source's errors, in microseconds, ascending: the last one in each of the span's columns.
    package func errors(over range: Range<Timestamp>) -> [Int64] {
        slots.compactMap(\.error).filter { range.contains(Timestamp(microseconds: $0)) }.sorted()
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
