package import Reactor

/// A piece of the log: whole encoded lines, one behind the other, in memory that is only ever appended to.
///
/// Unchecked: bytes below `used` never change again, and whoever reads them elsewhere got the span by a hand-over that
/// orders memory. Everything else is touched by the log's owner only.
package final class LineChunk: @unchecked Sendable {
    /// Plain memory, so that the log can append through a pointer to it without counting references.
    struct Header {
        let memory: UnsafeMutablePointer<UInt8>
        let capacity: Int
        /// Where each line ends.
        let ends: UnsafeMutablePointer<UInt32>
        let maximumLines: Int
        /// The number of its first line.
        var firstSequence: Int
        /// What all chunks before this one cost.
        var startCost: Int
        var used = 0
        var lines = 0
        /// When its last line was written.
        var newest: LoopInstant
    }

    /// Lines are seldom shorter than this; when they are, a chunk is full by their number.
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

    /// Empties it for other lines; nobody else may have it.
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

    /// The number behind its last line.
    var endSequence: Int { header.pointee.firstSequence + header.pointee.lines }

    /// What it costs in memory, in bytes.
    var cost: Int { header.pointee.capacity + header.pointee.maximumLines * 4 + 192 }

    /// Where the line with this number starts.
    func start(of sequence: Int) -> Int {
        sequence == firstSequence ? 0 : Int(header.pointee.ends[sequence - firstSequence - 1])
    }
}

/// Whole lines with consecutive numbers, in the log's own memory: nothing was copied.
///
/// Unchecked: `start` leads into the chunk that travels with it, to bytes that never change again. The chunk's header
/// does change meanwhile, so a span on another thread must not look there.
package struct LineSpan: @unchecked Sendable {
    private let chunk: LineChunk
    private let start: UnsafePointer<UInt8>
    /// How many bytes of lines there are.
    package let count: Int
    /// The numbers of its first and last line.
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
        // In bounds: a span is only made of what was already written.
        defer { withExtendedLifetime(chunk) {} }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// The recent lines, numbered, encoded once, bounded by bytes and by age.
///
/// A reader is a sequence number; what it asks for comes as a span of the log's own memory. When the log has let go of
/// what a reader has not seen, it is told which numbers those were.
package struct LineLog: ~Copyable, @unchecked Sendable {  // `tail` points into `chunks`, which travel with it
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
    /// The last of `chunks`, which keeps it alive.
    private var tail: UnsafeMutablePointer<LineChunk.Header>?
    /// The number the next line gets; numbers start at 1.
    package private(set) var nextSequence = 1
    /// Lines from this number on are not let go for their age, nor for one long line: a reader that must get everything has
    /// not seen them.
    package var heldFrom = Int.max
    private var cost = 0
    /// What all chunks ever made cost, in bytes: by how much that grows is what lines take of the log.
    private(set) var totalCost = 0

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
        // In bounds: there is room for one more line, which was looked at above.
        chunk.pointee.ends[chunk.pointee.lines] = UInt32(truncatingIfNeeded: chunk.pointee.used)
        chunk.pointee.lines += 1
        chunk.pointee.newest = now
        nextSequence += 1
    }

    /// Leaves out the numbers up to `sequence`, which the next line gets: a reader is told of them as of any that are gone.
    package mutating func skip(to sequence: Int) {
        precondition(sequence >= nextSequence, "numbers go up")
        nextSequence = sequence
        tail = nil  // lines of a chunk have consecutive numbers
    }

    /// Lets go of everything and begins again at a number: another run.
    package mutating func restart(at sequence: Int) {
        chunks.removeAll()
        tail = nil
        cost = 0
        nextSequence = sequence
    }

    @inline(never)
    private mutating func addChunk(atLeast size: Int, _ now: LoopInstant) -> UnsafeMutablePointer<LineChunk.Header> {
        let chunk: LineChunk
        if let oldest = takeOldest(insteadOf: size) {
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

    /// Lets go of the oldest chunk when another one would be too much, and gives it away when nobody reads it: a full log
    /// that is written to without pause costs the allocator, and the kernel's zeroing of pages, nothing.
    private mutating func takeOldest(insteadOf size: Int) -> LineChunk? {
        guard size <= chunkSize, chunks.count > 1, chunks[0].header.pointee.capacity == chunkSize,
            isTooMuch(0, besides: chunks[0].cost)
        else { return nil }
        var oldest = chunks.removeFirst()
        cost -= oldest.cost
        return isKnownUniquelyReferenced(&oldest) ? oldest : nil
    }

    /// Lets go of what is too old (and not held) or too much; the newest chunk stays unless it is too old.
    package mutating func expire(at now: LoopInstant) {
        var gone = 0
        while gone < chunks.count {
            let chunk = chunks[gone]
            let isTooMuch = gone < chunks.count - 1 && isTooMuch(gone)
            let isTooOld = chunk.header.pointee.newest.duration(to: now) > history && chunk.endSequence <= heldFrom
            guard isTooMuch || isTooOld else { break }
            cost -= chunk.cost
            gone += 1
        }
        guard gone > 0 else { return }
        chunks.removeFirst(gone)
        if chunks.isEmpty { tail = nil }
    }

    /// Whether there is no room for the chunk at `place`, with those before it gone, when the log gets so many bytes more.
    ///
    /// A line that has a chunk of its own does not push out what is held: it may be as long as the log.
    private func isTooMuch(_ place: Int, besides more: Int = 0) -> Bool {
        guard cost + more > capacity else { return false }
        guard chunks[place].endSequence > heldFrom else { return true }
        var longest = 0
        for chunk in chunks[place...] where chunk.header.pointee.capacity > chunkSize {
            longest = max(longest, chunk.cost)
        }
        return cost + more - longest > capacity
    }

    /// The lines from number `sequence` on, up to the end of a chunk.
    package func read(from sequence: Int) -> Reading {
        let first = firstSequence
        if sequence < first { return .gap(sequence...(first - 1)) }
        if sequence >= nextSequence { return .nothing }
        if chunks.isEmpty { return .gap(sequence...(nextSequence - 1)) }
        let place = place(of: sequence)
        let chunk = chunks[place]
        if sequence >= chunk.endSequence {  // left out
            let next = place + 1 < chunks.count ? chunks[place + 1].firstSequence : nextSequence
            return .gap(sequence...(next - 1))
        }
        let range = chunk.start(of: sequence)..<chunk.header.pointee.used
        return .lines(LineSpan(chunk: chunk, range: range, sequences: sequence...(chunk.endSequence - 1)))
    }

    /// How much of the log's memory, in bytes, holds the lines from number `sequence` on: all of it when they are gone.
    ///
    /// Memory and not bytes of lines, since it is memory that runs out: lines that reserve much and need little fill a
    /// log with less than half its capacity in bytes.
    package func memoryBehind(_ sequence: Int) -> Int {
        guard sequence < nextSequence else { return 0 }
        guard sequence > firstSequence, !chunks.isEmpty else { return cost }
        return totalCost - chunks[place(of: sequence)].header.pointee.startCost
    }

    /// The number of the line that the byte lies in which is `bytes` before the line `sequence`.
    ///
    /// - Returns: that number, or the oldest held and `isWhole` false when the log does not reach back so far.
    package func line(_ bytes: Int, before sequence: Int) -> (sequence: Int, isWhole: Bool) {
        guard bytes > 0, sequence > firstSequence, !chunks.isEmpty else { return (sequence, bytes <= 0) }
        var place = place(of: sequence)
        var left = bytes
        var end =
            sequence >= chunks[place].endSequence
            ? chunks[place].header.pointee.used : chunks[place].start(of: sequence)
        while left > end {
            left -= end
            guard place > 0 else { return (firstSequence, false) }
            place -= 1
            end = chunks[place].header.pointee.used
        }
        let offset = end - left
        let header = chunks[place].header
        var low = 0
        var high = header.pointee.lines - 1
        while low < high {  // the first line that ends behind the offset
            let middle = (low + high) / 2
            if Int(header.pointee.ends[middle]) > offset { high = middle } else { low = middle + 1 }
        }
        return (chunks[place].firstSequence + low, true)
    }

    /// Which chunk holds a line that is held.
    private func place(of sequence: Int) -> Int {
        var high = chunks.count - 1
        // Nearly all who ask are at the end.
        var low = chunks[high].firstSequence <= sequence ? high : 0
        while low < high {
            let middle = (low + high + 1) / 2
            if chunks[middle].firstSequence <= sequence { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
