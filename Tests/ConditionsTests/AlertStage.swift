import Conditions
import Reactor
import Testing

@testable import Feed

/// An agent's own feed with alerts, by seconds since its beginning; a run ends with the value that it is.
struct AlertStage: ~Copyable {
    static let start = Timestamp(seconds: 1_780_000_000)

    /// A line that is in the journal.
    struct Recorded {
        var run: String
        var line: Line
        var bytes: [UInt8]
    }

    private var state = FeedState()
    private var run = "r1"
    private var sources: [String: SourceID] = [:]
    private let described: [SourceDescription]
    /// The time by the machine's clock that does not step, and how far the wall clock is ahead.
    private(set) var seconds = 0.0
    private var step = Duration.zero
    /// All lines of all runs, and when each began.
    private(set) var journal: [Recorded] = []
    private var starts: [String: Timestamp] = [:]
    private var next = 1
    /// When the agent next writes of itself, as each does every ten seconds; nil for never.
    private var sampled: Double?

    init(_ rules: [AlertRule], sources: [SourceDescription]) {
        described = sources
        begin()
        state.setWatcher(book(rules, from: wall), from: 1, at: moment)
    }

    /// - Parameter lines: conditions, each an alert.
    init(_ lines: String..., sources: [SourceDescription] = [SourceDescription(name: "a")]) throws {
        self.init(try lines.map { try Self.rule($0) }, sources: sources)
    }

    static func rule(_ line: String) throws -> AlertRule {
        let condition = try Condition(line)
        return AlertRule(name: condition.name, conditions: [condition])
    }

    private mutating func begin() {
        starts[run] = wall
        for description in described { sources[description.name] = state.register(description, at: wall) }
    }

    private func book(_ rules: [AlertRule], from start: Timestamp?) -> AlertBook {
        AlertBook(rules, run: run, interval: .seconds(10), from: start)
    }

    var wall: Timestamp { Self.start + .microseconds(Int64((seconds * 1_000_000).rounded())) + step }
    private var moment: Moment {
        Moment(
            wall: wall, now: LoopInstant(nanoseconds: Int64((seconds * 1_000_000).rounded()) * 1_000 + 1_000_000_000))
    }

    // MARK: What happens

    /// From now on the agent writes of itself.
    mutating func sample() { sampled = seconds }

    /// Lets time pass; what is due on the way happens when it is.
    mutating func pass(to end: Double) {
        while let sample = sampled, sample <= end {
            sampled = nil
            pass(to: max(seconds, sample))
            let own = state.ownSource(at: wall)
            let memory = MemorySample(resident: 1, peak: 1, privateBytes: 1)
            _ = state.publish(EventBatch([Event(time: wall, source: own, body: .memory(memory))]), at: moment)
            record()
            sampled = sample + 10
        }
        while let due = state.watcher?.nextDeadline,
            due <= wall + .microseconds(Int64(((end - seconds) * 1_000_000).rounded()))
        {
            let left = (due - wall).seconds
            seconds = max(seconds, seconds + left)
            state.advanceWatcher(at: moment)
            record()
        }
        seconds = end
        state.advance(at: moment)
        state.advanceWatcher(at: moment)
        record()
    }

    mutating func publish(_ events: Event...) {
        _ = state.publish(EventBatch(events), at: moment)
        record()
    }

    private func source(of series: String) -> SourceID {
        sources[String(series.prefix { $0 != "/" })] ?? SourceID(index: 0)
    }

    func event(_ series: String, _ body: Event.Body) -> Event {
        Event(time: wall, source: source(of: series), body: body)
    }

    func value(_ series: String, _ value: Double) -> Event {
        let key = series.firstIndex(of: "/").map { Array(series[series.index(after: $0)...].utf8)[...] }
        return event(series, .data(Datum(key: key, value: value)))
    }

    mutating func value(_ series: String, at second: Double, _ number: Double) {
        pass(to: second)
        publish(value(series, number))
    }

    mutating func data(_ series: String, at second: Double, _ json: String) {
        pass(to: second)
        publish(event(series, .data(Datum(data: Array(json.utf8)[...]))))
    }

    mutating func fail(_ source: String, at second: Double) {
        pass(to: second)
        publish(event(source, .error(Failure(.connect, "no", endpoint: "GET http://h/"))))
    }

    mutating func recover(_ source: String, at second: Double) {
        pass(to: second)
        publish(event(source, .recovered(Recovery(down: .seconds(1), attempts: 1))))
    }

    mutating func answer(_ source: String, at second: Double, status: Int = 200, ms: Double = 5) {
        pass(to: second)
        publish(event(source, .latency(LatencySample(endpoint: "GET http://h/", status: status, ms: ms))))
    }

    /// The clock is set, or the machine sleeps.
    mutating func setClock(by step: Duration = .zero, slept: Duration = .zero) {
        self.step += step + slept
        state.publishOfItself(.clock(ClockChange(step: step, slept: slept)), at: moment)
        record()
    }

    /// The process begins anew.
    ///
    /// - Parameters:
    ///   - lost: how many of the newest lines are not in the journal.
    ///   - rules: the alerts from now on; nil for the same.
    mutating func restart(at second: Double, losing lost: Int = 0, _ rules: [AlertRule]? = nil) {
        journal.removeLast(min(lost, journal.count))
        let old = (state.watcher as? AlertBook)?.rules ?? []
        run = "r\((Int(run.dropFirst()) ?? 0) + 1)"
        seconds = second
        state = FeedState()
        next = 1
        begin()
        var past = PastAlerts(rules ?? old)
        Self.read(recording()) { line, _ in
            past.apply(line)
            while past.nextAlert() != nil {}
        }
        var book = past.book(of: run, with: rules ?? old, interval: .seconds(10))
        var newest: [[UInt8]: Line] = [:]
        var order: [[UInt8]] = []
        for recorded in journal {
            guard case .alert(let alert) = recorded.line.body else { continue }
            if newest.updateValue(recorded.line, forKey: alert.key) == nil { order.append(alert.key) }
        }
        book.resume(order.compactMap { newest[$0] }, sources: state.tables.statuses, at: wall)
        state.setWatcher(book, from: 1, at: moment)
        state.advanceWatcher(at: moment)
        record()
    }

    mutating func reload(_ rules: [AlertRule], kept: [Line] = []) {
        guard let old = state.takeWatcher() as? AlertBook else { return }
        var book = book(rules, from: nil)
        book.replace(old, state.tables.statuses, kept: kept, at: wall)
        state.setWatcher(book, from: state.log.nextSequence, at: moment)
        state.advanceWatcher(at: moment)
        record()
    }

    /// The newest lines, as `kept` ones.
    var kept: [Line] {
        journal.map { recorded in
            var line = recorded.line
            line.body = .kept(Line.Kept(run: run, line: recorded.line, bytes: recorded.bytes[...]))
            return line
        }
    }

    mutating func retire(_ name: String) {
        if let source = sources[name] { state.retire(source) }
        state.advanceWatcher(at: moment)
        record()
    }

    /// The `kept` lines of a reader that comes now.
    func keptAlerts() -> [String] {
        var cursor = KeptCursor(after: 0, before: state.log.nextSequence, of: state.log)
        let lines = cursor.next(of: state, run, at: (wall, wall), atMost: .init()).lines
        return lines.split(separator: 0x0A).compactMap { bytes in
            guard case .kept(let kept)? = try? LineDecoder.decode(bytes).body, case .alert(let alert) = kept.line.body
            else { return nil }
            return "\(alert.condition) \(alert.state)"
        }
    }

    // MARK: Recordings

    /// The lines of the journal, with a `hello` and `stats` for each run.
    private func recording() -> [[UInt8]] {
        var (lines, run): ([[UInt8]], String?) = ([], nil)
        for recorded in journal {
            if recorded.run != run, let started = starts[recorded.run] {
                run = recorded.run
                var tables = FeedState()
                for source in described { _ = tables.register(source, at: Self.start) }
                let identity = AgentIdentity(run: recorded.run, version: "1", started: started)
                lines.append(
                    ControlLine.hello(
                        time: started, identity: identity, isFiltered: false, interval: .seconds(10),
                        history: .seconds(120), firstSequence: recorded.line.seq ?? 1, nextSequence: 1))
                lines.append(
                    ControlLine.stats(time: started, asOf: 0, endpoints: [], sources: tables.tables.statuses))
            }
            lines.append(recorded.bytes)
        }
        return lines
    }

    private static func read(_ lines: [[UInt8]], _ body: (RecordedLine, Line?) throws -> Void) rethrows {
        for line in lines {
            try line.withUnsafeBufferPointer { bytes in
                guard let line = RecordedLine(bytes) else { return }
                if case .other(let relayed) = line { try body(line, relayed.line) } else { try body(line, nil) }
            }
        }
    }

    // MARK: What came of it

    private mutating func record() {
        while state.hasAlerts { state.advanceWatcher(at: moment, includesRest: true) }
        while next < state.log.nextSequence {
            if let bytes = state.log.line(next), let line = try? LineDecoder.decode(bytes[...]) {
                journal.append(Recorded(run: run, line: line, bytes: bytes))
            }
            next += 1
        }
    }

    var alerts: [Alert] {
        journal.compactMap { if case .alert(let alert) = $0.line.body { alert } else { nil } }
    }

    /// For how many series each rule is pending.
    var pending: [Int] {
        guard let watcher = state.watcher else { return [] }
        return watcher.conditions.indices.map { watcher.pendingCount($0) }
    }

    /// The alerts in short: `firing a > 5 at 3 since 1 = 7`.
    var told: [String] { alerts.map { Self.text($0, start: Self.start) } }

    static func text(_ alert: Alert, start: Timestamp) -> String {
        let value = alert.value.map { " = \($0)" } ?? alert.text.map { " = \($0)" } ?? ""
        let reason = alert.reason.map { " by \($0)" } ?? ""
        func second(_ time: Timestamp) -> String {
            let seconds = (time - start).seconds
            return seconds == seconds.rounded() ? "\(Int(seconds))" : "\((seconds * 1_000).rounded() / 1_000)"
        }
        return "\(alert.state) \(alert.about) at \(second(alert.at)) since \(second(alert.since))\(value)\(reason)"
    }
}

extension AlertBook {
    /// Goes on with the `alert` lines of a journal.
    ///
    /// - Parameter sources: nil in a fleet.
    mutating func resume(_ lines: [Line], sources: [SourceStatus]?, at wall: Timestamp) {
        let firing = lines.compactMap { line -> (alert: Alert, source: String)? in
            guard line.agent == nil, case .alert(let alert) = line.body, alert.state != .resolved else { return nil }
            return (alert, line.source ?? EventStore.ownName)
        }
        resume(firing, sources: sources ?? [], isAll: sources != nil, at: wall)
    }
}
