package import Feed
package import Reactor

/// The alerts of a feed: each change of a condition's state is one, and the newest of each says where it stands.
///
/// A rule with several conditions has one state for each series: that of the condition that has come furthest.
package struct AlertEngine: FeedObserver {
    package let rules: [AlertRule]
    package let conditions: [String]
    private let run: String
    private var evaluator: ConditionEvaluator
    /// The rule of each condition of the evaluator, and the rules by name with the numbers of their conditions.
    private let ruleOfCondition: [Int]
    private let byName: [Board.Name: (rule: Int, conditions: Range<Int>)]
    /// What is not ok.
    private var entries: [Key: Entry] = [:]
    private var nextNumber = 0
    private var alerts: [(source: String, alert: Alert)] = []
    private var taken = 0
    private let start: LoopInstant
    private var nextReminder: LoopInstant?
    /// Whether alerts about what has not come back since the start are still to be given up.
    private var awaitsReturn = false

    private struct Key: Hashable {
        /// The name of the rule.
        let condition: Board.Name
        let about: Board.Name
    }

    private struct Entry {
        /// Its newest alert.
        var alert: Alert
        let source: String
        /// Its place in the order in which they began.
        let number: Int
        /// The phases of the rule's conditions that are not ok.
        var phases: [Int: ConditionState.Phase]
        /// When it began to fire, and when it was last reported.
        var fired: LoopInstant
        var reported: LoopInstant

        var phase: ConditionState.Phase { phases.values.max() ?? .ok }
    }

    /// An alert as a journal has it.
    package struct Stored: Sendable {
        package var alert: Alert
        package var source: String
        /// The time from its newest line to the newest one of that run.
        package var age: Duration

        package init(_ alert: Alert, of source: String, age: Duration) {
            (self.alert, self.source, self.age) = (alert, source, max(.zero, age))
        }
    }

    /// - Parameters:
    ///   - run: the name of the feed's run.
    ///   - window: the width of the feed's windows.
    package init(_ rules: [AlertRule], run: String, window: Duration, at moment: Moment) {
        (self.rules, self.run, start) = (rules, run, moment.now)
        self.conditions = rules.map(\.name)
        var conditions: [Condition] = []
        var byName: [Board.Name: (rule: Int, conditions: Range<Int>)] = [:]
        var ruleOfCondition: [Int] = []
        for (index, rule) in rules.enumerated() {
            let first = conditions.count
            conditions += rule.conditions
            byName[Board.Name(rule.name)] = (index, first..<conditions.count)
            ruleOfCondition += repeatElement(index, count: rule.conditions.count)
        }
        (self.byName, self.ruleOfCondition) = (byName, ruleOfCondition)
        evaluator = ConditionEvaluator(conditions, at: moment, window: window)
    }

    package var refused: Int { evaluator.refused }

    /// Whether a rule is about something that has come.
    package func hasSubject(_ rule: Int) -> Bool {
        byName[Board.Name(rules[rule].name)]?.conditions.contains { evaluator.hasSubject($0) } ?? false
    }

    // MARK: Observations

    package mutating func describe(_ status: SourceStatus, at moment: Moment) { evaluator.describe(status, at: moment) }
    package mutating func retire(source: String, at moment: Moment) {
        evaluator.retire(source: source, at: moment)
        collect()
    }
    package mutating func series(named name: String, of source: String, at moment: Moment) -> ObservedSeries {
        evaluator.series(named: name, of: source, at: moment)
    }
    package mutating func refuse(seriesOf source: String) { evaluator.refuse(seriesOf: source) }
    package mutating func remove(series: Int32, at moment: Moment) {
        evaluator.remove(series: series, at: moment)
        collect()
    }
    package mutating func observe(_ value: Double, of series: Int32, line: Int, at moment: Moment) {
        evaluator.observe(value, of: series, line: line, at: moment)
        collect()
    }
    package mutating func observe(_ event: Line.Data, of series: Int32, line: Int, at moment: Moment) {
        evaluator.observe(event, of: series, line: line, at: moment)
        collect()
    }
    package mutating func observe(_ window: Line.Window, of series: Int32, line: Int, at moment: Moment) {
        evaluator.observe(window, of: series, line: line, at: moment)
        collect()
    }
    package mutating func observe(_ observation: Observation, of source: String, line: Int, at moment: Moment) {
        evaluator.observe(observation, of: source, line: line, at: moment)
        collect()
    }
    package mutating func hear(agent: String, at moment: Moment) {
        evaluator.hear(agent: agent, at: moment)
        collect()
    }
    /// Applies a line of a recording.
    package mutating func apply(_ line: Line, at moment: Moment) {
        evaluator.apply(line, at: moment)
        collect()
    }
    package mutating func settle(at moment: Moment) {
        evaluator.settle(at: moment)
        collect()
    }

    package mutating func finish(at moment: Moment) {
        evaluator.evaluateAll(at: moment)
        collect()
    }

    // MARK: Time

    package var nextDue: LoopInstant? {
        let lifetime = awaitsReturn ? start.advanced(by: MemberState.lifetime) : nil
        return [evaluator.nextDue, nextReminder, lifetime].compactMap { $0 }.min()
    }

    package mutating func tick(at moment: Moment) {
        evaluator.tick(at: moment)
        collect()
        if awaitsReturn, moment.now >= start.advanced(by: MemberState.lifetime) { giveUp(at: moment) }
        guard let nextReminder, moment.now >= nextReminder else { return }
        self.nextReminder = nil
        for (key, entry) in inOrder where entry.phase == .firing {
            if let due = reminder(of: entry), due <= moment.now { remind(key, at: moment) } else { schedule(entry) }
        }
    }

    package mutating func remind(at moment: Moment) {
        for (key, entry) in inOrder where entry.phase == .firing {
            remind(key, at: moment)
        }
    }

    private mutating func remind(_ key: Key, at moment: Moment) {
        guard var entry = entries[key] else { return }
        var alert = entry.alert
        (alert.state, alert.at, alert.reason) = (.reminder, moment.wall, nil)
        entry.reported = moment.now
        entries[key] = entry
        schedule(entry)
        alerts.append((entry.source, alert))
    }

    private func reminder(of entry: Entry) -> LoopInstant? {
        guard let rule = byName[Board.Name(entry.alert.condition)]?.rule else { return nil }
        return rules[rule].reminder.map { entry.reported.advanced(by: $0) }
    }

    private mutating func schedule(_ entry: Entry) {
        if let due = reminder(of: entry) { nextReminder = min(nextReminder ?? due, due) }
    }

    // MARK: Alerts

    package var hasAlerts: Bool { taken < alerts.count }

    package mutating func nextAlert() -> (source: String, alert: Alert)? {
        guard hasAlerts else { return nil }
        defer {
            taken += 1
            if taken == alerts.count { (alerts, taken) = ([], 0) }
        }
        return alerts[taken]
    }

    private mutating func collect() {
        for transition in evaluator.takeTransitions() { apply(transition) }
    }

    private mutating func apply(_ transition: Transition) {
        let rule = rules[ruleOfCondition[transition.condition]]
        let key = Key(condition: Board.Name(rule.name), about: Board.Name(transition.about))
        let phase = transition.new.phase
        guard var entry = entries[key] else {
            if phase != .ok { begin(key, rule, transition) }
            return
        }
        let old = entry.phase
        entry.phases[transition.condition] = phase == .ok ? nil : phase
        entries[key] = entry
        guard entry.phase != old else { return }
        describe(transition, in: &entry.alert)
        let furthest = entry.phases.max { ($0.value, -$0.key) < ($1.value, -$1.key) }?.key ?? transition.condition
        entry.alert.test = evaluator.conditions[furthest].body
        entry.alert.limit = evaluator.conditions[furthest].shownLimit
        entry.alert.reason = nil
        if entry.phase == .ok || old.isMet && !entry.phase.isMet {
            end(key, entry, transition.isGone ? .forgotten : old.isMet ? .until : nil, at: transition.at)
            // Another condition of the rule is pending.
            if entry.phase == .pending { begin(key, rule, transition, as: entry.phase, entry.phases) }
            return
        }
        if !old.isMet, entry.phase.isMet { entry.fired = transition.at.now }
        report(key, &entry, as: entry.phase, at: transition.at)
    }

    private mutating func begin(
        _ key: Key, _ rule: AlertRule, _ transition: Transition, as phase: ConditionState.Phase? = nil,
        _ phases: [Int: ConditionState.Phase]? = nil
    ) {
        let condition = evaluator.conditions[transition.condition]
        let digest = "\(rule.name)\u{0}\(transition.about)\u{0}\(run)\u{0}\(transition.line)\u{0}\(nextNumber)"
        var alert = Alert(
            about: transition.about, condition: rule.name, state: .firing, id: Alert.digest(digest.utf8),
            at: transition.at.wall, since: transition.new.since, severity: rule.severity?.rawValue,
            test: condition.body, limit: condition.shownLimit, note: rule.note,
            evidence: Alert.Evidence(run: run, from: transition.from, to: transition.line))
        describe(transition, in: &alert)
        var entry = Entry(
            alert: alert, source: transition.source ?? EventStore.ownName, number: nextNumber,
            phases: phases ?? [transition.condition: transition.new.phase], fired: transition.at.now,
            reported: transition.at.now)
        nextNumber += 1
        report(key, &entry, as: phase ?? transition.new.phase, at: transition.at)
    }

    private mutating func report(_ key: Key, _ entry: inout Entry, as phase: ConditionState.Phase, at moment: Moment) {
        (entry.alert.state, entry.alert.at) = (Alert.State(phase), moment.wall)
        entry.reported = moment.now
        entries[key] = entry
        if phase == .firing { schedule(entry) }
        alerts.append((entry.source, entry.alert))
    }

    /// Writes the last line of an alert.
    private mutating func end(_ key: Key, _ entry: Entry, _ reason: Alert.Reason?, at moment: Moment) {
        var alert = entry.alert
        let hasFired = alert.state != .pending
        (alert.state, alert.at) = (hasFired ? .resolved : .ok, moment.wall)
        alert.reason = hasFired || reason == .forgotten || reason == .removed ? reason : nil
        if hasFired { alert.down = max(.zero, entry.fired.duration(to: moment.now)) }
        entries[key] = nil
        alerts.append((entry.source, alert))
    }

    /// Says by which value and lines it was decided.
    private func describe(_ transition: Transition, in alert: inout Alert) {
        (alert.value, alert.text) = (nil, nil)
        switch transition.value {
        case .number(let number): alert.value = number
        case .text(let text): alert.text = text
        case .nothing: break
        }
        if alert.evidence.run != run { alert.evidence = Alert.Evidence(run: run, from: 0, to: 0) }
        alert.evidence.to = transition.line
        alert.worst = transition.worst ?? alert.worst
    }

    /// The series that conditions are about, with their sources.
    package var series: [(source: String, name: String)] { evaluator.seriesNames }

    // MARK: Restart and reload

    /// Goes on where the newest lines of alerts left these; the time since does not count.
    ///
    /// - Parameters:
    ///   - stored: what is not ok, in its order.
    ///   - isFleet: whether sources may come later.
    package mutating func restore(_ stored: [Stored], isFleet: Bool, at moment: Moment) {
        for each in stored {
            let reported = moment.now.advanced(by: .zero - each.age)
            let rule = byName[Board.Name(each.alert.condition)].map { rules[$0.rule] }
            // It has fired since its tests held for long enough.
            let held = max(.zero, each.alert.at - each.alert.since)
            let hold = rule?.conditions.first { $0.body == each.alert.test }?.hold ?? .zero
            let fired = reported.advanced(by: each.alert.state == .firing ? .zero : min(.zero, hold - held))
            restore(each.alert, of: each.source, fired: fired, reported: reported, isFleet: isFleet, at: moment)
        }
        awaitsReturn = isFleet
        evaluator.evaluateSources()
        collect()
    }

    /// The longest time that a condition looks back.
    package var memory: Duration { evaluator.conditions.map(\.memory).max() ?? .zero }

    /// The engine of the next run, after a restart.
    package func next(run: String, window: Duration, at moment: Moment) -> AlertEngine {
        var next = AlertEngine(rules, run: run, window: window, at: moment)
        for (_, entry) in inOrder {
            next.restore(
                entry.alert, of: entry.source, fired: entry.fired, reported: entry.reported, isFleet: true, at: moment)
        }
        next.alerts = Array(alerts[taken...])
        return next
    }

    private var inOrder: [(key: Key, value: Entry)] { entries.sorted { $0.value.number < $1.value.number } }

    /// Goes on after a reload with what an engine with other rules has: what has the same name goes on.
    package mutating func replace(_ old: AlertEngine, at moment: Moment) {
        let same = old.evaluator.conditions.enumerated().map { number, condition in
            byName[Board.Name(old.rules[old.ruleOfCondition[number]].name)]?.conditions.first {
                evaluator.conditions[$0].text == condition.text
            }
        }
        evaluator.adopt(old.evaluator, same)
        (alerts, taken, awaitsReturn) = (old.alerts, old.taken, old.awaitsReturn)
        for (_, entry) in old.inOrder {
            let phases = entry.phases.compactMap { number, phase in same[number].map { ($0, phase) } }
            restore(
                entry.alert, of: entry.source, fired: entry.fired, reported: entry.reported, isFleet: true,
                phases: Dictionary(phases) { $1 }, at: moment)
        }
        evaluator.evaluateAll(at: moment)
        collect()
    }

    private mutating func restore(
        _ alert: Alert, of source: String, fired: LoopInstant, reported: LoopInstant, isFleet: Bool,
        phases: [Int: ConditionState.Phase] = [:], at moment: Moment
    ) {
        let key = Key(condition: Board.Name(alert.condition), about: Board.Name(alert.about))
        var entry = Entry(
            alert: alert, source: source, number: nextNumber, phases: [:], fired: fired, reported: reported)
        nextNumber += 1
        let place = byName[key.condition]
        let about = place?.conditions.filter { evaluator.isAbout($0, alert.about, of: source) } ?? []
        guard let place, !about.isEmpty else { return end(key, entry, .removed, at: moment) }
        guard isFleet || about.contains(where: { evaluator.mayBeThere($0, source) }) else {
            return end(key, entry, .forgotten, at: moment)
        }
        let state = ConditionState(phase: .init(alert.state), since: alert.since, begun: reported)
        let known = about.filter { evaluator.conditions[$0].body == alert.test }
        let number = (known + about).first {
            evaluator.restore($0, about: alert.about, of: source, state, worst: known.isEmpty ? nil : alert.worst)
        }
        guard let number else { return end(key, entry, .removed, at: moment) }
        let rule = rules[place.rule]
        entry.phases = [number: state.phase]
        // A rule's other conditions go on after a reload.
        for (other, phase) in phases where other != number {
            let state = ConditionState(phase: phase, since: alert.since, begun: reported)
            if evaluator.restore(other, about: alert.about, of: source, state, worst: nil) {
                entry.phases[other] = phase
            }
        }
        (entry.alert.severity, entry.alert.note) = (rule.severity?.rawValue, rule.note)
        // The worst value of other tests says nothing.
        if known.isEmpty { entry.alert.worst = nil }
        entry.alert.test = evaluator.conditions[number].body
        entry.alert.limit = evaluator.conditions[number].shownLimit
        entries[key] = entry
        if state.phase.isMet { schedule(entry) }
    }

    /// Ends the alerts about sources and agents that have not come back since the start.
    private mutating func giveUp(at moment: Moment) {
        awaitsReturn = false
        for (key, entry) in inOrder {
            guard entry.source != EventStore.ownName || entry.alert.about != EventStore.ownName,
                !evaluator.isKnown(entry.source), !evaluator.isKnown(entry.alert.about)
            else { continue }
            for number in entry.phases.keys {
                _ = evaluator.restore(number, about: entry.alert.about, of: entry.source, ConditionState(), worst: nil)
            }
            end(key, entry, .forgotten, at: moment)
        }
    }
}

extension Alert.State {
    init(_ phase: ConditionState.Phase) {
        self =
            switch phase {
            case .ok: .ok
            case .pending: .pending
            case .clearing: .clearing
            case .firing: .firing
            }
    }
}

extension ConditionState.Phase {
    /// Where an alert's newest line leaves it.
    init(_ state: Alert.State) {
        self =
            switch state {
            case .ok, .resolved: .ok
            case .pending: .pending
            case .clearing: .clearing
            case .firing, .reminder: .firing
            }
    }
}
