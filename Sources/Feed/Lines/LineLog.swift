package import Reactor

/// A piece of the log: whole encoded lines, one behind the other, in memory that is only ever appended to.
///
/// Unchecked: bytes below `used` never change again, and whoever reads them elsewhere got the span by a hand-over that
/// orders memory. Everything else is touched by the log's owner only.
package final class LineChunk: @unchecked Sendable {
    let memory: UnsafeMutablePointer<UInt8>
    let capacity: Int
    /// The number of its first line.
    let firstSequence: Int
    /// Bytes that the log held in all before this chunk.
    let startOffset: Int
    fileprivate(set) var used = 0
    /// Where each line ends.
    fileprivate(set) var ends: [UInt32] = []
    /// When its last line was written.
    fileprivate(set) var newest: LoopInstant

    init(capacity: Int, firstSequence: Int, startOffset: Int, now: LoopInstant) {
        memory = .allocate(capacity: capacity)
        self.capacity = capacity
        self.firstSequence = firstSequence
        self.startOffset = startOffset
        newest = now
    }

    deinit { memory.deallocate() }

    /// The number behind its last line.
    var endSequence: Int { firstSequence + ends.count }

    /// What it costs in memory, in bytes.
    var cost: Int { capacity + ends.capacity * 4 + 128 }

    /// Where the line with this number starts.
    func start(of sequence: Int) -> Int {
        sequence == firstSequence ? 0 : Int(ends[sequence - firstSequence - 1])
    }
}

/// Whole lines with consecutive numbers, in the log's own memory: nothing was copied.
package struct LineSpan: Sendable {
    private let chunk: LineChunk
    private let range: Range<Int>
    /// The numbers of its first and last line.
    package let sequences: ClosedRange<Int>

    fileprivate init(chunk: LineChunk, range: Range<Int>, sequences: ClosedRange<Int>) {
        self.chunk = chunk
        self.range = range
        self.sequences = sequences
    }

    /// How many bytes of lines there are.
    package var count: Int { range.count }

    /// Lends the bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // In bounds: a span is only made of what was already written.
        try body(UnsafeRawBufferPointer(start: chunk.memory + range.lowerBound, count: range.count))
    }
}

/// The recent lines, numbered, encoded once, bounded by bytes and by age.
///
/// A reader is a sequence number; what it asks for comes as a span of the log's own memory. When the log has let go of
/// what a reader has not seen, it is told which numbers those were.
package struct LineLog: Sendable {
    /// What a reader gets.
    package enum Reading: Sendable {
        case lines(LineSpan)
        /// These numbers are gone; go on behind them.
        case gap(ClosedRange<Int>)
        /// There is nothing new yet.
        case nothing
    }

    /// How many bytes of memory the lines may take, their bookkeeping included.
    package let capacity: Int
    /// How long lines are kept, whatever room there is.
    package let history: Duration
    private let chunkSize: Int
    private var chunks: [LineChunk] = []
    /// The number the next line gets; numbers start at 1.
    package private(set) var nextSequence = 1
    /// Bytes of all lines ever written.
    package private(set) var totalBytes = 0
    private var cost = 0

    /// - Parameter capacity: at least 64 KiB.
    package init(capacity: Int = 8 << 20, history: Duration = .seconds(120)) {
        self.capacity = max(capacity, 1 << 16)
        self.history = history
        chunkSize = min(1 << 16, self.capacity / 8)
    }

    /// The number of the oldest line held; `nextSequence` when there is none.
    package var firstSequence: Int { chunks.first?.firstSequence ?? nextSequence }

    /// The memory it takes now, in bytes.
    package var memory: Int { cost }

    /// Appends one line that `encode` writes.
    ///
    /// - Parameters:
    ///   - most: the most bytes that `encode` can write.
    ///   - encode: gets the line's number and the memory, and returns the memory behind the line.
    package mutating func append(
        atMost most: Int, at now: LoopInstant, _ encode: (Int, LineWriter) -> LineWriter
    ) {
        let chunk: LineChunk
        if let last = chunks.last, last.capacity - last.used >= most {
            chunk = last
        } else {
            chunk = addChunk(atLeast: most, now)
        }
        let start = chunk.memory + chunk.used
        let end = encode(nextSequence, LineWriter(start)).next
        let length = end - start
        precondition(length <= most, "a line is longer than was reserved for it")
        chunk.used += length
        chunk.ends.append(UInt32(chunk.used))
        chunk.newest = now
        nextSequence += 1
        totalBytes += length
    }

    private mutating func addChunk(atLeast size: Int, _ now: LoopInstant) -> LineChunk {
        let chunk = LineChunk(
            capacity: max(chunkSize, size), firstSequence: nextSequence, startOffset: totalBytes, now: now)
        // A line of a feed is seldom shorter than this.
        chunk.ends.reserveCapacity(chunk.capacity / 128)
        chunks.append(chunk)
        cost += chunk.cost
        expire(at: now)
        return chunk
    }

    /// Lets go of what is too old or too much; the newest chunk stays unless it is too old.
    package mutating func expire(at now: LoopInstant) {
        var gone = 0
        while gone < chunks.count {
            let chunk = chunks[gone]
            let isTooMuch = cost > capacity && gone < chunks.count - 1
            guard isTooMuch || chunk.newest.duration(to: now) > history else { break }
            cost -= chunk.cost
            gone += 1
        }
        if gone > 0 { chunks.removeFirst(gone) }
    }

    /// The lines from number `sequence` on, up to the end of a chunk.
    package func read(from sequence: Int) -> Reading {
        let first = firstSequence
        if sequence < first { return .gap(sequence...(first - 1)) }
        if sequence >= nextSequence { return .nothing }
        let chunk = chunks[place(of: sequence)]
        let range = chunk.start(of: sequence)..<chunk.used
        return .lines(LineSpan(chunk: chunk, range: range, sequences: sequence...(chunk.endSequence - 1)))
    }

    /// How many bytes of lines a reader has before it, those it has lost included.
    package func bytesBehind(_ sequence: Int) -> Int {
        guard let first = chunks.first, sequence < nextSequence else { return 0 }
        guard sequence > first.firstSequence else { return totalBytes - first.startOffset }
        let chunk = chunks[place(of: sequence)]
        return totalBytes - chunk.startOffset - chunk.start(of: sequence)
    }

    /// Which chunk holds a line that is held.
    private func place(of sequence: Int) -> Int {
        var low = 0
        var high = chunks.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if chunks[middle].firstSequence <= sequence { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
