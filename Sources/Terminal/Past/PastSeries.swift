package import Feed
package import Reactor

/// A series over a longer time than a board's: what a journal has of it, also of runs that are over, and what comes
/// meanwhile, in windows that are narrow enough for any graph. Its size is up to the span alone.
///
/// What counts is what counts in the page (`past.mjs`): the series' own values and its source's errors, by their times.
/// The journal is read from its end, 8 MiB at a time; of the run that goes on, what the board had or gets is left out.
package struct PastSeries: Sendable {
    /// A span of time, and the windows in it.
    package struct Span: Sendable, Equatable {
        package let duration: Duration
        /// In microseconds; the widths on the screen are multiples of it.
        package let width: Int64

        fileprivate init(minutes: Int, width seconds: Int64) {
            (duration, width) = (.seconds(minutes * 60), seconds * 1_000_000)
        }
    }

    package static let spans = [
        Span(minutes: 5, width: 1), Span(minutes: 15, width: 1), Span(minutes: 60, width: 5),
        Span(minutes: 6 * 60, width: 30), Span(minutes: 24 * 60, width: 60), Span(minutes: 7 * 24 * 60, width: 600),
    ]

    /// How far the journal is read.
    package enum Progress: Sendable, Equatable {
        /// What is later has been read.
        case reading(until: Timestamp)
        /// Whether there is anything older than the span is still asked.
        case looking
        case here(isOlder: Bool)
        /// Why not.
        case failed(String)
    }

    /// What there was in one window.
    private struct Slot {
        var index: Int64
        var window: Window?
        var error: Int64?
    }

    /// A line's place in a feed.
    private struct Place: Equatable {
        var run: String
        var sequence: Int
    }

    package let name: String
    package let source: String
    package let span: Span
    /// Tells it from those before.
    package let number: Int
    package private(set) var progress: Progress

    private let from: Timestamp
    private let until: Timestamp
    private let run: String?
    /// The last line that the board had of the run that goes on, and those of its values that it had.
    private let liveFrom: Int
    private let held: Set<Int>
    /// The last line that has come since.
    private var newest: Int
    /// Of window k at k modulo their number.
    private var slots: [Slot]

    /// Whether an answer is under way.
    private var isAsking = false
    private var splitter = LineSplitter(limit: LineEncoder.longestLine)
    /// How much has come of an answer, and how much of that are lines.
    private var bytes = 0
    private var lineBytes = 0
    private var lineRun: String?
    private var first: (place: Place, time: Timestamp)?
    /// Where the answer before begins: what is at this place and behind it has been read.
    private var edge: Place?
    private var isBehindEdge = false

    /// As much as comes of what is asked for at the most, in bytes of lines.
    private static let answer = 8 << 20
    /// As much as is heard of whoever says more, the log's lines before an answer included.
    private static let most = 64 << 20

    /// - Parameters:
    ///   - index: of the series on the board, whose values are taken over.
    ///   - now: the agent's time.
    package init(of index: Int, on board: Board, over span: Span, at now: Timestamp, number: Int) {
        let series = board.series[index]
        (name, source, self.span, self.number) = (series.name, series.source, span, number)
        // Also the window under way, and what is dated ahead of the clock.
        until = Window.end(of: Window.index(of: now, width: span.width) + 1, width: span.width)
        from = until - span.duration - .microseconds(2 * span.width)
        run = board.hello?.run
        (liveFrom, newest) = (board.lastSequence, board.lastSequence)
        held = Set(board.points(of: index).lazy.map(\.sequence))
        let count = Int(span.duration.microseconds / span.width) + 3
        slots = Array(repeating: Slot(index: .min), count: count)
        progress = .reading(until: until)
        for point in board.points(of: index) { add(point.value, point.time, point.sequence) }
        if let source = board.source(named: series.source) {
            for error in board.errors(of: source) { addError(Timestamp(microseconds: error.microseconds)) }
        }
    }

    package func isOf(_ name: String, _ span: Span) -> Bool {
        self.span == span && self.name.utf8.elementsEqual(name.utf8)
    }

    // MARK: The journal

    /// What is to be read next; nil when there is nothing.
    package var request: PastRequest? {
        switch progress {
        case .reading(let until): PastRequest(source: source, from: from, until: until)
        case .looking: PastRequest(source: nil, from: nil, until: from)
        case .here, .failed: nil
        }
    }

    /// The answer to `request` begins.
    package mutating func begin() {
        isAsking = true
        splitter = LineSplitter(limit: LineEncoder.longestLine)
        (bytes, lineBytes, lineRun, first, isBehindEdge) = (0, 0, nil, nil, false)
    }

    /// Takes in a piece of the answer; false when nothing more of it is wanted.
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
                // A connection begins; the answer comes behind another one.
                guard hello.journalFirstSeq == nil else { continue }
                end(failure: "the agent keeps no journal")
            case .hello(let hello): lineRun = hello.run
            case .refusal(let failure): end(failure: failure.message)
            case .bye(let bye) where bye.reason == "until": goOn()
            case .bye: end(failure: "the agent has ended")
            default: take(line, text.count)
            }
        }
        return isAsking
    }

    /// Nothing more comes of an answer, for a reason in words if there is one; it is whole when its `bye` has come.
    package mutating func end(failure: String?) {
        guard isAsking else { return }
        isAsking = false
        progress = .failed(Sanitizer.visible(failure ?? "the connection broke", limit: 200))
    }

    /// An answer is whole.
    private mutating func goOn() {
        isAsking = false
        guard case .reading(let until) = progress else {
            progress = .here(isOlder: false)
            return
        }
        progress = .looking
        // What is nearly as long as can be may be the newest part only.
        guard lineBytes > Self.answer - 2 * LineEncoder.longestLine, let first else { return }
        // Others of the same moment may be older.
        let next = first.time + .microseconds(1)
        guard next < until, next > from else { return }
        (progress, edge) = (.reading(until: next), first.place)
    }

    private mutating func take(_ line: Line, _ length: Int) {
        guard let sequence = line.seq, let lineRun else { return }
        if progress == .looking {
            (progress, isAsking) = (.here(isOlder: true), false)
            return
        }
        let place = Place(run: lineRun, sequence: sequence)
        lineBytes += length + 1
        if first == nil { first = (place, line.time) }
        if let edge, edge.run == lineRun, sequence >= edge.sequence { isBehindEdge = true }
        if isBehindEdge || line.time < from || line.time >= until { return }
        if lineRun == run, sequence > liveFrom || held.contains(sequence) { return }
        fold(line, sequence)
    }

    // MARK: The fold

    /// Takes in a line as it comes.
    package mutating func take(live line: Line) {
        guard let sequence = line.seq, sequence > newest else { return }
        newest = sequence
        fold(line, sequence)
    }

    private mutating func fold(_ line: Line, _ sequence: Int) {
        guard let name = line.source, name.utf8.elementsEqual(source.utf8) else { return }
        if case .error = line.body { addError(line.time) }
        if let value = value(of: line) { add(value, line.time, sequence) }
    }

    private func value(of line: Line) -> Double? {
        switch line.body {
        case .data(let data) where isName(data.series): data.value
        case .latency(let sample) where isName(SeriesKind.latency.prefix + source): sample.ms
        case .memory(let sample) where isName(SeriesKind.memory.prefix + source): Double(sample.resident)
        default: nil
        }
    }

    private func isName(_ text: String) -> Bool { text.utf8.elementsEqual(name.utf8) }

    private mutating func add(_ value: Double, _ time: Timestamp, _ sequence: Int) {
        guard value.isFinite, let place = place(time) else { return }
        if slots[place].window?.add(value, time: time.microseconds, sequence: sequence) == nil {
            slots[place].window = Window(index: slots[place].index, value: value, time: time, sequence: sequence)
        }
    }

    private mutating func addError(_ time: Timestamp) {
        guard let place = place(time) else { return }
        slots[place].error = max(slots[place].error ?? .min, time.microseconds)
    }

    /// The slot of a time, empty if it had an older one; nil where it has a newer one.
    private mutating func place(_ time: Timestamp) -> Int? {
        let index = Window.index(of: time, width: span.width)
        let rest = Int(index % Int64(slots.count))
        let place = rest < 0 ? rest + slots.count : rest
        guard slots[place].index <= index else { return nil }
        if slots[place].index < index { slots[place] = Slot(index: index) }
        return place
    }

    // MARK: What is shown

    /// The windows that overlap a time, ascending.
    ///
    /// - Parameter width: in microseconds, a multiple of the span's.
    package func windows(width: Int64, over range: Range<Timestamp>) -> [BoardWindow] {
        let all = slots.compactMap { $0.window.map { BoardWindow($0, width: span.width) } }
            .sorted { $0.start < $1.start }
        return BoardWindow.widened(all, to: width).filter {
            $0.start < range.upperBound && $0.start + .microseconds($0.width) > range.lowerBound
        }
    }

    /// When its source's errors came, in microseconds, ascending; the last in each of the span's windows.
    package func errors(over range: Range<Timestamp>) -> [Int64] {
        slots.compactMap(\.error).filter { range.contains(Timestamp(microseconds: $0)) }.sorted()
    }

    private static let widths: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
    ].map { $0 * 1_000_000 }

    /// A width of windows of which there are at most so many in the span.
    ///
    /// - Parameter least: how wide they are at least, in microseconds.
    package func width(atMost count: Int, least: Int64 = 0) -> Int64 {
        let whole = span.duration.microseconds
        return Self.widths.first {
            $0.isMultiple(of: span.width) && $0 >= least && whole / $0 <= Int64(max(count, 1))
        } ?? whole
    }
}
