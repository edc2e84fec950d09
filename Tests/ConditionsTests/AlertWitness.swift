@testable import Conditions

/// Applies the rules of docs/conditions.md to everything that ever happened, anew for each moment.
struct AlertWitness {
    struct Rule: Equatable {
        enum Test: Equatable {
            case above(Double)
            case fails
            case silent(Double)
            case badStatus
        }

        var name: String
        /// `any` or `all`; empty for each.
        var set = ""
        /// `s/*`, or the source `p`.
        var subject: String
        var test: Test
        var hold = 0.0
        var end: (below: Double, hold: Double)?

        static func == (left: Rule, right: Rule) -> Bool { left.line == right.line }

        /// As people write it.
        var line: String {
            func text(_ hold: Double) -> String { hold > 0 ? " for \(Int(hold))s" : "" }
            let test =
                switch test {
                case .above(let limit): "value > \(limit)"
                case .fails: "fails"
                case .silent(let span): "silent \(Int(span))s"
                case .badStatus: "status != 200"
                }
            let end = end.map { " until value < \($0.below)\(text($0.hold))" } ?? ""
            return "\(name): \(set) \(subject) \(test)\(text(hold))\(end)"
        }
    }

    enum Happening {
        case value(String, Double)
        case failure
        case answer(Int)
        case restart(newestLine: Double)
        case reload([Rule])
    }

    struct Told: Equatable { var about: String, condition: String, state: String, at: Double, since: Double }

    /// Where an alert stands, and since when: by the clock of lines, and without the time that no agent ran.
    private struct State {
        var phase = "ok", since = 0.0, begun = 0.0
        /// The time from its line to the end of its run, if that has ended.
        var age: Double?
    }

    private var rules: [Rule]
    private let first: [Rule]
    private(set) var history: [(time: Double, what: Happening)] = []
    private var states: [[String]: State] = [:]
    /// The series that have spoken since the start, or of which a line of before says that they are not ok.
    private var known: Set<String> = []
    private(set) var told: [Told] = []

    init(_ rules: [Rule]) { (self.rules, first) = (rules, rules) }

    // MARK: What happens

    /// Something happens, and what it concerns is evaluated.
    mutating func add(_ what: Happening, at time: Double) {
        history.append((time, what))
        switch what {
        case .restart(let newestLine):
            known = Set(states.filter { $0.value.phase != "ok" && !$0.key[1].contains("*") }.map { $0.key[1] })
            for (key, state) in states {
                let age = state.age ?? max(0, newestLine - state.begun)
                states[key] = State(phase: state.phase, since: state.since, begun: time - age, age: age)
            }
        case .reload(let new):
            for (key, state) in states where state.phase != "ok" && !new.contains(where: { $0.name == key[0] }) {
                tell(key, state.phase == "pending" ? "ok" : "resolved", at: time, since: state.since)
                states[key] = nil
            }
            rules = new
            evaluate(at: time)
        case .value(let series, _):
            known.insert(series)
            evaluate(series, at: time)
        case .failure, .answer:
            evaluate("p", at: time)
        }
    }

    /// An answer with its values: these count together.
    mutating func add(_ answer: Happening, _ values: [(String, Double)], at time: Double) {
        for (series, value) in values {
            history.append((time, .value(series, value)))
            known.insert(series)
        }
        add(answer, at: time)
    }

    /// - Parameter subject: the series or source that is evaluated; empty for all.
    mutating func evaluate(_ subject: String = "", at now: Double) {
        for rule in rules where rule.subject.prefix(1) == subject.prefix(1) || subject.isEmpty {
            let members = members(of: rule, at: now)
            guard !rule.set.isEmpty else {
                for member in members where member.hasPrefix(subject) {
                    step(
                        rule, member, result(rule, member, now), rule.end.map { ending($0.below, rule, member, now) },
                        now)
                }
                continue
            }
            let end = rule.end.map { end in
                combined(members.map { ending(end.below, rule, $0, now) }, isAny: rule.set == "all")
            }
            step(
                rule, rule.subject, combined(members.map { result(rule, $0, now) }, isAny: rule.set == "any"), end, now)
        }
    }

    // MARK: Results

    private func start(_ now: Double) -> Int {
        (history.lastIndex { if case .restart = $0.what { true } else { false } } ?? -1) + 1
    }

    /// What happened since the last start.
    private func recent(_ now: Double) -> ArraySlice<(time: Double, what: Happening)> { history[start(now)...] }

    /// The series and sources that a rule is about.
    private func members(of rule: Rule, at now: Double) -> [String] {
        guard rule.subject.hasSuffix("*") else { return [rule.subject] }
        return known.filter { $0.hasPrefix(rule.subject.prefix(2)) }.sorted()
    }

    private func result(_ rule: Rule, _ member: String, _ now: Double) -> Bool? {
        switch rule.test {
        case .above(let limit): return value(rule, member, now).map { $0 > limit }
        case .fails: return outcome(now).map { $0 == nil }
        case .badStatus:
            let known = since(rule, now)
            return recent(now).last { event in
                guard event.time > known else { return false }
                return switch event.what {
                case .failure, .answer: true
                default: false
                }
            }.map { if case .answer(let status) = $0.what { status != 200 } else { false } }
        case .silent(let span):
            let heard = recent(now).last { event in
                switch event.what {
                case .value(let name, _): member == "p" ? name.hasPrefix("p") : name == member
                case .answer(let status): member == "p" && status == 304
                default: false
                }
            }?.time
            let begun = heard ?? began(rule, now)
            return now - begun >= span - 1e-9 ? true : heard == nil ? nil : false
        }
    }

    private func ending(_ limit: Double, _ rule: Rule, _ member: String, _ now: Double) -> Bool? {
        value(rule, member, now).map { $0 < limit }
    }

    /// The newest value, while its source neither fails nor is late.
    private func value(_ rule: Rule, _ member: String, _ now: Double) -> Double? {
        if member.hasPrefix("p"), outcome(now) != .some(.some(true)) || lateness(now) > 25 { return nil }
        let known = since(rule, now)
        for case (let time, .value(member, let value)) in recent(now).reversed() where time > known { return value }
        return nil
    }

    /// Whether the newest result of `p` was good, `nil` within for a failure; nil before the first.
    private func outcome(_ now: Double) -> Bool?? {
        let last = recent(now).last {
            switch $0.what {
            case .failure, .answer: true
            default: false
            }
        }
        return last.map { if case .failure = $0.what { nil } else { true } }
    }

    private func lateness(_ now: Double) -> Double {
        let last = recent(now).last { if case .answer = $0.what { true } else { false } }
        return now - (last?.time ?? now)
    }

    /// From when on a rule has read anything: it may have come with a reload.
    private func since(_ rule: Rule, _ now: Double) -> Double {
        introduced(rule)
    }

    /// When the rule came as it is now.
    private func introduced(_ rule: Rule) -> Double {
        var (time, isThere) = (-1.0, first.contains(rule))
        for case (let moment, .reload(let rules)) in history {
            if rules.contains(rule), !isThere { time = moment }
            isThere = rules.contains(rule)
        }
        return time
    }

    private func began(_ rule: Rule, _ now: Double) -> Double {
        let start = history.last { if case .restart = $0.what { true } else { false } }?.time ?? 0
        return max(start, introduced(rule))
    }

    /// One member is enough for `any`; otherwise each must have a result.
    private func combined(_ results: [Bool?], isAny: Bool) -> Bool? {
        if results.contains(isAny) { return isAny }
        return results.isEmpty || results.contains(nil) ? nil : !isAny
    }

    // MARK: States

    private mutating func step(_ rule: Rule, _ about: String, _ holds: Bool?, _ ends: Bool??, _ now: Double) {
        let key = [rule.name, about]
        var state = states[key] ?? State()
        let old = state.phase
        let ends = ends.map { $0 } ?? nil
        let over = rule.end == nil ? holds.map { !$0 } : ends
        switch old {
        case "ok" where holds == true && ends != true:
            state = State(phase: rule.hold > 0 ? "pending" : "firing", since: now, begun: now)
        case "pending" where holds == false || ends == true: state.phase = "ok"
        case "pending" where holds == true && now - state.begun >= rule.hold - 1e-9: state.phase = "firing"
        case "firing" where over == true:
            (state.phase, state.begun) = rule.end.map { $0.hold > 0 } ?? false ? ("clearing", now) : ("ok", state.begun)
        case "clearing" where over == false: state.phase = "firing"
        case "clearing" where over == true && now - state.begun >= (rule.end?.hold ?? 0) - 1e-9: state.phase = "ok"
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
