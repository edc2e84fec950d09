import Feed
import Reactor

/// What comes out of standard output of one agent, which is read at once: every line, and that it tells what has happened.
final class FeedWitness {
    /// Something that happened to a source and must be told.
    private struct Owed {
        let time: LoopInstant
        /// How many failures in a row that makes; nil when that is not known.
        var attempt: Int?
        /// False when a reload may have kept it from being told.
        var isOwed = true
    }

    private struct Source {
        /// What failed, in order.
        var failures: [Owed] = []
        /// Failures in a row by now; nil when a reload may have begun anew.
        var row: Int? = 0
        /// The failures that the next `recovered` line is about; nil for an unknown number of them.
        var outage: Int? = 0
        var owesRecovery: (Int, LoopInstant)?
        /// Whether an outage of unknown length may have ended.
        var mayRecover = false
        var newest = 0
    }

    private let clock: LoopClock
    let reader: ReaderWitness
    private(set) var record = FeedRecord()
    /// By their width.
    private(set) var windows: [Duration: WindowWitness] = [:]
    /// Those of the runs before.
    private let earlier: [Duration: WindowWitness]
    private let width: Duration
    /// How often a source is polled.
    private let period: (String) -> Duration
    private let accuse: (String) -> Void
    private var answers: [Int: Owed] = [:]
    private var sources: [String: Source] = [:]
    private(set) var run = ""
    /// Called for the run's first line, and for how far the journal is said to be; nil without one.
    var onRestart: ((LineScan) -> Void)?
    var onDurable: ((Int, String) -> Void)?
    private(set) var recoveries = 0

    init(
        _ number: Int, on clock: LoopClock, width: Duration, after earlier: FeedWitness?,
        period: @escaping (String) -> Duration, accuse: @escaping (String) -> Void
    ) {
        (self.clock, self.width, self.period) = (clock, width, period)
        self.earlier = earlier.map { $0.windows.merging($0.earlier) { newest, _ in newest } } ?? [:]
        lenientUntil = clock.now
        let name = "feed \(number)"
        reader = ReaderWitness(name, .socket, accuse: accuse)
        self.accuse = { accuse("\(name): \($0)") }
        reader.connect()
    }

    // MARK: What happens

    /// A server has answered, or a line was written, with this number.
    func note(answer number: Int, of source: String, at time: LoopInstant) {
        answers[number] = Owed(time: time, isOwed: !isLenient)
        guard source != "piped" else { return }
        var entry = sources[source] ?? Source()
        if let outage = entry.outage {
            if outage > 0 { entry.owesRecovery = (outage, time) }
        } else {
            entry.mayRecover = true
        }
        (entry.row, entry.outage) = isLenient ? (nil, nil) : (0, 0)
        sources[source] = entry
    }

    func note(failureOf source: String, at time: LoopInstant) {
        var entry = sources[source] ?? Source()
        entry.row = isLenient ? nil : entry.row.map { $0 + 1 }
        entry.outage = isLenient ? nil : entry.outage.map { $0 + 1 }
        if isLenient { entry.mayRecover = true }
        entry.failures.append(Owed(time: time, attempt: isLenient ? nil : entry.row, isOwed: !isLenient))
        sources[source] = entry
    }

    /// The wall clock is about to be stepped, before an answer of a source.
    func noteStep(from now: Timestamp, by step: Duration, before source: String) {
        steps += step
        for width in windows.keys { windows[width]?.step(from: now, by: step, isSeen: width == span(of: source)) }
    }

    /// From now on inputs may be swapped, and for some time.
    func noteReload(until end: LoopInstant) {
        lenientUntil = end
        for number in answers.keys { answers[number]?.isOwed = false }
        for name in sources.keys {
            sources[name]?.row = nil
            sources[name]?.outage = nil
            sources[name]?.owesRecovery = nil
            sources[name]?.mayRecover = true
            for index in sources[name]?.failures.indices ?? 0..<0 { sources[name]?.failures[index].isOwed = false }
        }
    }

    // MARK: What comes

    func take(_ bytes: UnsafeRawBufferPointer, now: Timestamp, records: [String: FeedRecord]) {
        cutter.push(bytes) { take($0, now, records) }
    }

    private var cutter = LineCutter()
    /// By how much the clock was set in this run, and by how much lines say so.
    private var steps = Duration.zero
    private var toldSteps = Duration.zero
    /// Smaller steps are told with the next ones.
    private static let leastStep = Duration.milliseconds(500)

    private func take(_ line: LineScan, _ now: Timestamp, _ records: [String: FeedRecord]) {
        if let sequence = line.sequence {
            if sequence == record.last + 1 {
                record.append(line)
                look(line, sequence, now)
            } else {
                accuse("\(sequence) follows \(record.last)")
            }
        }
        reader.take(line.line, [run: record])
        if let name = reader.run, name != run {
            if records[name] != nil { accuse("run \(name) was there before") }
            run = name
            (steps, toldSteps) = (.zero, .zero)
        }
        if reader.gaps > 0 { accuse("has a gap, and is read at once: \(line.text)") }
    }

    private func look(_ line: LineScan, _ sequence: Int, _ now: Timestamp) {
        guard let time = line.time("\"time\":\""), let type = line.text("\"type\":\""),
            let source = line.text("\"source\":\"")
        else { return accuse("\(sequence) has no time, type or source") }
        switch type {
        case "window":
            let width = span(of: source)
            if windows[width] == nil { accuse("window of no value: \(line.text)") }
            if let fault = windows[width]?.tell(line) { accuse("window \(fault): \(line.text)") }
        case "latency": record(line.number("\"ms\":") ?? -1, of: "latency:", source, at: time, sequence, now)
        case "memory": record(line.number("\"rss_bytes\":") ?? -1, of: "memory:", source, at: time, sequence, now)
        case "error":
            if let attempt = line.integer("\"attempt\":") { look(error: attempt, of: source, line) }
        case "clock":
            toldSteps += .microseconds((line.number("\"step_s\":") ?? .infinity) * 1_000_000)
            if max(steps - toldSteps, toldSteps - steps) > Self.leastStep {
                accuse("the clock was set by \(steps), and not by \(toldSteps): \(line.text)")
            }
        case "recovered" where source == "catwatch": break  // its disks
        case "recovered":
            recoveries += 1
            let entry = sources[source]
            sources[source]?.owesRecovery = nil
            sources[source]?.mayRecover = false
            if let (attempts, _) = entry?.owesRecovery {
                if line.integer("\"attempts\":") != attempts {
                    accuse("recovered of \(attempts) failures: \(line.text)")
                }
            } else if entry?.mayRecover != true, !isLenient {
                accuse("nothing has recovered: \(line.text)")
            }
        case "agent": if let durable = line.integer("\"durable_seq\":") { onDurable?(durable, run) }
        case "restart":
            if sequence != 1 { accuse("a restart in the middle") }
            onRestart?(line)
        case "progress": break
        default:
            if sequence == 1, onRestart != nil { accuse("begins without a restart") }
            guard let number = line.integer("\"n\":"), let value = line.number("\"value\":") else {
                return accuse("nobody has said this: \(line.text)")
            }
            if answers.removeValue(forKey: number) == nil {
                accuse("\(number) is told twice, or never happened: \(line.text)")
            }
            if number <= sources[source]?.newest ?? 0 { accuse("\(number) is behind a later one") }
            sources[source, default: Source()].newest = number
            record(value, of: "", source, at: time, sequence, now)
        }
    }

    /// The width of a source's windows.
    private func span(of source: String) -> Duration { max(width, period(source)) }

    private func record(
        _ value: Double, of kind: String, _ source: String, at time: Timestamp, _ sequence: Int, _ now: Timestamp
    ) {
        record.mark(kind + source, of: source)
        let width = span(of: source)
        windows[width, default: WindowWitness(width: width, after: earlier[width])]
            .record(value, of: kind + source, at: time, sequence, now: now)
    }

    /// How many values each window has that a reader must get which comes now, by series and start.
    ///
    /// - Parameter isWatched: whether there will be more of a source.
    func closedWindows(at now: Timestamp, where isWatched: (String) -> Bool) -> [String: [Int64: Int]] {
        var closed: [String: [Int64: Int]] = [:]
        for (series, newest) in record.newest where period(newest.source) > width && isWatched(newest.source) {
            closed[series] = windows[span(of: newest.source)]?.closed(of: series, at: now)
        }
        return closed
    }

    private func look(error attempt: Int, of source: String, _ line: LineScan) {
        guard var entry = sources[source] else { return accuse("nothing has failed: \(line.text)") }
        defer { sources[source] = entry }
        while let first = entry.failures.first, !first.isOwed, entry.failures.count > 1 { entry.failures.removeFirst() }
        guard !entry.failures.isEmpty else { return accuse("nothing has failed: \(line.text)") }
        let failure = entry.failures.removeFirst()
        if failure.isOwed, let expected = failure.attempt, expected != attempt {
            accuse("failure \(expected) in a row: \(line.text)")
        }
        guard let retry = line.integer("\"retry_in_ms\":") else { return accuse("no retry: \(line.text)") }
        // A pause of up to 1 s, doubled by each failure, to 2 s; to 30 s where the server asks for it. Then the next tick.
        // Up to four periods of a source that is polled more seldom than every second.
        let period = max(1_000, Int(period(source).milliseconds))
        let pause = line.has("\"rate_limited\"") ? 30_000 : min(1_000 << min(attempt - 1, 6), 4 * period, 30_000)
        if retry > pause + period + 1 { accuse("waits for \(retry) ms after failure \(attempt): \(line.text)") }
    }

    // MARK: After every step

    /// Until when a reload may begin inputs anew.
    private var lenientUntil: LoopInstant
    private var isLenient: Bool { clock.now < lenientUntil }

    /// Looks for what was to be told by now.
    ///
    /// - Parameter isHeld: whether an output that inputs wait for may be behind.
    func check(at instant: LoopInstant, now: Timestamp, isHeld: Bool) {
        for (number, answer) in answers.sorted(by: { $0.key < $1.key })
        where answer.isOwed && answer.time.duration(to: instant) > .milliseconds(200) && !isHeld {
            accuse("\(number) was not told")
            answers[number] = nil
        }
        for (name, source) in sources.sorted(by: { $0.key < $1.key }) {
            if let failure = source.failures.first, failure.isOwed,
                failure.time.duration(to: instant) > .milliseconds(200)
            {
                accuse("a failure of \(name) was not told")
                sources[name]?.failures = []
            }
            if let (_, time) = source.owesRecovery, time.duration(to: instant) > .milliseconds(200) {
                accuse("the end of an outage of \(name) was not told")
                sources[name]?.owesRecovery = nil
            }
        }
        let patience: Duration = isHeld ? .seconds(4) : .milliseconds(2_500)
        for width in windows.keys.sorted() {
            if let fault = windows[width]?.overdue(now: now, at: instant, patience: patience) { accuse(fault) }
        }
    }

    /// The far end of standard output was read to its end.
    func end(isOrderly: Bool) {
        reader.disconnect(mayCut: !isOrderly)
        if isOrderly, !reader.isOver { accuse("ends without bye") }
    }
}
