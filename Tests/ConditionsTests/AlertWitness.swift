/// Applies the rules of docs/conditions.md to everything that ever happened, anew for each moment.
struct AlertWitness {
    /// A value of a series; the status of an answer of `p`, nil for none.
    private struct Event { var time: Double, name: String, value: Double? }

    struct Told: Equatable { var about: String, condition: String, state: String, at: Double, since: Double }

    /// Where an alert stands; `begun` without the time that no agent ran.
    private struct State {
        var phase = "ok", since = 0.0, begun = 0.0
        /// The time from its line to the end of its run, if that has ended.
        var age: Double?
    }

    private var rules: [WitnessRule]
    /// When each rule came as it is; -1 for the first ones.
    private var introduced: [Double]
    private var history: [Event] = []
    /// The number of events before the newest start, and its time.
    private var start = (events: 0, time: 0.0)
    private var states: [[String]: State] = [:]
    /// The series that have spoken since the start, or of which a line of before says that they are not ok.
    private var known: Set<String> = []
    private(set) var told: [Told] = []

    init(_ rules: [WitnessRule]) { (self.rules, introduced) = (rules, rules.map { _ in -1 }) }

    // MARK: What happens

    mutating func value(_ series: String, _ value: Double, at time: Double) {
        history.append(Event(time: time, name: series, value: value))
        known.insert(series)
        evaluate(series, at: time)
    }

    /// `p` answers with values, which count together, or not at all.
    mutating func answer(_ status: Double?, _ values: [(series: String, value: Double)], at time: Double) {
        history += values.map { Event(time: time, name: $0.series, value: $0.value) }
        known.formUnion(values.map(\.series))
        history.append(Event(time: time, name: "p", value: status))
        evaluate("p", at: time)
    }

    mutating func restart(at time: Double, newestLine: Double) {
        known = Set(states.filter { $0.value.phase != "ok" && !$0.key[1].contains("*") }.map { $0.key[1] })
        start = (history.count, time)
        for (key, state) in states {
            let age = state.age ?? max(0, newestLine - state.begun)
            states[key] = State(phase: state.phase, since: state.since, begun: time - age, age: age)
        }
    }

    mutating func reload(_ new: [WitnessRule], at time: Double) {
        for (key, state) in states where state.phase != "ok" && !new.contains(where: { $0.name == key[0] }) {
            tell(key, state.phase == "pending" ? "ok" : "resolved", at: time, since: state.since)
            states[key] = nil
        }
        introduced = new.map { rule in rules.firstIndex(of: rule).map { introduced[$0] } ?? time }
        rules = new
        evaluate(at: time)
    }

    /// - Parameter subject: the series or source that is evaluated; empty for all.
    mutating func evaluate(_ subject: String = "", at now: Double) {
        for (rule, introduced) in zip(rules, introduced) {
            guard subject.isEmpty || rule.subject.prefix(1) == subject.prefix(1) else { continue }
            let isOfSeries = rule.subject.hasSuffix("*")
            let members = isOfSeries ? known.filter { $0.hasPrefix(rule.subject.prefix(2)) }.sorted() : [rule.subject]
            let results = members.map { result(rule, introduced, $0, now) }
            let ends = members.map { member in
                rule.end.flatMap { end in value(member, introduced, now).map { $0 < end.below } }
            }
            if rule.set.isEmpty {
                for (index, member) in members.enumerated() where member.hasPrefix(subject) {
                    step(rule, member, results[index], ends[index], now)
                }
            } else {
                let isAny = rule.set == "any"
                step(rule, rule.subject, combined(results, isAny), rule.end == nil ? nil : combined(ends, !isAny), now)
            }
        }
    }

    // MARK: Results

    /// What a name has last said since the start.
    private func last(_ name: String) -> Event? { history[start.events...].last { $0.name == name } }

    private func result(_ rule: WitnessRule, _ introduced: Double, _ member: String, _ now: Double) -> Bool? {
        switch rule.test {
        case .above(let limit): return value(member, introduced, now).map { $0 > limit }
        case .fails: return last("p").map { $0.value == nil }
        case .badStatus: return last("p").flatMap { $0.time > introduced ? $0.value.map { $0 != 200 } ?? false : nil }
        case .silent(let span):
            let heard = history[start.events...].last { $0.name == member && $0.value != nil }?.time
            let isOver = now - (heard ?? max(start.time, introduced)) >= span - 1e-9
            return isOver ? true : heard == nil ? nil : false
        }
    }

    /// The newest value, while its source neither fails nor is late.
    private func value(_ member: String, _ introduced: Double, _ now: Double) -> Double? {
        if member.hasPrefix("p") {
            let answered = history[start.events...].last { $0.name == "p" && $0.value != nil }?.time ?? now
            guard last("p")?.value != nil, now - answered <= 25 else { return nil }
        }
        return last(member).flatMap { $0.time > introduced ? $0.value : nil }
    }

    /// One member is enough for `any`; otherwise each must have a result.
    private func combined(_ results: [Bool?], _ isAny: Bool) -> Bool? {
        if results.contains(isAny) { return isAny }
        return results.isEmpty || results.contains(nil) ? nil : !isAny
    }

    // MARK: States

    private mutating func step(_ rule: WitnessRule, _ about: String, _ holds: Bool?, _ ends: Bool?, _ now: Double) {
        let key = [rule.name, about]
        var state = states[key] ?? State()
        let old = state.phase
        let isOver = rule.end == nil ? holds.map { !$0 } : ends
        let passed = now - state.begun + 1e-9
        switch old {
        case "ok" where holds == true && ends != true:
            state = State(phase: rule.hold > 0 ? "pending" : "firing", since: now, begun: now)
        case "pending" where holds == false || ends == true: state.phase = "ok"
        case "pending" where holds == true && passed >= rule.hold: state.phase = "firing"
        case "firing" where isOver == true && rule.end?.hold ?? 0 == 0: state.phase = "ok"
        case "firing" where isOver == true: (state.phase, state.begun) = ("clearing", now)
        case "clearing" where isOver == false: state.phase = "firing"
        case "clearing" where isOver == true && passed >= rule.end?.hold ?? 0: state.phase = "ok"
        default: break
        }
        if state.phase != old { state.age = nil }
        states[key] = state
        guard state.phase != old else { return }
        tell(key, state.phase == "ok" && old != "pending" ? "resolved" : state.phase, at: now, since: state.since)
    }

    private mutating func tell(_ key: [String], _ state: String, at now: Double, since: Double) {
        told.append(Told(about: key[1], condition: key[0], state: state, at: now, since: since))
    }
}
