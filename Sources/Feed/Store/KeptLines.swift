/// The newest line of each series: its number while the log has it, and the line itself once the log has let it go.
///
/// The series are linked in the order of their newest lines, so a line costs a few stores, and the series whose line the
/// log lets go of are always the first that are not kept yet.
struct KeptLines: Sendable {
    private struct Entry {
        /// The number of its newest line; 0 for none. A foreign line has that of the kept line before it, or −1.
        var sequence = 0
        /// The series before and after it in the order; −1 for none.
        var older: Int32 = -1
        var newer: Int32 = -1
        /// Whether the line is in `lines`.
        var isKept = false
    }

    /// The ends of the order; −1 for none.
    private struct Ends {
        var oldest: Int32 = -1
        var newest: Int32 = -1

        // In bounds: entries name each other, and are never removed.

        /// Takes a series out of the order.
        @inline(__always)
        mutating func unlink(_ entry: Entry, in entries: UnsafeMutableBufferPointer<Entry>) {
            if entry.older >= 0 { entries[Int(entry.older)].newer = entry.newer } else { oldest = entry.newer }
            if entry.newer >= 0 { entries[Int(entry.newer)].older = entry.older } else { newest = entry.older }
        }

        /// Puts a series into the order, behind another one or before all of them (−1).
        @inline(__always)
        mutating func link(
            _ series: Int32, behind older: Int32, _ sequence: Int, in entries: UnsafeMutableBufferPointer<Entry>
        ) {
            let newer = older >= 0 ? entries[Int(older)].newer : oldest
            entries[Int(series)] = Entry(sequence: sequence, older: older, newer: newer)
            if older >= 0 { entries[Int(older)].newer = series } else { oldest = series }
            if newer >= 0 { entries[Int(newer)].older = series } else { newest = series }
        }
    }

    private struct Kept {
        var line: [UInt8]
        /// Its number among all foreign lines; nil for a line with a number here.
        var arrival: Int?
    }

    /// A line of an agent of a fleet, or of an earlier run, that came as a kept one, and so has no number here.
    private struct Arrival {
        let series: Int32
        /// Its number among all foreign lines.
        let number: Int
        /// The number of the line that came next.
        let next: Int
    }

    // Bound: newest lines of series no longer in the log | 8 MiB (`--kept-bytes`) | oldest dropped, counted in
    //   `kept_dropped`
    /// The most bytes of kept lines, with `overhead` for each.
    let capacity: Int
    /// The bookkeeping for a kept line, in bytes.
    static let overhead = 128

    private var entries: [Entry] = []
    private var ends = Ends()
    /// The first series in the order whose newest line the log still has; −1 for none.
    private var firstInLog: Int32 = -1
    /// The kept lines, by series.
    private var lines: [Int32: Kept] = [:]
    // Bound: replaced kept lines of other agents | as many as current ones, and 64 | removed
    /// The foreign lines in their order, and some that are gone.
    private var arrivals: [Arrival] = []
    /// The number of elements at which to remove those that are gone.
    private var mostArrivals = 64
    /// The number of the next foreign line.
    private(set) var nextArrival = 0
    /// The memory of the kept lines, in bytes.
    private(set) var bytes = 0
    /// The agents that the series belong to, by series, and how many bytes each has here; empty without agents of a fleet.
    private var owners: [Int32] = []
    private var shares: [Int32: Int] = [:]
    /// The number of kept lines that were dropped because there were too many.
    private(set) var dropped = 0

    init(capacity: Int) { self.capacity = capacity }

    /// The number of kept lines.
    var count: Int { lines.count }

    /// The number of a series' newest line; 0 for none, and for a line without a number here.
    func newest(of series: Int) -> Int {
        guard series < entries.count else { return 0 }
        if entries[series].isKept, lines[Int32(truncatingIfNeeded: series)]?.arrival != nil { return 0 }
        return entries[series].sequence
    }

    /// Sets the agent of a fleet that a new series belongs to; −1 for none.
    mutating func setOwner(_ owner: Int32, of series: Int) {
        guard owner >= 0 || !owners.isEmpty else { return }
        if series >= owners.count { owners.append(contentsOf: repeatElement(-1, count: series - owners.count + 1)) }
        if owner >= 0, shares.isEmpty { shares[-1] = bytes }
        owners[series] = owner
    }

    private func owner(of series: Int32) -> Int32 { Int(series) < owners.count ? owners[Int(series)] : -1 }

    private mutating func count(_ bytes: Int, of series: Int32) {
        self.bytes += bytes
        if !owners.isEmpty { shares[owner(of: series), default: 0] += bytes }
    }

    /// Records that line `sequence`, which the log gets next, is a series' newest.
    @inline(__always)
    mutating func mark(_ series: Int, sequence: Int) {
        // While the log has a newest line, it has that of the last series.
        if series == Int(ends.newest), firstInLog >= 0 {
            entries[series].sequence = sequence
        } else {
            moveToEnd(series, sequence)
        }
    }

    @inline(never)
    private mutating func moveToEnd(_ series: Int, _ sequence: Int) {
        reserve(series)
        let index = Int32(truncatingIfNeeded: series)
        dropLine(of: index)
        entries.withUnsafeMutableBufferPointer { entries in
            if entries[series].sequence != 0 { ends.unlink(entries[series], in: entries) }
            ends.link(index, behind: ends.newest, sequence, in: entries)
        }
        if firstInLog < 0 { firstInLog = index }
    }

    private mutating func reserve(_ series: Int) {
        guard series >= entries.count else { return }
        entries.append(contentsOf: repeatElement(Entry(), count: series - entries.count + 1))
    }

    /// Forgets a series.
    mutating func remove(_ series: Int) {
        guard series < entries.count, entries[series].sequence != 0 else { return }
        dropLine(of: Int32(series))
        entries.withUnsafeMutableBufferPointer { ends.unlink($0[series], in: $0) }
        entries[series] = Entry()
    }

    /// Lets go of a series' line, which is not its newest any more.
    @inline(__always)
    private mutating func dropLine(of series: Int32) {
        let entry = entries[Int(series)]
        if firstInLog == series { firstInLog = entry.newer }
        guard entry.isKept, let kept = lines.removeValue(forKey: series) else { return }
        count(-kept.line.count - Self.overhead, of: series)
    }

    private mutating func link(_ series: Int32, behind older: Int32, _ sequence: Int) {
        entries.withUnsafeMutableBufferPointer { ends.link(series, behind: older, sequence, in: $0) }
    }

    /// Keeps the series' newest lines that the log lets go of now.
    ///
    /// - Parameters:
    ///   - end: the first number that the log still has.
    ///   - line: returns the line with a number below `end`, without its newline.
    mutating func keep(before end: Int, line: (Int) -> [UInt8]) {
        while firstInLog >= 0, entries[Int(firstInLog)].sequence < end {
            let series = firstInLog
            firstInLog = entries[Int(series)].newer
            store(LineMending.nestable(line(entries[Int(series)].sequence)), of: series)
        }
    }

    /// Whether another agent's kept line may be kept: those come by ascending number.
    ///
    /// - Parameter end: the first number that the log has.
    func accepts(_ sequence: Int, before end: Int) -> Bool {
        let last = lastKept
        return sequence < end && sequence > (last >= 0 ? max(0, entries[Int(last)].sequence) : 0)
    }

    /// The last series in the order whose line is kept; −1 for none.
    private var lastKept: Int32 { firstInLog >= 0 ? entries[Int(firstInLog)].older : ends.newest }

    /// The number of the newest line below `end` whose series fulfils a condition; foreign lines have none.
    func newest(before end: Int, where isWanted: (_ series: Int, _ sequence: Int) -> Bool) -> Int? {
        var index = firstInLog >= 0 && entries[Int(firstInLog)].sequence >= end ? lastKept : ends.newest
        while index >= 0 {
            let entry = entries[Int(index)]
            if entry.sequence < end, lines[index]?.arrival == nil, isWanted(Int(index), entry.sequence) {
                return entry.sequence
            }
            index = entry.older
        }
        return nil
    }

    /// Keeps another agent's kept line if it is acceptable and its series' newest.
    ///
    /// - Returns: whether it is kept.
    mutating func add(_ line: [UInt8], of series: Int, sequence: Int, before end: Int) -> Bool {
        guard accepts(sequence, before: end) else { return false }
        let last = lastKept
        reserve(series)
        // Its newest line may be in the log already.
        guard sequence > entries[series].sequence else { return false }
        let older = last == Int32(series) ? entries[series].older : last
        remove(series)
        link(Int32(series), behind: older, sequence)
        store(line, of: Int32(series))
        return lines[Int32(series)] != nil
    }

    /// Keeps a line that has no number here as its series' newest.
    ///
    /// - Parameter next: the number of the line that the log gets next.
    /// - Returns: whether there is room for it.
    mutating func add(foreign line: [UInt8], of series: Int, next: Int) -> Bool {
        remove(series)
        reserve(series)
        let last = lastKept
        let index = Int32(truncatingIfNeeded: series)
        link(index, behind: last, last >= 0 ? entries[Int(last)].sequence : -1)
        if arrivals.count >= mostArrivals {
            arrivals.removeAll { lines[$0.series]?.arrival != $0.number }
            mostArrivals = 2 * arrivals.count + 64
        }
        arrivals.append(Arrival(series: index, number: nextArrival, next: next))
        nextArrival += 1
        store(line, of: index, arrival: nextArrival - 1)
        return lines[index] != nil
    }

    /// The first foreign line that came after a numbered line; the next one if there is none.
    func arrival(after sequence: Int) -> Int { arrivals.first { $0.next > sequence }?.number ?? nextArrival }

    /// Calls `body` with the foreign lines from a number on, in their order, until it returns false.
    func forEachArrival(from number: Int, _ body: (_ arrival: Int, _ series: Int, _ line: [UInt8]) -> Bool) {
        let start = arrivals.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
        for arrival in arrivals[start...] {
            guard let kept = lines[arrival.series], kept.arrival == arrival.number else { continue }
            if !body(arrival.number, Int(arrival.series), kept.line) { return }
        }
    }

    private mutating func store(_ line: [UInt8]?, of series: Int32, arrival: Int? = nil) {
        guard let line else { return remove(Int(series)) }
        lines[series] = Kept(line: line, arrival: arrival)
        entries[Int(series)].isKept = true
        count(line.count + Self.overhead, of: series)
        if owners.isEmpty {
            while bytes > capacity, ends.oldest != firstInLog {
                dropped += 1
                remove(Int(ends.oldest))
            }
        } else if bytes > capacity {
            dropOldest(downTo: capacity - capacity / 16)
        }
    }

    /// Drops the oldest lines of those agents of a fleet that have more bytes than the others leave to each.
    private mutating func dropOldest(downTo most: Int) {
        var (rest, share, others) = (most, most, shares.count)
        for bytes in shares.values.sorted() {
            share = rest / others
            if bytes > share { break }
            (rest, others) = (rest - bytes, others - 1)
        }
        var index = ends.oldest
        while index >= 0, index != firstInLog {
            let next = entries[Int(index)].newer
            if shares[owner(of: index)] ?? 0 > share {
                dropped += 1
                remove(Int(index))
            }
            index = next
        }
    }

    /// A series' newest line, if it is kept.
    func line(of series: Int) -> [UInt8]? { lines[Int32(truncatingIfNeeded: series)]?.line }

    /// Calls `body` with the series whose newest lines have numbers in a range, by ascending number, until it returns
    /// false; not with foreign lines.
    ///
    /// - Parameters:
    ///   - start: the series with the first of these numbers, if known.
    ///   - body: gets the line as well if it is kept here.
    func forEach(
        in numbers: Range<Int>, from start: Int?, _ body: (_ series: Int, _ sequence: Int, _ line: [UInt8]?) -> Bool
    ) {
        var index = ends.oldest
        // It may have got a newer line meanwhile.
        if let start, newest(of: start) == numbers.lowerBound { index = Int32(start) }
        while index >= 0, entries[Int(index)].sequence < numbers.upperBound {
            let entry = entries[Int(index)]
            let kept = lines[index]
            if kept?.arrival == nil, entry.sequence >= numbers.lowerBound,
                !body(Int(index), entry.sequence, kept?.line)
            {
                return
            }
            index = entry.newer
        }
    }

    /// The series with the oldest newest lines that fulfil a condition, at most `most`.
    func oldest(atMost most: Int, where isWanted: (Int) -> Bool) -> Set<Int> {
        var found: Set<Int> = []
        var index = ends.oldest
        while index >= 0, found.count < most {
            if isWanted(Int(index)) { found.insert(Int(index)) }
            index = entries[Int(index)].newer
        }
        return found
    }
}
