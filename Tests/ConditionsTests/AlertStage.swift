import Conditions
import Reactor
import Testing

@testable import Feed

/// An agent's own feed with alerts, by seconds since its beginning.
struct AlertStage: ~Copyable {
    static let start = Timestamp(seconds: 1_780_000_000)

    private var state = FeedState()
    private(set) var run = "r1"
    private var sources: [String: SourceID] = [:]
    private let described: [SourceDescription]
    /// The time by the machine's clock that does not step, and how far the wall clock is ahead.
    private(set) var seconds = 0.0
    private var step = Duration.zero
    private var lastTick = -1.0
    /// All lines of all runs, with the name of their run.
    private(set) var journal: [(run: String, line: Line)] = []
    private var next = 1

    init(_ rules: [AlertRule], sources: [SourceDescription]) {
        described = sources
        begin()
        state.setObserver(engine(rules), at: moment)
    }

    /// - Parameter lines: conditions, each an alert.
    init(_ lines: String..., sources: [SourceDescription] = [SourceDescription(name: "a")]) throws {
        self.init(try Self.rules(lines), sources: sources)
    }

    static func rules(_ lines: [String]) throws -> [AlertRule] {
        try lines.map { line in
            let condition = try Condition(line)
            return AlertRule(name: condition.name, conditions: [condition])
        }
    }

    private mutating func begin() {
        for description in described { sources[description.name] = state.register(description, at: wall) }
    }

    private func engine(_ rules: [AlertRule]) -> AlertEngine {
        var engine = AlertEngine(rules, run: run, window: .seconds(10), at: moment)
        for status in state.tables.statuses { engine.describe(status, at: moment) }
        return engine
    }

    var wall: Timestamp { Self.start + .microseconds(Int64((seconds * 1_000_000).rounded())) + step }
    private var moment: Moment {
        Moment(
            wall: wall, now: LoopInstant(nanoseconds: Int64((seconds * 1_000_000).rounded()) * 1_000 + 1_000_000_000))
    }

    // MARK: What happens

    /// Lets time pass; what is due on the way happens when it is, once a second.
    mutating func pass(to end: Double) {
        while let due = state.observer?.nextDue {
            let second = max(Double(due.nanoseconds - 1_000_000_000) / 1e9, lastTick + 1, seconds)
            guard second <= end else { break }
            (seconds, lastTick) = (second, second)
            state.tickObserver(at: moment)
            record()
        }
        seconds = max(seconds, end)
        state.advance(at: moment)
        record()
    }

    /// Lets a second pass, at whose end the observer looks at what is due.
    mutating func tick(at second: Double) {
        seconds = second
        state.advance(at: moment)
        state.tickObserver(at: moment)
        record()
    }

    /// Goes to a moment; nothing happens on the way.
    mutating func go(to second: Double) { seconds = second }

    /// One answer of a polled source, or none.
    mutating func poll(
        _ source: String, _ values: [(series: String, value: Double)]?, status: Int = 200, recovers: Bool
    ) {
        guard let values else {
            return publish(event(source, .error(Failure(.connect, "no", endpoint: "GET http://h/"))))
        }
        if recovers { publish(event(source, .recovered(Recovery(down: .seconds(1), attempts: 1)))) }
        var batch = EventBatch()
        for (series, value) in values { batch.add(self.value(series, value)) }
        batch.add(event(source, .latency(LatencySample(endpoint: "GET http://h/", status: status, ms: 5))))
        publish(batch)
    }

    mutating func publish(_ events: Event...) { publish(EventBatch(events)) }

    mutating func publish(_ batch: EventBatch) {
        _ = state.publish(batch, at: moment)
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

    mutating func retire(_ name: String) {
        if let source = sources[name] { state.retire(source) }
        state.tickObserver(at: moment)
        record()
    }

    mutating func register(_ name: String) {
        sources[name] = state.register(SourceDescription(name: name), at: wall)
        state.tickObserver(at: moment)
        record()
    }

    /// The process begins anew, some time later.
    ///
    /// - Parameters:
    ///   - lost: how many of the newest lines are not in the journal.
    ///   - rules: the alerts from now on; nil for the same.
    mutating func restart(after pause: Double, losing lost: Int = 0, _ rules: [AlertRule]? = nil) {
        journal.removeLast(min(lost, journal.count))
        let old = (state.observer as? AlertEngine)?.rules ?? []
        var newest: [[UInt8]: (line: Line, end: Timestamp)] = [:]
        var order: [[UInt8]] = []
        for (run, line) in journal {
            guard case .alert(let alert) = line.body else { continue }
            let end = journal.last { $0.run == run }?.line.time ?? line.time
            if newest.updateValue((line, end), forKey: alert.key) == nil { order.append(alert.key) }
        }
        let stored = order.compactMap { key -> AlertEngine.Stored? in
            guard let (line, end) = newest[key], case .alert(let alert) = line.body, !alert.state.isOver else {
                return nil
            }
            return .init(alert, of: line.source ?? "", age: end - line.time)
        }
        run = "r\((Int(run.dropFirst()) ?? 0) + 1)"
        seconds += pause
        state = FeedState()
        (next, lastTick) = (1, -1)
        begin()
        var engine = engine(rules ?? old)
        engine.restore(stored, isFleet: false, at: moment)
        state.setObserver(engine, at: moment)
        record()
    }

    /// Has the journal's alerts be about another source.
    mutating func journal(rename old: String, to new: String) {
        for index in journal.indices {
            guard case .alert(var alert) = journal[index].line.body, alert.about == old else { continue }
            alert.about = new
            (journal[index].line.body, journal[index].line.source) = (.alert(alert), new)
        }
    }

    mutating func reload(_ rules: [AlertRule]) {
        guard let old = state.takeObserver(at: moment) as? AlertEngine else { return }
        var engine = engine(rules)
        engine.replace(old, at: moment)
        state.setObserver(engine, at: moment)
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

    // MARK: What came of it

    private mutating func record() {
        while next < state.log.nextSequence {
            if let line = state.log.line(next).flatMap({ try? LineDecoder.decode($0[...]) }) {
                journal.append((run, line))
            }
            next += 1
        }
    }

    var alerts: [Alert] {
        journal.compactMap { if case .alert(let alert) = $0.line.body { alert } else { nil } }
    }

    /// The alerts in words, with seconds since the beginning.
    var told: [String] { alerts.map { Self.text($0) } }

    static func text(_ alert: Alert) -> String {
        let value = (alert.value.map { "\($0)" } ?? alert.text).map { " = \($0)" } ?? ""
        let reason = alert.reason.map { " by \($0.rawValue)" } ?? ""
        func second(_ time: Timestamp) -> String {
            let seconds = (time - start).seconds
            return seconds == seconds.rounded() ? "\(Int(seconds))" : "\((seconds * 1_000).rounded() / 1_000)"
        }
        return "\(alert.state) \(alert.about) at \(second(alert.at)) since \(second(alert.since))\(value)\(reason)"
    }
}
