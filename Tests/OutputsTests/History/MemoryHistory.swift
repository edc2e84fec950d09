import Feed
import Journal
import Reactor

/// A journal in memory, with the order and the pages of a real one, and faults when asked for. Unchecked: used on one loop.
final class MemoryHistory: LineHistory, @unchecked Sendable {
    private struct Row {
        let place: JournalPlace
        let sequence: Int
        let time: Timestamp
        let bytes: [UInt8]
    }

    private var runs: [(run: JournalRun, stats: [UInt8]?)] = []
    private var rows: [Row] = []
    /// How many pages it gives before it fails; nil for all.
    var failsAfter: Int?
    private(set) var pages = 0
    /// The most bytes that were asked for at once.
    private(set) var mostBytes = 0

    /// Begins a run; what comes from now on is its.
    func begin(_ name: String, base: Int = 1, hello: [UInt8]? = nil, stats: [UInt8]? = nil) {
        let identity = AgentIdentity(run: name, version: "1", started: Timestamp(seconds: 0))
        let own = ControlLine.hello(
            time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
            history: .seconds(120), firstSequence: base, nextSequence: base)
        let number = Int64(runs.count + 1)
        runs.append((JournalRun(number: number, name: name, base: base, ended: nil, hello: hello ?? own), stats))
    }

    /// Keeps lines of the run that was begun last, as an agent of the type `fact` writes them, one a second from `time` on.
    func add(_ sequences: ClosedRange<Int>, from time: Timestamp = FeedStage.start, text: Int = 0) {
        for sequence in sequences {
            let moment = time + .seconds(sequence - sequences.lowerBound)
            add(Self.line(sequence, moment, text: text), sequence, moment)
        }
    }

    /// Keeps a `gap`.
    func addGap(_ missing: ClosedRange<Int>) {
        let line = ControlLine.gap(time: FeedStage.start, missing: missing, reason: "slow_reader")
        add(Array(line.dropLast()), missing.lowerBound, FeedStage.start)
    }

    func add(_ bytes: [UInt8], _ sequence: Int, _ time: Timestamp) {
        let run = runs[runs.count - 1].run
        let place = JournalPlace(id: run.number << 36 | Int64(sequence - run.base))
        rows.append(Row(place: place, sequence: sequence, time: time, bytes: bytes + [0x0A]))
    }

    /// Keeps whole lines that somebody has got, with their numbers.
    func keep(_ lines: [(number: Int, bytes: [UInt8])]) {
        for line in lines { add(line.bytes, line.number, FeedStage.start) }
    }

    /// Lets go of the oldest.
    func drop(_ count: Int) { rows.removeFirst(count) }

    static func line(_ sequence: Int, _ time: Timestamp, type: String = "fact", text: Int = 0) -> [UInt8] {
        var bytes = Array("{\"seq\":\(sequence),\"time\":".utf8)
        var stamp = TimestampText()
        bytes += LineWriter.bytes(atMost: 64) { stamp.write(time, to: &$0) }
        let text = text > 0 ? ",\"text\":\"\(String(repeating: "a", count: text))\"" : ""
        bytes += Array(",\"type\":\"\(type)\",\"source\":\"fact\",\"series\":\"fact\",\"value\":1\(text)}".utf8)
        return bytes
    }

    private func fail() throws(JournalFault) {
        if let failsAfter, pages >= failsAfter { throw JournalFault(.disk, "no disk") }
    }

    func place(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? {
        try fail()
        guard let found = runs.last(where: { $0.run.name == run && $0.run.base <= sequence })?.run else {
            return runs.first { $0.run.name == run }.map { JournalPlace(id: $0.run.number << 36) }
        }
        return JournalPlace(id: found.number << 36 | min(Int64(sequence) - Int64(found.base), 1 << 36 - 1))
    }

    func page(_ query: JournalQuery, behind place: JournalPlace?, bytes: Int) throws(JournalFault) -> JournalPage? {
        try fail()
        pages += 1
        mostBytes = max(mostBytes, bytes)
        // Rows are in the order of their places.
        let end = place.map { place in partition { query.isReversed ? $0 >= place : $0 > place } }
        let indices =
            query.isReversed
            ? AnyBidirectionalCollection((0..<(end ?? rows.count)).reversed())
            : AnyBidirectionalCollection((end ?? 0)..<rows.count)
        var page: JournalPage?
        for index in indices {
            let row = rows[index]
            if let from = query.from, row.time < from { continue }
            if let until = query.until, row.time >= until { continue }
            let number = row.place.id >> 36
            if let page, page.run.number != number || page.lines.count >= bytes { break }
            let (run, stats) = runs[Int(number) - 1]
            let known = page?.sequences ?? row.sequence...row.sequence
            let lines = (page.take()?.lines ?? []) + row.bytes
            page = JournalPage(
                run: run, stats: stats, lines: lines, last: row.place,
                sequences: min(known.lowerBound, row.sequence)...max(known.upperBound, row.sequence))
        }
        return page
    }

    /// Where the first row is whose place is as asked for, as all behind it are.
    private func partition(_ isBehind: (JournalPlace) -> Bool) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(rows[middle].place) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
