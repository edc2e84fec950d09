import Feed
import Glibc

/// What one reader sees: whole lines of a run, one behind the other, or a `gap` that names exactly what is missing; across
/// connections too, and over from one run to the next.
final class ReaderWitness {
    enum Kind {
        /// Asks where to go on, once it is connected.
        case socket
        /// The same by HTTP: with the connection, behind the last line that it has.
        case events
        /// Goes on behind the last line, whoever writes it.
        case file
        /// May get again what it has, after a new connection.
        case push
    }

    /// Where a connection is with what was asked for.
    private enum Phase {
        case beginning
        /// What was asked for has still to come: lines until then are judged by themselves.
        case early(LineID)
        case reading
    }

    let name: String
    let kind: Kind
    /// The oldest line of a run that there still is in the log, if that can be known.
    var oldest: ((String) -> Int?)?
    /// What of the journal has been left out between two places.
    var leftOut: ((LineID, LineID) -> String?)?
    /// A line that the journal has, of those that it is said not to have.
    var kept: ((ClosedRange<Int>, String) -> Int?)?
    /// What is there when a connection begins: sources that the agent has forgotten, and how many values each window has
    /// that a reader must get which comes now, by series and start.
    var before: (() -> (forgotten: Set<String>, windows: [String: [Int64: Int]]))?
    private var forgotten: Set<String> = []
    /// Those windows, until it has them.
    var owedWindows: [String: [Int64: Int]] = [:]
    /// Whether it reads at once, so that it misses only what it has to.
    var isPrompt = false
    /// Says what is wrong.
    private let accuse: (String) -> Void
    private var cutter = LineCutter()
    private var events = EventCutter()
    private var phase = Phase.beginning
    /// The line that comes next.
    private(set) var place: LineID?
    /// What may come instead.
    private var other: Int?
    /// Behind which line events are asked for.
    private var lastEvent: LineID?
    private(set) var hasAsked = false
    private var mayRepeat = false
    private var owesStats = false
    /// The number of the last kept line of the connection.
    private var lastKept = 0
    /// What it knows of the run that it is in.
    private var knowledge = SeriesKnowledge(from: 1)
    /// Whether it has got all kept lines of the run that there were when it came: when there are others.
    private var hasKept = false
    private(set) var keptLines = 0
    private(set) var keptWindows = 0
    /// The `bye` that it has got.
    private(set) var isOver = false
    /// Whether it was told why it is not let in.
    private(set) var isRefused = false
    private(set) var gaps = 0
    /// How often it was told that the journal could not be read.
    private(set) var warnings = 0
    private(set) var resumed = 0
    /// How often it went over from one run to another.
    private(set) var crossings = 0
    private(set) var lines = 0
    /// The last lines without a number, each with the place that it came at.
    private var story: [String] = []
    /// Lines that were not known yet when they came.
    private var unknown: [(sequence: Int, run: String, bytes: [UInt8])] = []

    init(_ name: String, _ kind: Kind, accuse: @escaping (String) -> Void) {
        (self.name, self.kind) = (name, kind)
        self.accuse = { accuse("\(name): \($0)") }
    }

    /// Whose lines come, and the number that the next one must have.
    var run: String? { place?.run }
    var next: Int { place?.sequence ?? 1 }

    /// A connection begins.
    func connect() {
        cutter.removeAll()
        events = EventCutter()
        (phase, hasAsked, owesStats, isOver, mayRepeat, isRefused) = (.beginning, false, false, false, false, false)
        (forgotten, owedWindows) = before?() ?? ([], [:])
    }

    /// It asks for what follows the last line that it has.
    func ask() -> LineID? {
        if kind == .events {
            // A browser knows no more than the id of the last event that had one.
            guard let lastEvent else { return nil }
            place = lastEvent
        }
        // Without them, it must ask for everything.
        guard let place, hasKept else { return nil }
        hasAsked = true
        owedWindows = [:]
        return LineID(place.run, place.sequence - 1)
    }

    /// Whether the connection has begun with a `hello`.
    var isGreeted: Bool { if case .beginning = phase { false } else { true } }

    /// Whether it waits for what it has asked for, which may be on a disk.
    var isAsking: Bool { if case .reading = phase { false } else { hasAsked } }

    /// It must know all series that are still watched.
    func checkSeries(_ records: [String: FeedRecord], where isWatched: (String) -> Bool) {
        guard hasKept, let place, let record = records[place.run],
            let unknown = knowledge.unknown(of: record, before: place.sequence, where: isWatched)
        else { return }
        accuse("does not know \(unknown), and waits for \(place.sequence) of \(place.run)")
    }

    /// The connection has ended.
    ///
    /// - Parameter mayCut: whether the last line may be without its end.
    func disconnect(mayCut: Bool) {
        if !mayCut, cutter.rest > 0 || events.rest > 0 { accuse("was cut in the middle of a line") }
        cutter.removeAll()
        events = EventCutter()
    }

    func take(_ bytes: UnsafeRawBufferPointer, _ records: [String: FeedRecord]) {
        guard kind == .events else { return cutter.push(bytes) { take($0, records) } }
        var events = self.events
        events.push(bytes) { line, id in
            take(line, records)
            let number = line.sequence.flatMap { sequence in run.map { "\($0)-\(sequence)" } }
            if id != number { accuse("has the id \(id ?? "none") for \(number ?? "a line without a number")") }
            if number != nil { lastEvent = place }
        } refuse: {
            accuse("gets what is no event: \($0.prefix(200))")
        }
        self.events = events
    }

    /// Looks at what was not known yet; what became of a run that is over may never be known.
    func settle(_ records: [String: FeedRecord]) {
        for line in unknown {
            guard let record = records[line.run], record.last >= line.sequence else { continue }
            line.bytes.withUnsafeBytes { compare($0, line.sequence, record) }
        }
        unknown.removeAll { records[$0.run].map { $0.last } ?? 0 >= $0.sequence }
    }

    private func take(_ line: LineScan, _ records: [String: FeedRecord]) {
        lines += 1
        if isOver, kind != .file { return accuse("gets something behind the end: \(line.text)") }
        if owesStats != line.begins("{\"type\":\"stats\"") {
            return accuse(owesStats ? "gets no stats behind hello: \(line.text)" : "gets stats out of place")
        }
        owesStats = false
        if line.sequence == nil, !line.begins("{\"type\":\"stats\"") {
            if story.count == 8 { story.removeFirst() }
            story.append("\(place.map { "\($0.run)-\($0.sequence)" } ?? "-"): \(line.text.prefix(400))")
        }
        if let sequence = line.sequence {
            guard let run = current?.run else { return accuse("gets a line before hello") }
            advance(from: sequence, to: sequence, line)
            if sequence <= lastKept { accuse("gets \(sequence) behind the kept line \(lastKept)") }
            if let record = records[run], record.last >= sequence {
                compare(line.line, sequence, record)
            } else {
                unknown.append((sequence, run, Array(line.line)))
            }
        } else if line.begins("{\"type\":\"hello\"") {
            greet(line)
        } else if line.begins("{\"type\":\"kept\"") {
            takeKept(line, records)
        } else if line.begins("{\"type\":\"gap\"") {
            takeGap(line)
        } else if line.begins("{\"type\":\"bye\"") {
            isOver = true
            let last = line.integer("\"last_seq\":")
            if let place = current, last != place.sequence - 1, last.map({ $0 + 1 }) != other {
                accuse("ends before \(place.sequence) with last_seq \(last ?? -1)")
            }
        } else if line.begins("{\"type\":\"error\"") {
            if line.has("\"code\":\"disk\"") { warnings += 1 } else { isRefused = true }
        } else if !line.begins("{\"type\":\"stats\"") {
            accuse("gets no line: \(line.text.prefix(200))")
        }
    }

    /// Where the lines are that come.
    private var current: LineID? {
        switch phase {
        case .beginning: nil
        case .early(let place): place
        case .reading: place
        }
    }

    private func takeGap(_ line: LineScan) {
        guard let from = line.integer("\"from\":"), let to = line.integer("\"to\":"), from <= to, let run = current?.run
        else { return accuse("gets a gap of nothing: \(line.text)") }
        gaps += 1
        if let oldest = oldest?(run), to >= oldest {
            accuse("misses \(from) to \(to), and \(oldest) is there: \(line.text)")
        }
        let isOfJournal = line.has("\"reason\":\"journal\"")
        if isOfJournal, let kept = kept?(from...to, run) {
            accuse("misses \(from) to \(to) of \(run), and the journal has \(kept)")
        }
        if case .reading = phase { knowledge.miss(from...to, isOld: isOfJournal || isPrompt) }
        advance(from: from, to: to, line)
    }

    private func takeKept(_ line: LineScan, _ records: [String: FeedRecord]) {
        guard kind == .socket || kind == .events, let run = current?.run, line.text("\"run\":\"") == run,
            let sequence = line.integer("\"line\":{\"seq\":"), let start = line.text.firstRange(of: "\"line\":")
        else { return accuse("gets a kept line out of place: \(line.text)") }
        // Of an agent of a fleet, at any time.
        if sequence == 0 { return }
        if let source = line.text("\"source\":\""), forgotten.contains(source) {
            accuse("gets a kept line of \(source), which is forgotten: \(line.text.prefix(300))")
        }
        if line.has("\"rows\":[") { return takeWindows(line) }
        if sequence <= lastKept { accuse("gets the kept line \(sequence) behind \(lastKept)") }
        lastKept = sequence
        keptLines += 1
        if case .reading = phase { knowledge.keep(sequence) }
        guard let record = records[run], record.last >= sequence else { return }
        let kept = Array(line.text[start.upperBound...].utf8.dropLast()) + [0x0A]
        kept.withUnsafeBytes { compare($0, sequence, record) }
    }

    private func takeWindows(_ line: LineScan) {
        guard let series = line.text("\"series\":\""), let start = line.text.firstRange(of: "\"rows\":[") else {
            return accuse("gets windows of nothing: \(line.text.prefix(300))")
        }
        for row in line.text[start.upperBound...].split(separator: "[") {
            let numbers = row.prefix { $0 != "]" }.split(separator: ",").compactMap { Double($0) }
            guard numbers.count == 6 else { return accuse("gets windows that are none: \(line.text)") }
            keptWindows += 1
            let start = Int64((numbers[0] * 1_000_000).rounded())
            if let count = owedWindows[series]?[start], Int(numbers[4]) >= count { owedWindows[series]?[start] = nil }
        }
    }

    /// What it has not got of the windows that there were when it came, now that its lines come.
    private func checkWindows() {
        for (series, windows) in owedWindows.sorted(by: { $0.key < $1.key }) {
            if let start = windows.keys.min() { accuse("gets no window of \(series) from \(start), or not all of it") }
        }
        owedWindows = [:]
    }

    private func greet(_ line: LineScan) {
        guard let name = line.text("\"run\":\""), let first = line.integer("\"first_seq\":") else {
            return accuse("hello says nothing: \(line.text)")
        }
        (owesStats, lastKept) = (true, 0)
        let new = LineID(name, first)
        switch phase {
        case .beginning:
            switch kind {
            case .socket where hasAsked:
                phase = .early(new)
                return
            case .events where hasAsked: answer(by: new)
            case .socket, .events: (place, lastEvent, knowledge, hasKept) = (new, nil, .init(from: first), false)
            case .push where name == run: mayRepeat = true
            case .file where name == run: break
            // From the first one on, however late it was connected.
            case .push, .file: place = LineID(name, 1)
            }
        case .early: answer(by: new)
        case .reading where name != run: goOver(to: new)
        case .reading: break
        }
        phase = .reading
        isOver = false
    }

    private func answer(by new: LineID) {
        resumed += 1
        if new.run != run { goOver(to: new) } else { knowledge.resume(at: new.sequence) }
    }

    private func goOver(to new: LineID) {
        crossings += 1
        if let place, let what = leftOut?(place, new) { accuse("gets nothing of \(what)") }
        switch kind {
        case .socket, .events:
            (place, other) = (new, 1)  // or a `gap` from the first one on
            (knowledge, hasKept) = (.init(from: new.sequence), false)
        case .file, .push: place = LineID(new.run, 1)
        }
    }

    private func advance(from: Int, to: Int, _ line: LineScan) {
        guard let place = current else { return }
        if from != place.sequence, from != other, !(mayRepeat && from < place.sequence) {
            accuse(
                "gets \(from) instead of \(place.sequence) of \(place.run): \(line.text.prefix(200)), behind\n"
                    + story.joined(separator: "\n"))
        }
        let next = LineID(place.run, to + 1)
        if case .early = phase {
            phase = .early(next)
            return
        }
        (mayRepeat, other, hasKept) = (false, nil, true)
        if !owedWindows.isEmpty { checkWindows() }
        self.place = next
    }

    private func compare(_ line: UnsafeRawBufferPointer, _ sequence: Int, _ record: FeedRecord) {
        if !record.matches(line, sequence) {
            accuse("gets another line \(sequence): \(String(decoding: line.prefix(200), as: UTF8.self))")
        }
    }
}
