package import Reactor

/// A chunk of the log: whole encoded lines, concatenated, in append-only memory.
///
/// Unchecked: bytes below `used` never change again, and other threads get spans by a hand-over that orders memory.
/// Only the log's owner accesses the rest.
package final class LineChunk: @unchecked Sendable {
    /// Plain memory, so that the log can append through a pointer to it without reference counting.
    struct Header {
        let memory: UnsafeMutablePointer<UInt8>
        let capacity: Int
        /// The offset of each line's end.
        let ends: UnsafeMutablePointer<UInt32>
        let maximumLines: Int
        /// The sequence number of its first line.
        var firstSequence: Int
        /// The cost of all chunks before this one.
        var startCost: Int
        var used = 0
        var lines = 0
        /// The time when its last line was written.
        var newest: LoopInstant
    }

    /// Lines are seldom shorter than this; if they are, the number of lines limits a chunk.
    private static let shortLine = 64

    let header: UnsafeMutablePointer<Header>

    init(capacity: Int, firstSequence: Int, startCost: Int, now: LoopInstant) {
        let maximumLines = max(1, capacity / Self.shortLine)
        header = .allocate(capacity: 1)
        header.initialize(
            to: Header(
                memory: .allocate(capacity: capacity), capacity: capacity, ends: .allocate(capacity: maximumLines),
                maximumLines: maximumLines, firstSequence: firstSequence, startCost: startCost, newest: now))
    }

    /// Empties it for other lines; it must have no other owner.
    func reuse(firstSequence: Int, startCost: Int, now: LoopInstant) {
        header.pointee.firstSequence = firstSequence
        header.pointee.startCost = startCost
        header.pointee.used = 0
        header.pointee.lines = 0
        header.pointee.newest = now
    }

    deinit {
        header.pointee.memory.deallocate()
        header.pointee.ends.deallocate()
        header.deallocate()
    }

    var firstSequence: Int { header.pointee.firstSequence }

    /// The sequence number after its last line.
    var endSequence: Int { header.pointee.firstSequence + header.pointee.lines }

    /// Its memory, in bytes.
    var cost: Int { header.pointee.capacity + header.pointee.maximumLines * 4 + 192 }

    /// The offset of the line with this sequence number.
    func start(of sequence: Int) -> Int {
        sequence == firstSequence ? 0 : Int(header.pointee.ends[sequence - firstSequence - 1])
    }

    /// The line with this sequence number, without its newline.
    func line(_ sequence: Int) -> [UInt8] {
        // In bounds: `ends` has the end of every line, up to `used`.
        let (start, end) = (start(of: sequence), Int(header.pointee.ends[sequence - firstSequence]) - 1)
        return Array(UnsafeBufferPointer(start: header.pointee.memory + start, count: end - start))
    }
}

/// Whole lines with consecutive sequence numbers, in the log's own memory, without a copy.
///
/// Unchecked: `start` points into the chunk that the span retains, to bytes that never change again. The chunk's header
/// does change, so a span on another thread must not read it.
package struct LineSpan: @unchecked Sendable {
    private let chunk: LineChunk
    private let start: UnsafePointer<UInt8>
    /// The number of bytes.
    package let count: Int
    /// The sequence numbers of its first and last line.
    package let sequences: ClosedRange<Int>

    fileprivate init(chunk: LineChunk, range: Range<Int>, sequences: ClosedRange<Int>) {
        self.chunk = chunk
        start = UnsafePointer(chunk.header.pointee.memory + range.lowerBound)
        count = range.count
        self.sequences = sequences
    }

    /// Lends the bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // In bounds: a span covers only bytes that were already written.
        defer { withExtendedLifetime(chunk) {} }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// The recent lines, numbered, encoded once, bounded by bytes and by age.
///
/// A reader is a sequence number; it gets lines as spans of the log's own memory. For lines that the log dropped before
/// a reader saw them, it gets their sequence numbers. Of the lines that it drops, the log keeps each series' newest one
/// apart, in `kept`.
package struct LineLog: ~Copyable, @unchecked Sendable {  // `tail` points into `chunks`, which move with it
    /// The result of reading.
    package enum Reading: Sendable {
        case lines(LineSpan)
        /// These lines are gone, or were never in the log if `isHole`; continue after them.
        case gap(ClosedRange<Int>, isHole: Bool)
        /// There is nothing new yet.
        case nothing
    }

    /// The most bytes of memory for the lines, including their bookkeeping.
    package let capacity: Int
    /// The period for which lines are kept, even if there is room for more.
    package let history: Duration
    // Bound: a chunk that a slow reader is in the middle of | 64 KiB or one long line; one a reader | kept until read,
    //   even if the log drops it
    private let chunkSize: Int
    private var chunks: [LineChunk] = []
    /// The last of `chunks`, which keeps it alive.
    private var tail: UnsafeMutablePointer<LineChunk.Header>?
    /// The next line's sequence number; the first is 1.
    package private(set) var nextSequence = 1
    /// Lines from this sequence number are not dropped because of their age, nor for one long line: a lossless output
    /// has not seen them.
    package var heldFrom = Int.max
    private var cost = 0
    /// The sequence number behind the last line that was dropped.
    private var droppedEnd = 1
    /// The cost of all chunks ever added, in bytes: its growth is the log memory that lines take.
    private(set) var totalCost = 0
    /// The newest line of each series that was marked there.
    var kept: KeptLines

    /// - Parameters:
    ///   - capacity: at least 64 KiB.
    ///   - keptCapacity: the most bytes of kept lines.
    package init(capacity: Int = 8 << 20, history: Duration = .seconds(120), keptCapacity: Int = 8 << 20) {
        kept = KeptLines(capacity: keptCapacity)
        self.capacity = max(capacity, 1 << 16)
        self.history = history
        chunkSize = min(1 << 16, self.capacity / 8)
    }

    /// The sequence number of the oldest line; `nextSequence` when there is none.
    package var firstSequence: Int { chunks.first?.firstSequence ?? nextSequence }

    /// The memory in use, in bytes.
    package var memory: Int { cost }

    /// Appends one line, which `encode` writes.
    ///
    /// - Parameters:
    ///   - most: the most bytes that `encode` can write.
    ///   - encode: gets the sequence number and the memory, and returns the memory after the line.
    @inline(__always)
    package mutating func append(
        atMost most: Int, at now: LoopInstant, _ encode: (Int, LineWriter) -> LineWriter
    ) {
        let chunk: UnsafeMutablePointer<LineChunk.Header>
        if let tail, tail.pointee.capacity - tail.pointee.used >= most, tail.pointee.lines < tail.pointee.maximumLines {
            chunk = tail
        } else {
            chunk = addChunk(atLeast: most, now)
        }
        let start = chunk.pointee.memory + chunk.pointee.used
        let length = encode(nextSequence, LineWriter(start)).next - start
        precondition(length <= most, "a line is longer than was reserved for it")
        chunk.pointee.used += length
        // In bounds: the check above left room for one more line.
        chunk.pointee.ends[chunk.pointee.lines] = UInt32(truncatingIfNeeded: chunk.pointee.used)
        chunk.pointee.lines += 1
        chunk.pointee.newest = now
        nextSequence += 1
    }

    /// Skips the numbers before `sequence`, which the next line gets: a hole, for which readers get a gap.
    package mutating func skip(to sequence: Int) {
        precondition(sequence >= nextSequence, "numbers go up")
        nextSequence = sequence
        tail = nil  // lines of a chunk have consecutive numbers
    }

    /// Drops everything and starts again at a sequence number, for another run.
    package mutating func restart(at sequence: Int) {
        chunks.removeAll()
        tail = nil
        cost = 0
        droppedEnd = 1
        nextSequence = sequence
        kept = KeptLines(capacity: kept.capacity)
    }

    @inline(never)
    private mutating func addChunk(atLeast size: Int, _ now: LoopInstant) -> UnsafeMutablePointer<LineChunk.Header> {
        let chunk: LineChunk
        if let oldest = removeOldest(insteadOf: size) {
            oldest.reuse(firstSequence: nextSequence, startCost: totalCost, now: now)
            chunk = oldest
        } else {
            chunk = LineChunk(
                capacity: max(chunkSize, size), firstSequence: nextSequence, startCost: totalCost, now: now)
        }
        chunks.append(chunk)
        tail = chunk.header
        cost += chunk.cost
        totalCost += chunk.cost
        expire(at: now)
        return chunk.header
    }

    /// Drops the oldest chunk when another one would exceed the capacity, and returns it for reuse if it has no reader:
    /// so a full log that is written to without pause costs no allocations, nor the kernel's zeroing of pages.
    private mutating func removeOldest(insteadOf size: Int) -> LineChunk? {
        guard size <= chunkSize, chunks.count > 1, chunks[0].header.pointee.capacity == chunkSize,
            isTooMuch(0, besides: chunks[0].cost)
        else { return nil }
        keepLines(of: chunks[0])
        var oldest = chunks.removeFirst()
        cost -= oldest.cost
        return isKnownUniquelyReferenced(&oldest) ? oldest : nil
    }

    /// Drops chunks that are too old (and not held) or exceed the capacity; the newest one stays unless it is too old.
    package mutating func expire(at now: LoopInstant) {
        var gone = 0
        while gone < chunks.count {
            let chunk = chunks[gone]
            let isTooMuch = gone < chunks.count - 1 && isTooMuch(gone)
            let isTooOld = chunk.header.pointee.newest.duration(to: now) > history && chunk.endSequence <= heldFrom
            guard isTooMuch || isTooOld else { break }
            keepLines(of: chunk)
            cost -= chunk.cost
            gone += 1
        }
        guard gone > 0 else { return }
        chunks.removeFirst(gone)
        if chunks.isEmpty { tail = nil }
    }

    /// Keeps what is to stay of the oldest chunk, which goes.
    private mutating func keepLines(of chunk: LineChunk) {
        droppedEnd = chunk.endSequence
        kept.keep(before: chunk.endSequence) { chunk.line($0) }
    }

    /// Calls `body` with the newest lines of series with numbers in a range, by ascending number, until it returns
    /// false.
    ///
    /// - Parameter start: the series with the first of these numbers, if known.
    func forEachNewest(
        in numbers: Range<Int>, from start: Int?, _ body: (_ series: Int, _ sequence: Int, _ line: [UInt8]) -> Bool
    ) {
        kept.forEach(in: numbers, from: start) { series, sequence, line in
            let line = line ?? LineMending.nestable(chunks[chunkIndex(of: sequence)].line(sequence))
            return line.map { body(series, sequence, $0) } ?? true
        }
    }

    /// A line without its newline; nil if the log does not have it.
    func line(_ sequence: Int) -> [UInt8]? {
        guard !chunks.isEmpty, sequence < nextSequence else { return nil }
        let chunk = chunks[chunkIndex(of: sequence)]
        return chunk.firstSequence..<chunk.endSequence ~= sequence ? chunk.line(sequence) : nil
    }

    /// A series' newest line; nil for none.
    func newestLine(of series: Int) -> [UInt8]? {
        if let kept = kept.line(of: series) { return kept }
        let sequence = kept.newest(of: series)
        return sequence > 0 ? chunks[chunkIndex(of: sequence)].line(sequence) : nil
    }

    /// The time of a series' newest line.
    func newestTime(of series: Int) -> Timestamp? { newestLine(of: series)?.withUnsafeBytes { LineHead($0)?.time } }

    /// Whether the chunk at `index` exceeds the capacity, with those before it gone, when the log gets `more` bytes.
    ///
    /// A line with a chunk of its own does not push out held lines: it may be as long as the log.
    private func isTooMuch(_ index: Int, besides more: Int = 0) -> Bool {
        guard cost + more > capacity else { return false }
        guard chunks[index].endSequence > heldFrom else { return true }
        var longest = 0
        for chunk in chunks[index...] where chunk.header.pointee.capacity > chunkSize {
            longest = max(longest, chunk.cost)
        }
        return cost + more - longest > capacity
    }

    /// Returns the lines from number `sequence` to the end of a chunk.
    package func read(from sequence: Int) -> Reading {
        let first = firstSequence
        if sequence < first { return .gap(sequence...(first - 1), isHole: sequence >= droppedEnd) }
        if sequence >= nextSequence { return .nothing }
        let index = chunkIndex(of: sequence)
        let chunk = chunks[index]
        if sequence >= chunk.endSequence {
            let next = index + 1 < chunks.count ? chunks[index + 1].firstSequence : nextSequence
            return .gap(sequence...(next - 1), isHole: true)
        }
        let range = chunk.start(of: sequence)..<chunk.header.pointee.used
        return .lines(LineSpan(chunk: chunk, range: range, sequences: sequence...(chunk.endSequence - 1)))
    }

    /// The log memory, in bytes, from the chunk with line `sequence` on: all of it when that is gone.
    ///
    /// It counts memory rather than bytes of lines, because memory is what runs out: lines that reserve much and need
    /// little fill a log with less than half its capacity in bytes.
    package func memoryBehind(_ sequence: Int) -> Int {
        guard sequence < nextSequence else { return 0 }
        guard sequence > firstSequence, !chunks.isEmpty else { return cost }
        return totalCost - chunks[chunkIndex(of: sequence)].header.pointee.startCost
    }

    /// Returns the line that contains the byte `bytes` before line `sequence`.
    ///
    /// - Returns: its sequence number; or the oldest one, with `isWhole` false, when the log does not reach back so
    ///   far.
    package func line(_ bytes: Int, before sequence: Int) -> (sequence: Int, isWhole: Bool) {
        guard bytes > 0, sequence > firstSequence, !chunks.isEmpty else { return (sequence, bytes <= 0) }
        var index = chunkIndex(of: sequence)
        var left = bytes
        var end =
            sequence >= chunks[index].endSequence
            ? chunks[index].header.pointee.used : chunks[index].start(of: sequence)
        while left > end {
            left -= end
            guard index > 0 else { return (firstSequence, false) }
            index -= 1
            end = chunks[index].header.pointee.used
        }
        let offset = end - left
        let header = chunks[index].header
        var low = 0
        var high = header.pointee.lines - 1
        while low < high {  // the first line that ends behind the offset
            let middle = (low + high) / 2
            if Int(header.pointee.ends[middle]) > offset { high = middle } else { low = middle + 1 }
        }
        return (chunks[index].firstSequence + low, true)
    }

    /// The index of the chunk that holds this line.
    private func chunkIndex(of sequence: Int) -> Int {
        var high = chunks.count - 1
        // Nearly all readers are at the end.
        var low = chunks[high].firstSequence <= sequence ? high : 0
        while low < high {
            let middle = (low + high + 1) / 2
            if chunks[middle].firstSequence <= sequence { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
