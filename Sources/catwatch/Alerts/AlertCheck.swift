internal import Conditions
internal import Feed
internal import Settings

/// What the first answers of the sources say of alerts: the series that they match, those for which they fire, and tests that
/// cannot hold.
struct AlertCheck {
    private let rules: [AlertRule]
    /// By the rule's number.
    private var matches: [Matches]
    private var states: [State] = []
    /// The states of conditions about one name, by that name, and those of all others.
    private var named: [String: [Int]] = [:]
    private var others: [Int] = []
    private var seen: Set<String> = []
    /// What fires is about, by the names of the rule and of the episode.
    private var firing: [String: [String: String]] = [:]

    // Bound: series that `check --online` counts for alerts | 100,000 | counts no more
    private static let mostSeries = 100_000
    private static let mostNames = 3

    /// The series that an alert matches.
    private struct Matches {
        var count = 0
        /// The first of them.
        var names: [String] = []
        /// The number of the newest one.
        var last = 0
    }

    /// A condition of a rule.
    private struct State {
        let condition: Condition
        let rule: Int
        /// Whether a series matches.
        var isMatched = false
        /// By the test's number: whether some data can decide it, and else why the first data cannot.
        var tests: [(canHold: Bool, obstacle: String?)]
    }

    init(_ rules: [AlertRule]) {
        self.rules = rules
        matches = rules.map { _ in Matches() }
        for (number, rule) in rules.enumerated() {
            for condition in rule.conditions where !condition.isOfSources {
                let tests = condition.testTexts.map { _ in (canHold: false, obstacle: String?.none) }
                if let name = condition.literalSubject {
                    named[name, default: []].append(states.count)
                } else {
                    others.append(states.count)
                }
                states.append(State(condition: condition, rule: number, tests: tests))
            }
        }
    }

    /// Applies a data line.
    ///
    /// - Parameter bands: the scale of the source; nil if it is not known whether there is one.
    mutating func apply(_ data: Line.Data, of source: String, bands: BandScale??) {
        guard !states.isEmpty else { return }
        let isNew = seen.count < Self.mostSeries && seen.insert(data.series).inserted
        for number in [named[data.series] ?? [], named[source] ?? [], others].joined() {
            let condition = states[number].condition
            guard condition.isAbout(series: data.series, of: source) else { continue }
            states[number].isMatched = true
            let rule = states[number].rule
            if isNew, matches[rule].last != seen.count {
                matches[rule].count += 1
                matches[rule].last = seen.count
                if matches[rule].names.count < Self.mostNames { matches[rule].names.append(data.series) }
            }
            for (index, obstacle) in condition.obstacles(in: data, bands: bands).enumerated() {
                if obstacle == nil { states[number].tests[index].canHold = true }
                if states[number].tests[index].obstacle == nil { states[number].tests[index].obstacle = obstacle }
            }
        }
    }

    /// Applies an alert line.
    mutating func apply(_ alert: Alert) {
        switch (alert.state, alert.reason) {
        case (.firing, _): firing[alert.condition, default: [:]][alert.id] = alert.about
        // A source is not read any more once it has answered.
        case (.reminder, _), (.resolved, .forgotten): break
        case (.resolved, _): firing[alert.condition]?[alert.id] = nil
        }
    }

    /// Whether an alert fires.
    var isFiring: Bool { firing.values.contains { !$0.isEmpty } }

    /// A line for each alert, one for what it fires for, and one for each warning below it.
    ///
    /// - Parameter answered: the sources that answered.
    func report(answered: Set<String>) -> String {
        var warnings = rules.map { _ in "" }
        for state in states {
            let line = Sanitizer.visible(state.condition.text, limit: 100)
            if !state.isMatched, mayMatch(state.condition, answered) {
                warnings[state.rule] += "  warning: no series matches '\(line)'\n"
            }
            guard state.isMatched else { continue }
            for (text, test) in zip(state.condition.testTexts, state.tests) where !test.canHold {
                warnings[state.rule] += "  warning: '\(text)' can never hold: \(test.obstacle ?? "")\n"
            }
        }
        return rules.indices.map { number in
            let name = Sanitizer.visible(rules[number].name, limit: 100)
            return "alert \(name): \(summary(number, answered))\n\(fires(number))\(warnings[number])"
        }.joined()
    }

    private func summary(_ number: Int, _ answered: Set<String>) -> String {
        guard !rules[number].conditions.allSatisfy(\.isOfSources) else { return "about sources, not series" }
        let found = matches[number]
        guard found.count > 0 else { return "no series yet" }
        return "\(found.count) series: \(text(of: found.names, outOf: found.count))"
    }

    private func fires(_ number: Int) -> String {
        let names = (firing[LineEncoder.cut(rules[number].name)]?.values).map { $0.sorted() } ?? []
        guard !names.isEmpty else { return "" }
        return "  fires for \(names.count): \(text(of: names.prefix(Self.mostNames), outOf: names.count))\n"
    }

    private func text(of names: some Collection<String>, outOf count: Int) -> String {
        let shown = names.map { Sanitizer.visible($0, limit: 100) }.joined(separator: ", ")
        return "\(shown)\(count > names.count ? ", …" : "")"
    }

    /// Whether a source answered that the condition may be about.
    private func mayMatch(_ condition: Condition, _ answered: Set<String>) -> Bool {
        guard let name = condition.literalSubject else {
            return answered.contains { condition.mayConcern(source: $0) }
        }
        let source = String(decoding: name.utf8.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        return answered.contains(source)
    }
}
