internal import Feed
internal import Reactor

/// Reads the lines of a recording one after the other: leaves out what is no line of the feed, and what is before the time
/// from which it is wanted, and has every run begin with a `hello`.
final class Recording {
    /// What the first bytes of a recording can be that is none.
    enum Oddity {
        case journal
        case compressed(with: String)
    }

    private var buffer = LineBuffer(limit: LineEncoder.longestLine)
    /// Before which time lines are left out; nil when none are, any more.
    private var from: Timestamp?
    /// Whether what there is of a run begins later than its `hello` says, without anything being missing.
    private let hasOlder: Bool
    /// The run's `hello` and the newest `stats`, while no line of it is wanted.
    private var hello: RelayedLine?
    private var stats: RelayedLine?
    /// What comes before the next line that is read, the last first.
    private var queue: [RecordedLine] = []
    private var hasHello = false
    private var run: String?
    private var lastSequence = 0
    /// The first number that the run's `hello` has room for.
    private var first = 1
    private var slice: TimeSlice

    /// Whether nothing more will be filled in, so that the last line needs no newline.
    var isAtEnd = false
    /// Whether there may be lines before more is filled in.
    private(set) var hasMore = false
    /// How many lines were none, and what was wrong with the first.
    private(set) var badLines = 0
    private(set) var firstFault = ""
    /// What it is instead of lines.
    private(set) var oddity: Oddity?

    /// - Parameter hasOlder: whether it is a journal, which lets go of what is old.
    init(from: Timestamp?, hasOlder: Bool, on loop: EventLoop) {
        self.from = from
        self.hasOlder = hasOlder
        slice = TimeSlice(of: loop)
    }

    /// Whether all lines were before the time from which they are wanted.
    var isTooOld: Bool { from != nil && isAtEnd }

    /// Reads once from a stream, when there are no more lines.
    func fill(from stream: any ByteStream) throws(SystemError) -> Int? { try buffer.fill(from: stream) }

    /// Begins a slice of work.
    func restart() {
        slice.restart()
        hasMore = true
    }

    /// The next line; nil when more bytes are needed, or the slice of work is over.
    func next() -> RecordedLine? {
        if let line = queue.popLast() { return line }
        repeat {
            guard let item = buffer.next() ?? (isAtEnd ? buffer.finish() : nil) else {
                hasMore = false
                return isAtEnd ? end() : nil
            }
            switch item {
            case .tooLong(let length):
                note("it has \(length) bytes, and \(LineEncoder.longestLine) are the most")
            case .line(let bytes): if let line = take(bytes) { return line }
            }
        } while slice.goesOn() && oddity == nil
        return nil
    }

    /// Counts a line that is none.
    func note(_ fault: @autoclosure () -> String) {
        badLines += 1
        if badLines == 1 { firstFault = "line \(buffer.number): \(fault())" }
    }

    /// A run of which no line came is told all the same.
    private func end() -> RecordedLine? {
        guard from == nil, let hello else { return nil }
        self.hello = nil
        return .other(hello)
    }

    @inline(__always)
    private func take(_ line: UnsafeBufferPointer<UInt8>) -> RecordedLine? {
        if let plain = PlainLine(line) {
            guard isNew(plain.sequence), isWanted(plain.time) else { return nil }
            lastSequence = plain.sequence
            let whole = RecordedLine.plain(plain, line)
            // One way for nearly all of them.
            return hasHello && hello == nil ? whole : begin(with: whole, plain.sequence, plain.time)
        }
        return takeOther(line)
    }

    /// Whether a line was not there before; one that no `gap` can name is noted.
    @inline(__always)
    private func isNew(_ sequence: Int) -> Bool {
        if sequence > lastSequence { return true }
        if sequence < first { note("its number is \(sequence), and its run begins with \(first)") }
        return false
    }

    /// Whether there may be a number behind it, which every line's has; one that has none is noted.
    private func isNumber(_ sequence: Int) -> Bool {
        if sequence < .max { return true }
        note("its number is \(sequence), which is no number of a line")
        return false
    }

    @inline(__always)
    private func isWanted(_ time: Timestamp) -> Bool {
        guard let from else { return true }
        guard time >= from else { return false }
        self.from = nil
        return true
    }

    @inline(never)
    private func takeOther(_ line: UnsafeBufferPointer<UInt8>) -> RecordedLine? {
        // One byte order mark, as in a document, and where files were put together: a line of nothing else is none.
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
            note("\(error)")
            return nil
        }
        return take(RelayedLine(decoded, bytes: bytes))
    }

    private func take(_ relayed: RelayedLine) -> RecordedLine? {
        let line = relayed.line
        switch line.body {
        case .hello(let hello):
            let isSame = hello.run == run
            if !isSame { lastSequence = 0 }
            run = hello.run
            hasHello = true
            // One of the run that is under way has nothing to be held back for.
            if from == nil, !hasOlder || isSame, self.hello == nil {
                if !isSame { (first, lastSequence) = (hello.firstSeq, hello.firstSeq - 1) }
                return .other(relayed)
            }
            self.hello = relayed
            if !isSame { stats = nil }
            return nil
        case .stats:
            guard hasHello else { return nil }
            if hello == nil, from == nil { return .other(relayed) }
            stats = relayed
            return nil
        case .gap(let gap):
            guard isNumber(gap.to), gap.to > lastSequence, isWanted(line.time) else { return nil }
            lastSequence = gap.to
            return begin(with: .other(relayed), gap.from, line.time)
        case .bye(let bye):
            // Of a run that is told: who keeps it says by that how it ended.
            guard let run, bye.run == run, hello == nil, from == nil else { return nil }
            return .other(relayed)
        case .refusal: return nil
        default:
            guard let sequence = line.seq, isNumber(sequence), isNew(sequence), isWanted(line.time) else { return nil }
            lastSequence = sequence
            return begin(with: .other(relayed), sequence, line.time)
        }
    }

    /// The line, or what comes before it: the `hello` of its run, made for a recording that has none, and `stats`.
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
        // It begins here, whatever came before.
        first = sequence
        hello.line.time = time
        queue.append(line)
        if var stats {
            stats.line.time = time
            queue.append(.other(stats))
        }
        self.hello = nil
        stats = nil
        return .other(hello)
    }

    /// One of a run that nobody has named.
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
