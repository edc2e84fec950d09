package import Reactor

/// An alert that fires, from its newest line; texts have at most 1,000 code points, `id` and `severity` 64.
package struct BoardAlert: Sendable, Equatable {
    /// The agent of a fleet that has computed it; nil for the agent whose feed this is.
    package let agent: String?
    package let condition: String
    /// What it is about, as its line says.
    package let about: String
    /// The same as this feed names it: the series and sources of an agent of a fleet have that agent's name.
    package let subject: String
    package fileprivate(set) var severity: String?
    package fileprivate(set) var id: String
    /// Since when its tests hold.
    package fileprivate(set) var since: Timestamp
    /// The value or the text that decided.
    package fileprivate(set) var value: Double?
    package fileprivate(set) var text: String?
    package fileprivate(set) var test: String
    /// See `Alert.limit`.
    package fileprivate(set) var limit: Alert.Limit?
    package fileprivate(set) var note: String?
    package fileprivate(set) var evidence: Alert.Evidence
    /// Whether lines are missing behind its newest one: it may be over.
    package fileprivate(set) var isDoubtful = false
    /// The number of its newest line; 0 for none.
    fileprivate var sequence: Int
    /// The value of `BoardAlerts.changes` when that came.
    fileprivate var change = 0

    fileprivate init(_ alert: Alert, of agent: String?, sequence: Int) {
        self.agent = agent
        (condition, about) = (alert.condition, alert.about)
        let kind = SeriesKind(of: alert.about).prefix
        subject =
            agent.map { "\(kind)\($0)." + String(Substring(alert.about.utf8.dropFirst(kind.utf8.count))) }
            ?? alert.about
        severity = alert.severity?.cut(to: Self.longestWord)
        id = alert.id.cut(to: Self.longestWord)
        (since, value, limit) = (alert.since, alert.value, alert.limit)
        text = alert.text?.cut(to: Board.longestText)
        test = alert.test.cut(to: Board.longestText)
        note = alert.note?.cut(to: Board.longestText)
        (evidence, self.sequence) = (alert.evidence, sequence)
        evidence.run = evidence.run.cut(to: Self.longestWord)
    }

    private static let longestWord = 64

    /// Whether a value meets `limit`; false without one.
    package func isBeyond(_ number: Double) -> Bool {
        guard let limit else { return false }
        let upper = limit.upper ?? limit.value
        return switch limit.comparison {
        case .less: number < limit.value
        case .atMost: number <= limit.value
        case .greater: number > limit.value
        case .atLeast: number >= limit.value
        case .equal: number == limit.value
        case .unequal: number != limit.value
        case .within: limit.value <= number && number <= upper
        case .outside: number < limit.value || upper < number
        }
    }
}

/// What fires, from alert lines: rule 10 of `Board`.
package struct BoardAlerts: Sendable {
    private struct Key: Hashable {
        let agent: String?
        let condition: Board.Name
        let about: Board.Name
    }

    /// The numbers of the alerts, in the order in which they began; a number stays with its alert.
    package private(set) var numbers: [Int] = []
    /// The number of alert lines that found no room.
    package private(set) var refused = 0
    /// How often something changed.
    package private(set) var changes = 0
    /// What changed up to here may be over.
    private var doubted = 0
    /// What had changed when the newest connection began; nil behind its first numbered line.
    private var greeted: Int?

    private let limit: Int
    private var lastNumber = 0
    private var byNumber: [Int: BoardAlert] = [:]
    private var byKey: [Key: Int] = [:]
    private var bySubject: [Board.Name: [Int]] = [:]

    /// - Parameter limit: the most alerts.
    init(limit: Int) { self.limit = limit }

    package var count: Int { numbers.count }
    package var isEmpty: Bool { numbers.isEmpty }

    /// The alert of a number; nil once it is over.
    package subscript(number: Int) -> BoardAlert? {
        guard var alert = byNumber[number] else { return nil }
        alert.isDoubtful = alert.change <= doubted
        return alert
    }

    /// In the order in which they began.
    package var all: some Sequence<BoardAlert> { numbers.lazy.compactMap { self[$0] } }

    /// The numbers of the alerts about a series, source or agent, in their order.
    package func numbers(about subject: String) -> [Int] {
        byNumber.isEmpty ? [] : bySubject[Board.Name(subject)] ?? []
    }

    /// The alerts about a series, source or agent, in their order.
    package func about(_ subject: String) -> [BoardAlert] { numbers(about: subject).compactMap { self[$0] } }

    /// Applies an alert line, live or kept.
    ///
    /// - Parameters:
    ///   - agent: the agent of a fleet that it comes from.
    ///   - sequence: the line's number; 0 for none.
    mutating func apply(_ alert: Alert, of agent: String?, sequence: Int) {
        let key = Key(agent: agent, condition: Board.Name(alert.condition), about: Board.Name(alert.about))
        let known = byKey[key].flatMap { number in byNumber[number].map { (number, $0) } }
        if let known, sequence > 0, sequence < known.1.sequence { return }
        guard alert.state.isFiring else {
            if let known { remove(known.0) }
            return
        }
        var new = BoardAlert(alert, of: agent, sequence: sequence)
        let isNamed =
            [alert.condition, alert.about].allSatisfy { $0.utf8.count <= Board.longestName }
            && agent.map { AgentName.isValid($0) } ?? true
        guard isNamed, known != nil || count < limit else {
            refused += 1
            return
        }
        changes += 1
        new.change = changes
        if let known {
            byNumber[known.0] = new
            return
        }
        lastNumber += 1
        numbers.append(lastNumber)
        byNumber[lastNumber] = new
        byKey[key] = lastNumber
        bySubject[Board.Name(new.subject), default: []].append(lastNumber)
    }

    /// A connection begins, with kept lines of what fires when its numbered lines begin.
    mutating func greet() { greeted = changes }

    /// The first numbered line of a connection came.
    mutating func goOn() { greeted = nil }

    /// Lines are missing: each alert that has not been told since may be over.
    mutating func doubt() {
        doubted = greeted ?? changes
        changes += 1
    }

    /// Removes what an agent of a fleet has computed.
    mutating func remove(of agent: String) {
        for number in numbers where byNumber[number]?.agent == agent { remove(number) }
    }

    private mutating func remove(_ number: Int) {
        guard let alert = byNumber.removeValue(forKey: number) else { return }
        changes += 1
        byKey[Key(agent: alert.agent, condition: Board.Name(alert.condition), about: Board.Name(alert.about))] = nil
        let subject = Board.Name(alert.subject)
        bySubject[subject]?.removeAll { $0 == number }
        if bySubject[subject]?.isEmpty == true { bySubject[subject] = nil }
        // Ascending.
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < number { low = middle + 1 } else { high = middle }
        }
        numbers.remove(at: low)
    }
}
