import Feed
import Reactor

/// What comes of one connection that has asked for the lines of some time: all that there are, once, in order, whole, and nothing
/// besides; then the end.
final class TimeWitness {
    let from: Timestamp
    let until: Timestamp
    private let isEvents: Bool
    /// What was there when it asked.
    private var wanted: [String: Set<Int>] = [:]
    /// Whether a line is still in the journal, or in the log.
    private let isKept: (Int, String) -> Bool
    private let isHeld: (Int, String) -> Bool
    private let accuse: (String) -> Void
    private var cutter = LineCutter()
    private var events = EventCutter()
    private var greetings = 0
    /// Whose lines come, and the number that the next one has at least.
    private var place: LineID?
    private var runs: [String] = []
    private(set) var lines = 0
    private(set) var isOver = false

    init(
        _ name: String, isEvents: Bool, from: Timestamp, until: Timestamp, wanted: [LineID],
        isKept: @escaping (Int, String) -> Bool, isHeld: @escaping (Int, String) -> Bool,
        accuse: @escaping (String) -> Void
    ) {
        (self.from, self.until, self.isEvents, self.isKept, self.isHeld) = (from, until, isEvents, isKept, isHeld)
        self.accuse = { accuse("\(name), who asks for some time: \($0)") }
        for place in wanted { self.wanted[place.run, default: []].insert(place.sequence) }
    }

    func take(_ bytes: UnsafeRawBufferPointer, _ records: [String: FeedRecord]) {
        if isEvents {
            events.push(bytes) { line, _ in
                take(line, records)
            } refuse: {
                accuse("gets what is no event: \($0)")
            }
        } else {
            cutter.push(bytes) { take($0, records) }
        }
    }

    private func take(_ line: LineScan, _ records: [String: FeedRecord]) {
        if isOver { return accuse("gets something behind the end: \(line.text)") }
        if line.begins("{\"type\":\"hello\"") {
            greetings += 1
            // The first one of a socket's comes before it is asked.
            guard isEvents || greetings > 1 else { return }
            if !line.has("\"filtered\":true") { accuse("is greeted as if it got everything: \(line.text)") }
            guard let run = line.text("\"run\":\""), run != place?.run else { return }
            if runs.contains(run) { accuse("gets \(run) once more") }
            runs.append(run)
            place = LineID(run, 1)
        } else if let sequence = line.sequence {
            guard let place else { return accuse("gets a line before hello: \(line.text)") }
            lines += 1
            if sequence < place.sequence { accuse("gets \(sequence) behind \(place.sequence - 1)") }
            self.place = LineID(place.run, sequence + 1)
            wanted[place.run]?.remove(sequence)
            if let record = records[place.run], record.last >= sequence, !record.matches(line.line, sequence) {
                accuse("gets another line \(sequence): \(line.text)")
            }
            if let time = line.time("\"time\":\""), time < from || time >= until {
                accuse("gets a line of another time: \(line.text)")
            }
        } else if line.begins("{\"type\":\"gap\"") {
            guard let place, let first = line.integer("\"from\":"), let last = line.integer("\"to\":"), first <= last
            else { return accuse("gets a gap of nothing: \(line.text)") }
            if first < place.sequence { accuse("gets a gap behind \(place.sequence - 1): \(line.text)") }
            // What the log has let go of may have come to the journal since.
            let isThere = line.has("\"reason\":\"journal\"") ? isKept : isHeld
            if let there = (wanted[place.run] ?? []).filter({ first...last ~= $0 && isThere($0, place.run) }).min() {
                accuse("misses \(first) to \(last), and \(there) is there")
            }
            wanted[place.run]?.subtract(first...last)
            self.place = LineID(place.run, last + 1)
        } else if line.begins("{\"type\":\"error\"") {
            // A journal that cannot be read: what came is not said to be all.
            if !line.has("\"code\":\"disk\"") { accuse("is refused: \(line.text)") }
            isOver = true
        } else if line.begins("{\"type\":\"bye\"") {
            isOver = true
            guard line.has("\"reason\":\"until\"") else { return }
            for (run, numbers) in wanted.sorted(by: { $0.key < $1.key }) {
                let missing = numbers.filter { isKept($0, run) || isHeld($0, run) }
                if let first = missing.min() {
                    accuse("gets nothing of \(first) and \(missing.count - 1) more of \(run)")
                }
            }
        }
    }
}
