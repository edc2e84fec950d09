package import Feed
package import Reactor

/// A series over a longer time than a board's: the values from a journal, including those of earlier runs, and those
/// that come meanwhile, in windows narrow enough for any graph. Its memory depends only on the span.
///
/// It counts the same lines as the page (`past.mjs`): the series' own values and its source's errors, by their times.
/// The journal is read backwards, in slices of time that fit into one answer, whatever the order of the lines; of the
/// current run, lines that the board had or will get are skipped.
package struct PastSeries: Sendable {
    /// A span of time, and the windows in it.
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
        /// The span has been read, and one last request checks for anything older. It is expensive for the agent, which
        /// searches the times of all older lines and counts pages of 8 MiB before it sends the first line, the only one
        /// that we read.
        case looking
        case here(isOlder: Bool)
        /// Reading failed, for this reason.
        case failed(String)
    }

    /// The content of one window.
    private struct Slot {
        var index: Int64
        var window: Window?
        var error: Int64?
    }

    /// A line's content: a value, or that there was an error.
    private struct Found {
        var value: Double?
        var time: Timestamp
        var sequence: Int
    }

    package let name: String
    package let source: String
    package let span: Span
    /// Distinguishes this instance from earlier ones.
    package let number: Int
    package private(set) var progress = Progress.reading
    /// Whether the journal reports a gap in that time.
    package private(set) var hasHoles = false

    private let from: Timestamp
    private let run: String?
    /// The requested part of the time; everything later has been read.
    private var slice: Range<Timestamp>
    /// The last line that the board had of the current run, and the sequence numbers of its values.
    private let liveFrom: Int
    private let held: Set<Int>
    /// The times of its values without a number, in microseconds: they are of an earlier run.
    private let recalled: Set<Int64>
    /// The last line that has come since.
    private var newest: Int
    // Bound: the past of a series in a terminal: windows | 2,884, half of them for the future, and the board's points |
    //   those past the span dropped, and values dated further ahead
    /// Window k is at k modulo the number of slots: those of the span, and as many future ones.
    private var slots: [Slot]
    /// The last window that is accepted: times come from outside and may be wrong, as may the clocks of those who write
    /// them.
    private var horizon: Int64

    /// Whether an answer is in progress.
    private var isAsking = false
    private var splitter = LineSplitter(limit: LineEncoder.longestLine)
    /// The bytes of the current answer, and those of them that are lines.
    private var bytes = 0
    private var lineBytes = 0
    private var lineRun: String?
    /// The time of the answer's first line.
    private var first: Timestamp?
    /// The lines of the current answer, added when it has ended: a long answer may be incomplete, and is then requested
    /// again.
    private var found: [Found] = []
    /// The number of values to wait for before a journal without an answer is asked again; it grows each time.
    private var wait: (left: Int, next: Int) = (0, 1)

    // Bound: the past of a series in a terminal: lines of a response | 8 MiB | only the newest; a shorter time is
    //   requested
    /// The most bytes of lines in a response.
    package static let answer = 8 << 20
    /// From this length on, an answer may be only the newest part of what was requested.
    private let full: Int
    // Bound: the past of a series in a terminal: bytes of a response | 64 MiB with the log's lines before it; one
    //   response at a time | reading stops, the graph says so
    private static let most = 64 << 20

    /// - Parameters:
    ///   - index: the series on the board, whose values are copied.
    ///   - now: the agent's time.
    ///   - full: the length in bytes from which on an answer may be incomplete.
    package init(
        of index: Int, on board: Board, over span: Span, at now: Timestamp, number: Int,
        full: Int = answer - 2 * LineEncoder.longestLine
    ) {
        let series = board.series[index]
        (name, source, self.span, self.number) = (series.name, series.source, span, number)
        // Includes the current window, and one more for times ahead of the clock.
        let window = Window.index(of: now, width: span.width)
        let until = Window.end(of: window + 1, width: span.width)
        from = until - span.duration - .microseconds(2 * span.width)
        slice = from..<until
        self.full = full
        run = board.hello?.run
        (liveFrom, newest) = (board.lastSequence, board.lastSequence)
        held = Set(board.points(of: index).lazy.map(\.sequence))
        recalled = Set(board.points(of: index).lazy.filter { $0.sequence == 0 }.map(\.microseconds))
        slots = Array(repeating: Slot(index: .min), count: 2 * span.count + 4)
        horizon = window + Int64(span.count + 1)
        for point in board.points(of: index) {
            add(Found(value: point.value, time: point.time, sequence: point.sequence))
        }
        if let source = board.source(named: series.source) {
            for error in board.errors(of: source) {
                add(Found(value: nil, time: Timestamp(microseconds: error.microseconds), sequence: 0))
            }
        }
    }

    package func isOf(_ name: String, _ span: Span) -> Bool {
        self.span == span && self.name.utf8.elementsEqual(name.utf8)
    }

    // MARK: The journal

    /// The next request to the journal; nil when there is nothing more to read.
    package var request: PastRequest? {
        switch progress {
        case .reading: PastRequest(source: source, from: slice.lowerBound, until: slice.upperBound)
        case .looking: PastRequest(source: nil, from: nil, until: from)
        case .here, .failed: nil
        }
    }

    /// Begins the answer to `request`.
    package mutating func begin() {
        isAsking = true
        splitter = LineSplitter(limit: LineEncoder.longestLine)
        (bytes, lineBytes, lineRun, first, found) = (0, 0, nil, nil, [])
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
            guard case .line(let text) = item, let line = try? LineDecoder.decode(text) else { continue }
            switch line.body {
            case .hello(let hello) where !hello.filtered:
                // The greeting of the connection; the answer follows a second greeting.
                guard hello.journalFirstSeq == nil else { continue }
                // Nil also before the run's first line is in the journal.
                end(failure: "there is none, or nothing in it yet")
                wait = (wait.next, wait.next.addingSaturated(wait.next))
            case .hello(let hello): lineRun = hello.run
            case .refusal(let failure): end(failure: failure.message)
            case .bye(let bye) where bye.reason == "until": goOn()
            case .bye: end(failure: "the agent has ended")
            case .gap: if lineRun != nil, progress == .reading { hasHoles = true }
            default: handle(line, text.count)
            }
        }
        return isAsking
    }

    /// Ends an answer early, with a reason if there is one; a complete answer ends with its `bye`.
    package mutating func end(failure: String?) {
        guard isAsking else { return }
        isAsking = false
        progress = .failed(Sanitizer.visible(failure ?? "the connection broke", limit: 200))
        addFound()
    }

    /// Ends a complete answer and chooses the next request.
    private mutating func goOn() {
        isAsking = false
        guard progress == .reading else {
            progress = .here(isOlder: false)
            return
        }
        let (from, until) = (slice.lowerBound.microseconds, slice.upperBound.microseconds)
        guard lineBytes < full else { return narrow(until - from) }
        addFound()
        guard slice.lowerBound > self.from else {
            progress = .looking
            return
        }
        // A slice with few lines is followed by a longer one.
        let width = (until - from) * (lineBytes < full / 4 ? 4 : 1)
        slice = max(self.from, slice.lowerBound - .microseconds(width))..<slice.lowerBound
    }

    /// After an incomplete answer, which has the newest lines by arrival and not by time, requests a shorter slice.
    private mutating func narrow(_ width: Int64) {
        guard width > 1 else {
            progress = .failed("there is more of one moment than an answer has")
            addFound()
            return
        }
        // Most lines come in the order of their times.
        let seen = (slice.upperBound.microseconds - (first ?? slice.lowerBound).microseconds) / 2
        slice = slice.upperBound - .microseconds(max(1, min(seen, width / 2)))..<slice.upperBound
    }

    private mutating func handle(_ line: Line, _ length: Int) {
        guard let sequence = line.seq, let lineRun else { return }
        if progress == .looking {
            (progress, isAsking) = (.here(isOlder: true), false)
            return
        }
        lineBytes += length + 1
        if first == nil { first = line.time }
        guard slice.contains(line.time), lineBytes <= Self.answer else { return }
        if lineRun == run
            ? sequence > liveFrom || held.contains(sequence) : recalled.contains(line.time.microseconds)
        {
            return
        }
        if let one = said(by: line, sequence) { found.append(one) }
    }

    private mutating func addFound() {
        for one in found { add(one) }
        found = []
    }

    // MARK: The fold

    /// Handles a live line.
    ///
    /// - Parameter now: the agent's time.
    package mutating func handle(live line: Line, at now: Timestamp) {
        guard let sequence = line.seq, sequence > newest else { return }
        newest = sequence
        horizon = Window.index(of: now, width: span.width) + Int64(span.count + 1)
        guard let one = said(by: line, sequence) else { return }
        add(one)
        guard wait.left > 0, one.value != nil else { return }
        wait.left -= 1
        if wait.left == 0 { progress = .reading }
    }

    private func said(by line: Line, _ sequence: Int) -> Found? {
        guard let name = line.source, name.utf8.elementsEqual(source.utf8) else { return nil }
        let value = value(of: line)
        if value == nil {
            guard case .error = line.body else { return nil }
        }
        return Found(value: value, time: line.time, sequence: sequence)
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

    private mutating func add(_ found: Found) {
        guard found.value?.isFinite != false, let slot = slotIndex(for: found.time) else { return }
        let time = found.time.microseconds
        guard let value = found.value else {
            slots[slot].error = max(slots[slot].error ?? .min, time)
            return
        }
        if slots[slot].window?.add(value, time: time, sequence: found.sequence) == nil {
            slots[slot].window = Window(
                index: slots[slot].index, value: value, time: found.time, sequence: found.sequence)
        }
    }

    /// The index of the slot for a time, emptied if it was for an older window; nil if it is for a newer one or the time
    /// is out of range.
    private mutating func slotIndex(for time: Timestamp) -> Int? {
        let index = Window.index(of: time, width: span.width)
        let rest = Int(index % Int64(slots.count))
        let slot = rest < 0 ? rest + slots.count : rest
        guard index <= horizon, index >= oldest, slots[slot].index <= index else { return nil }
        if slots[slot].index < index { slots[slot] = Slot(index: index) }
        return slot
    }

    /// The oldest window that can be stored.
    private var oldest: Int64 { horizon - Int64(slots.count) + 1 }

    // MARK: What is shown

    /// The windows that overlap a range of time, ascending.
    ///
    /// - Parameter width: the width in microseconds, a multiple of the span's.
    package func windows(width: Int64, over range: Range<Timestamp>) -> [BoardWindow] {
        let all = slots.filter { $0.index >= oldest }.compactMap {
            $0.window.map { BoardWindow($0, width: span.width) }
        }
        .sorted { $0.start < $1.start }
        return BoardWindow.widened(all, to: width).filter {
            $0.start < range.upperBound && $0.start + .microseconds($0.width) > range.lowerBound
        }
    }

    /// The times of the source's errors, in microseconds, ascending: the last one in each of the span's windows.
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
