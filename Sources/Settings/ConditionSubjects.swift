internal import Conditions
internal import Feed

/// The names that conditions may be about, as far as the settings say them.
struct ConditionSubjects: Sendable {
    /// The sources with data of their own.
    private(set) var own: [String] = []
    /// The agents that are sources.
    private(set) var agents: [String] = []
    /// The sources that read any number of agents.
    private(set) var brokers: [String] = []

    init(_ sources: [ConfiguredSource]) {
        for source in sources {
            if source.isAgent {
                agents.append(source.name)
            } else if source.kind == .feed {
                brokers.append(source.name)
            } else {
                own.append(source.name)
            }
        }
    }

    var isFleet: Bool { !agents.isEmpty || !brokers.isEmpty }
}

/// Checks the subjects of conditions against the sources of an agent that reads no other agents.
struct SubjectCheck {
    private let own: [String]
    private let known: Set<String>
    private let choice: String
    /// Each suggestion compares a name with all others.
    private var suggestions = 10

    init(_ subjects: ConditionSubjects) {
        own = subjects.own
        known = Set(own + [EventStore.ownName])
        choice = UsageError.list(own.prefix(10).map { UsageError.quoted($0) })
    }

    /// What is wrong with the subject; nil if nothing is.
    mutating func fault(of condition: Condition) -> String? {
        if condition.isAboutAgents { return "there are no agents here; attach to several, or write a source" }
        if condition.isAboutAll, own.count > 1 {
            return "there are \(own.count) sources; write one of them in front, or *: \(choice)"
        }
        guard let subject = condition.literalSubject, !subject.utf8.contains(UInt8(ascii: ":")) else { return nil }
        let source = String(decoding: subject.utf8.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        guard !known.contains(source) else { return nil }
        var meant: String?
        if suggestions > 0 {
            suggestions -= 1
            meant = EditDistance.suggestion(for: source, among: own + [EventStore.ownName])
        }
        return "there is no source \(UsageError.quoted(source))\(meant.map { "; did you mean '\($0)'?" } ?? "")"
    }
}

/// Finds the sources that conditions are about.
struct SubjectFinder {
    private let subjects: ConditionSubjects
    private let known: Set<String>
    /// How many more names are compared with patterns, so that many patterns and many sources end soon.
    private var comparisons = 100_000

    private static let mostNames = 3

    init(_ subjects: ConditionSubjects) {
        self.subjects = subjects
        known = Set(subjects.own + [EventStore.ownName])
    }

    /// The names of the first sources, for people.
    mutating func sources(of conditions: [Condition]) -> String {
        var names: [String] = []
        for condition in conditions where names.count <= Self.mostNames { add(condition, to: &names) }
        guard !names.isEmpty else { return comparisons > 0 ? "no source" : "…" }
        return names.prefix(Self.mostNames).joined(separator: ", ") + (names.count > Self.mostNames ? ", …" : "")
    }

    private mutating func add(_ condition: Condition, to names: inout [String]) {
        if !subjects.isFleet, let subject = condition.literalSubject {
            // Behind the colon of `latency:fact`.
            let series = subject.utf8.split(separator: UInt8(ascii: ":")).last ?? subject.utf8[...]
            let source = String(decoding: series.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
            if known.contains(source), !names.contains(source) { names.append(source) }
            return
        }
        let own: [String] = condition.isAboutAgents ? [] : subjects.own
        add(own, to: &names) { condition.mayConcern(source: $0) }
        add(subjects.agents, to: &names) { condition.mayConcern(agent: $0) }
        add(subjects.brokers, to: &names) { _ in true }
    }

    private mutating func add(_ others: [String], to names: inout [String], where isMeant: (String) -> Bool) {
        for name in others {
            guard names.count <= Self.mostNames, comparisons > 0 else { return }
            comparisons -= 1
            if isMeant(name), !names.contains(name) { names.append(name) }
        }
    }
}
