internal import Feed
internal import Reactor

/// Reads the lines of a recording in order: skips those that are not feed lines, and those before the requested time,
/// and starts every run with a `hello`.
final class Recording {
    /// Known contents of a file that is not a recording, by its first bytes.
    enum Oddity {
        case journal
        case compressed(with: String)

        /// A sentence.
        ///
        /// - Parameter command: what reads it from standard input.
        func text(_ command: String) -> String {
            switch self {
            case .journal: "a journal is read from its file, as its pages are not in order"
            case .compressed(let tool): "it is compressed: \(tool) FILE | \(command)"
            }
        }
    }

    // A line of a recording: 1 MiB; left out, counted, reported at the end.
    private var buffer = LineBuffer(limit: LineEncoder.longestLine)
    /// The time before which lines are skipped; nil when none are (any more).
    private var from: Timestamp?
    /// The state before that time; nil without one, and once it is told.
    private var state: RecordedState?
    /// Whether a run may begin later than its `hello` says, without a gap.
    private let hasOlder: Bool
    /// The run's `hello` and newest `stats`, held until its first wanted line.
    private var hello: RelayedLine?
    private var stats: RelayedLine?
    /// Lines to return before the next one is read, in reverse order.
    private var queue: [RecordedLine] = []
    private var hasHello = false
    private var run: String?
    private var lastSequence = 0
    /// The first sequence number of the run by its `hello`.
    private var first = 1
    private var slice: TimeSlice

    /// Whether there are no more bytes, so that the last line needs no newline.
    var isAtEnd = false
    /// Whether `next` may return lines before more bytes are read.
    private(set) var hasMore = false
    /// The number of lines that could not be read, and what was wrong with the first.
    private(set) var badLines = 0
    private(set) var firstFault = ""
    /// Set when the input is another kind of file.
    private(set) var oddity: Oddity?

    /// - Parameter hasOlder: whether the recording is a journal, which drops old lines.
    init(from: Timestamp?, hasOlder: Bool, on loop: EventLoop, limits: FeedState.Limits) {
        self.from = from
        state = from.map { _ in RecordedState(on: loop, limits: limits) }
        self.hasOlder = hasOlder
        slice = TimeSlice(of: loop)
    }

    /// Whether all lines are before the requested time.
    var isTooOld: Bool { from != nil && isAtEnd }

    /// What was wrong with its lines, a sentence each.
    ///
    /// - Parameter isEmpty: whether a journal has no line of the requested time.
    func faults(isEmpty: Bool) -> [String] {
        var texts: [String] = []
        if badLines > 0 {
            let count = badLines == 1 ? "a line is no line" : "\(badLines) lines are no lines"
            let first = Sanitizer.visible(firstFault, limit: 300)
            texts.append("\(count) of a feed\(badLines == 1 ? ": " : ", the first of them ")\(first)")
        }
        if isEmpty || isTooOld { texts.append("there is no line of that time or later") }
        return texts
    }

    /// Reads once from a stream, when there are no more lines.
    func fill(from stream: any ByteStream) throws(SystemError) -> Int? { try buffer.fill(from: stream) }

    /// Begins a slice of work.
    func restart() {
        slice.restart()
        hasMore = true
    }

    /// Returns the next line; nil when more bytes are needed, or the slice of work is over.
    func next() -> RecordedLine? {
        if let line = queue.popLast() { return line }
        repeat {
            guard let item = buffer.next() ?? (isAtEnd ? buffer.finish() : nil) else {
                hasMore = false
                return isAtEnd ? end() : nil
            }
            switch item {
            case .tooLong(let length):
                addFault("it has \(length) bytes, and \(LineEncoder.longestLine) are the most")
            case .line(let bytes): if let line = read(bytes) { return line }
            }
        } while slice.goesOn() && oddity == nil
        return nil
    }

    /// Counts a line that cannot be read.
    func addFault(_ fault: @autoclosure () -> String) {
        badLines += 1
        if badLines == 1 { firstFault = "line \(buffer.number): \(fault())" }
    }

    /// Returns the `hello` of a last run that has no lines.
    private func end() -> RecordedLine? {
        guard from == nil, let hello else { return nil }
        self.hello = nil
        return .other(hello)
    }

    @inline(__always)
    private func read(_ line: UnsafeBufferPointer<UInt8>) -> RecordedLine? {
        if let plain = PlainLine(line) {
            guard isNew(plain.sequence) else { return nil }
            let whole = RecordedLine.plain(plain, line)
            guard isWanted(plain.time, whole) else { return nil }
            lastSequence = plain.sequence
            // The fast path, for nearly all lines.
            return hasHello && hello == nil ? whole : begin(with: whole, plain.sequence, plain.time)
        }
        return readOther(line)
    }

    /// Whether a line is newer than those before it; reports a number before the run's first, which no `gap` can name.
    @inline(__always)
    private func isNew(_ sequence: Int) -> Bool {
        if sequence > lastSequence { return true }
        if sequence < first { addFault("its number is \(sequence), and its run begins with \(first)") }
        return false
    }

    /// Whether another number can follow this one, as for every valid line; reports one that none can follow.
    private func isNumber(_ sequence: Int) -> Bool {
        if sequence < .max { return true }
        addFault("its number is \(sequence), which is no number of a line")
        return false
    }

    /// Whether a line of this time is not skipped; a line that is skipped adds to the state before those that are not.
    @inline(__always)
    private func isWanted(_ time: Timestamp, _ line: @autoclosure () -> RecordedLine) -> Bool {
        guard let from else { return true }
        guard time >= from else {
            state?.add(line())
            return false
        }
        self.from = nil
        return true
    }

    @inline(never)
    private func readOther(_ line: UnsafeBufferPointer<UInt8>) -> RecordedLine? {
        // Skips a byte order mark, which may also occur where files were concatenated; a line with nothing else is
        // blank.
        let hasMark = line.starts(with: [0xEF, 0xBB, 0xBF])
        let line = hasMark ? UnsafeBufferPointer(rebasing: line.dropFirst(3)) : line
        if buffer.number == 1, badLines == 0, let oddity = Self.oddity(line) {
            self.oddity = oddity
            return nil
        }
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return nil }
        let bytes = Bytes(line)
        let decoded: Line
        do throws(LineFault) {
            decoded = try LineDecoder.decode(bytes)
        } catch {
            addFault("\(error)")
            return nil
        }
        return read(RelayedLine(decoded, bytes: bytes))
    }

    private func read(_ relayed: RelayedLine) -> RecordedLine? {
        let line = relayed.line
        switch line.body {
        case .hello(let hello):
            let isSame = hello.run == run
            if !isSame { lastSequence = 0 }
            run = hello.run
            hasHello = true
            // A repeated `hello` of the current run is not held back.
            if from == nil, !hasOlder || isSame, self.hello == nil {
                if !isSame { (first, lastSequence) = (hello.firstSeq, hello.firstSeq - 1) }
                return .other(relayed)
            }
            self.hello = relayed
            if !isSame { stats = nil }
            state?.add(.other(relayed))
            return nil
        case .stats:
            guard hasHello else { return nil }
            if hello == nil, from == nil { return .other(relayed) }
            stats = relayed
            state?.add(.other(relayed))
            return nil
        case .gap(let gap):
            guard isNumber(gap.to), gap.to > lastSequence, isWanted(line.time, .other(relayed)) else { return nil }
            lastSequence = gap.to
            return begin(with: .other(relayed), gap.from, line.time)
        case .bye(let bye):
            // Only for a run that was begun: it tells a journal how the run ended.
            guard let run, bye.run == run, hello == nil, from == nil else { return nil }
            return .other(relayed)
        case .refusal: return nil
        // From a socket or a page.
        case .kept where from != nil:
            state?.add(.other(relayed))
            return nil
        case .kept where hello == nil: return hasHello ? .other(relayed) : nil
        default:
            guard let sequence = line.seq, isNumber(sequence), isNew(sequence), isWanted(line.time, .other(relayed))
            else {
                return nil
            }
            lastSequence = sequence
            return begin(with: .other(relayed), sequence, line.time)
        }
    }

    /// Returns the line, or what must precede it: the `hello` of its run, made up if the recording has none, and
    /// `stats`.
    private func begin(with line: RecordedLine, _ sequence: Int, _ time: Timestamp) -> RecordedLine? {
        if !hasHello {
            hasHello = true
            hello = Self.hello(at: time)
        }
        guard var hello else { return line }
        if case .hello(var body) = hello.line.body {
            body.firstSeq = sequence
            hello.line.body = .hello(body)
        }
        // The run begins here, whatever came before.
        first = sequence
        hello.line.time = time
        queue.append(line)
        if let state, let run {
            let pieces = state.pieces
            let kept = pieces.dropFirst().flatMap { RecordedState.lines(in: $0, of: run, at: time) }
            queue += kept.reversed().map { .other($0) }
            stats = pieces.first.flatMap { RecordedState.stats(in: $0, at: time) } ?? stats
            self.state = nil
        }
        if var stats {
            stats.line.time = time
            queue.append(.other(stats))
        }
        self.hello = nil
        stats = nil
        return .other(hello)
    }

    /// Returns a `hello` for a run without a name.
    private static func hello(at time: Timestamp) -> RelayedLine? {
        let identity = AgentIdentity(run: "replay", version: "", started: time)
        let bytes = ControlLine.hello(
            time: time, identity: identity, isFiltered: false, interval: .seconds(10), history: .seconds(120),
            firstSequence: 1, nextSequence: 1)[...]
        return (try? LineDecoder.decode(bytes)).map { RelayedLine($0, bytes: bytes) }
    }

    private static func oddity(_ line: UnsafeBufferPointer<UInt8>) -> Oddity? {
        if line.starts(with: "SQLite format 3".utf8) { return .journal }
        let kinds: [(magic: [UInt8], tool: String)] = [
            ([0x1F, 0x8B], "zcat"), ([0x28, 0xB5, 0x2F, 0xFD], "zstdcat"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xzcat"),
            ([0x42, 0x5A, 0x68], "bzcat"),
        ]
        return kinds.first { line.starts(with: $0.magic) }.map { .compressed(with: $0.tool) }
    }
}
