/// What a reader knows of the series of one run: everything but lines that it has missed, and did not get as kept ones.
struct SeriesKnowledge {
    /// Lines that were there before the reader came, or were written while it was away.
    private var absent: [ClosedRange<Int>] = []
    /// Lines that it was too slow for.
    private var overtaken: [ClosedRange<Int>] = []
    private var kept: Set<Int> = []
    /// The first line that its connection has.
    private var first: Int

    /// Of a reader that comes, and knows nothing yet.
    init(from first: Int) {
        self.first = first
        if first > 1 { absent = [1...first - 1] }
    }

    /// The reader comes back.
    mutating func resume(at first: Int) { self.first = first }

    /// The reader gets a `gap`.
    ///
    /// - Parameter isOld: whether the lines are missing in what it had asked for, however fast it reads.
    mutating func miss(_ lines: ClosedRange<Int>, isOld: Bool) {
        if isOld { return absent.append(lines) }
        if lines.lowerBound < first { absent.append(lines.lowerBound...min(lines.upperBound, first - 1)) }
        if lines.upperBound >= first { overtaken.append(max(lines.lowerBound, first)...lines.upperBound) }
    }

    mutating func keep(_ sequence: Int) { kept.insert(sequence) }

    /// A series that it does not know, although its newest line comes before those that it waits for; nil for none.
    ///
    /// - Parameter isWatched: whether there may be more of a source.
    func unknown(of record: FeedRecord, before next: Int, where isWatched: (String) -> Bool) -> String? {
        let unknown = record.newest.filter { _, newest in
            let sequence = newest.sequence
            return sequence < next && absent.contains { $0.contains(sequence) } && !kept.contains(sequence)
                && !overtaken.contains { $0.contains(sequence) } && isWatched(newest.source)
        }
        return unknown.min { $0.value.sequence < $1.value.sequence }
            .map { "\($0.key), of which \($0.value.sequence) is the newest line" }
    }
}
