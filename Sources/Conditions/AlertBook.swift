package import Feed
package import Reactor

/// The alerts of a feed: computed from its numbered lines alone, so that the feed, its journal and a recording give the same.
///
/// Time is that of the lines, without steps of the clock and without sleep, which `clock` lines tell (decision 0070). An *episode*
/// lasts from the line that says `firing` to the one that says `resolved`.
package struct AlertBook: LineWatcher {
    package let rules: [AlertRule]
    package let conditions: [String]
    private let interval: Duration
    private let run: String
    private var board: ConditionBoard
    /// The rule of each condition on the board, and the rules' and conditions' places by name.
    private let ruleOfCondition: [Int]
    private let places: [Board.Name: (rule: Int, conditions: Range<Int>)]
    private var episodes: [Key: Firing] = [:]
    /// The episodes by the numbers that `reminders` has.
    private var keys: [Int: Key] = [:]
    /// Since when the newest episode of each held, and how many of that time were computed, and read.
    private var newest: [Key: (since: Timestamp, computed: Int, read: Int)] = [:]
    private var nextNumber = 0
    private var reminders = DeadlineSchedule<Int>()
    /// Alerts that nobody has taken yet.
    private var due: [(source: String, alert: Alert)] = []
    /// The number of those that were taken.
    private var taken = 0
    /// Whether turns are those of an earlier run, or of one who is told otherwise.
    private var isSilent = false
    /// Up to when time passes now.
    private var passing: Timestamp?

    /// How far the wall clock is ahead of the time that counts.
    private var offset = Duration.zero
    /// The newest time by the feed's own clock, and how far those of a fleet's agents are ahead of it.
    private var ownTime: Timestamp?
    private var skews: [String: Duration] = [:]

    /// The alerts about sources and agents of a fleet, by the names of these, that have not come back since the run began, and when
    /// they are given up.
    private var absent: [Board.Name: Set<Key>] = [:]
    private var absentUntil: Timestamp?

    /// Whether conditions may be about a source, for those that were asked for.
    private var sources: [Board.Name: Bool] = [:]
    private static let mostNames = 20_000

    private struct Key: Hashable {
        /// The name of the rule.
        let condition: Board.Name
        let about: Board.Name
    }

    private struct Firing {
        /// Its newest alert; its times are those of the wall clock.
        var alert: Alert
        let source: String
        var number: Int
        /// The conditions that are met, of those of its rule.
        var met: Set<Int> = []
        /// When it began to fire, and when that was last told.
        let begun: Timestamp
        var told: Timestamp
        /// Whether its condition was changed, and is about to be judged anew.
        var isChanged = false
    }

    /// - Parameters:
    ///   - run: the name of the feed's run.
    ///   - interval: the width of the feed's windows.
    ///   - start: when watching begins; nil if lines of the past come first.
    package init(_ rules: [AlertRule], run: String, interval: Duration, from start: Timestamp?) {
        (self.rules, self.run, self.interval) = (rules, run, interval)
        self.conditions = rules.map(\.name)
        var conditions: [Condition] = []
        var places: [Board.Name: (rule: Int, conditions: Range<Int>)] = [:]
        var ruleOfCondition: [Int] = []
        for (index, rule) in rules.enumerated() {
            let first = conditions.count
            conditions += rule.conditions
            places[Board.Name(rule.name)] = (index, first..<conditions.count)
            ruleOfCondition += repeatElement(index, count: rule.conditions.count)
        }
        (self.places, self.ruleOfCondition) = (places, ruleOfCondition)
        board = ConditionBoard(
            conditions, from: start, isJudging: true, isByLines: true, tellsTurns: true, interval: interval)
        ownTime = start
    }

    /// The number of episodes.
    package var count: Int { episodes.count }
    /// Whether a rule is about something that has come.
    package func hasSubject(_ rule: Int) -> Bool {
        places[Board.Name(rules[rule].name)]?.conditions.contains { board.hasSubject($0) } ?? false
    }
    /// The longest time that a condition looks back.
    package var memory: Duration { board.conditions.map(\.memory).max() ?? .zero }
    /// The number of lines of which the series found no room.
    package var refused: Int { board.refused }

    // MARK: Lines

    package mutating func isAbout(source: String) -> Bool {
        if let known = sources[Board.Name(source)] { return known }
        if sources.count >= Self.mostNames { sources = [:] }
        let isAbout = board.mayBeAbout(source: source)
        sources[Board.Name(source)] = isAbout
        return isAbout
    }

    package mutating func describe(_ status: SourceStatus) {
        absent[Board.Name(status.source)] = nil
        board.describe(status)
        collect()
    }
    package mutating func retire(source: String) {
        board.retire(source: source)
        collect()
    }
    /// Describes the sources that a `stats` line has.
    ///
    /// - Parameter isAll: whether there are no others; in a fleet there may be.
    package mutating func list(_ stats: Line.Stats, isAll: Bool) {
        for status in stats.sources { describe(status) }
        if isAll, stats.moreSources == 0 { board.retire(allBut: Set(stats.sources.map(\.source))) }
        collect()
    }

    package mutating func miss(_ numbers: ClosedRange<Int>) {
        board.miss()
        collect()
    }

    package func pendingCount(_ rule: Int) -> Int {
        places[Board.Name(rules[rule].name)]?.conditions.reduce(0) { $0 + board.pendingCount($1) } ?? 0
    }

    package var calm: (low: Double, high: Double)? { board.calm }

    /// Applies the next line of the feed, or of a recording.
    package mutating func apply(_ line: Line, newest: Timestamp? = nil) {
        switch line.body {
        case .clock(let change) where line.agent == nil:
            // As exact as times in lines, so that it does not matter where reading begins.
            offset += .microseconds((change.step + change.slept).microseconds)
        case .peer(let peer):
            absent[Board.Name(line.agent ?? "")] = nil
            // Nobody's clock is wrong by more than a year, whatever a line says.
            if let agent = line.agent, skews.count < Self.mostNames || skews[agent] != nil {
                skews[agent] = peer.skew.map { .microseconds(min(max($0, -3e10), 3e10) * 1_000) }
            }
        default: break
        }
        if !absent.isEmpty, let source = line.source { absent[Board.Name(source)] = nil }
        // As live, where such events are not looked at.
        if case .data = line.body, let source = line.source, !isAbout(source: source) { return }
        let time = time(of: line)
        if let time { pass(to: time) }
        if case .alert(let alert) = line.body { return countEpisode(alert, line) }
        board.apply(steady(line), at: time, newest: newest.map { $0 - offset })
        collect()
    }

    /// The line with the times that count: what is older does not depend on how the clock was set.
    private func steady(_ line: Line) -> Line {
        var line = line
        switch line.body {
        // Its own times are compared with each other.
        case .peer: return line
        case .window(var window):
            window.start = window.start - offset
            line.body = .window(window)
        default: break
        }
        line.time = line.time - offset
        return line
    }

    /// Remembers which episodes there were, for the names of those that follow: their conditions may have been others.
    private mutating func countEpisode(_ alert: Alert, _ line: Line) {
        guard line.agent == nil, alert.state == .firing else { return }
        let key = Key(condition: Board.Name(alert.condition), about: Board.Name(alert.about))
        var known = counts(of: key, since: alert.since)
        known.read += 1
        newest[key] = known
    }

    /// When a line counts; nil if it says nothing of the time. An event of our own is at most a window ahead of the clock.
    private mutating func time(of line: Line) -> Timestamp? {
        guard line.seq != nil else { return nil }
        let time = line.time - offset
        guard let agent = line.agent else {
            if case .data = line.body {} else { ownTime = time }
            return time
        }
        // An agent's clock may be anything.
        let itsTime = line.isForwarded ? time - (skews[agent] ?? .zero) : time
        return ownTime.map { min(itsTime, $0 + interval) } ?? itsTime
    }

    // MARK: Time

    package var nextDeadline: Timestamp? { earliest.map { $0 + offset } }

    private var earliest: Timestamp? {
        [board.nextDeadline, reminders.earliest, absentUntil].compactMap { $0 }.min()
    }

    package mutating func advance(to wall: Timestamp) { pass(to: wall - offset) }

    /// Lets time pass, up to what is due by then: between two lines nothing else shows how late it is.
    private mutating func pass(to time: Timestamp) {
        passing = time
        while let next = earliest, next <= time {
            board.meetDeadlines(until: next)
            collect()
            if absentUntil.map({ $0 <= next }) ?? false { giveUp(at: next) }
            while let reminder = reminders.pop(at: next) { remind(reminder.key, at: reminder.time) }
        }
    }

    // MARK: Episodes

    package var hasAlerts: Bool { !due.isEmpty }

    package mutating func nextAlert() -> (source: String, alert: Alert)? {
        guard taken < due.count else { return nil }
        defer {
            taken += 1
            if taken == due.count { (due, taken) = ([], 0) }
        }
        return due[taken]
    }

    /// Removes and returns all alerts that are due.
    package mutating func takeAlerts() -> [(source: String, alert: Alert)] {
        defer { (due, taken) = ([], 0) }
        return Array(due[taken...])
    }

    private mutating func collect() {
        let turns = board.takeTurns()
        guard !turns.isEmpty else { return }
        var ended: [(key: Key, turn: Turn)] = []
        for turn in turns {
            if turn.isMet {
                begin(turn)
            } else {
                let key = key(of: turn)
                episodes[key]?.met.remove(turn.condition)
                ended.append((key, turn))
            }
        }
        // Another condition of the rule may be met by the same line.
        for (key, turn) in ended where !isSilent && episodes[key]?.met.isEmpty == true {
            guard let episode = episodes[key] else { continue }
            var alert = episode.alert
            board.measure(turn, in: run, into: &alert)
            if turn.isGone { (alert.value, alert.text) = (nil, nil) }
            resolve(key, alert, at: turn.at, turn.isGone ? .forgotten : episode.isChanged ? .changed : .until)
        }
    }

    private func key(of turn: Turn) -> Key {
        Key(
            condition: Board.Name(rules[ruleOfCondition[turn.condition]].name),
            about: Board.Name(board.subject(of: turn).name))
    }

    private mutating func begin(_ turn: Turn) {
        guard !isSilent else { return }
        let rule = rules[ruleOfCondition[turn.condition]]
        let (about, source) = board.subject(of: turn)
        let key = key(of: turn)
        guard episodes[key] == nil else {
            episodes[key]?.met.insert(turn.condition)
            return
        }
        let since = turn.since + offset
        let condition = board.conditions[turn.condition]
        let alert = Alert(
            about: about, condition: rule.name, state: .firing, id: id(for: key, since: since), at: turn.at + offset,
            since: since, severity: rule.severity?.rawValue, test: condition.body, limit: condition.shownLimit,
            note: rule.note, evidence: Alert.Evidence(run: run, from: turn.from, to: turn.line))
        var episode = Firing(
            alert: alert, source: source ?? EventStore.ownName, number: nextNumber, met: [turn.condition],
            begun: turn.at, told: turn.at)
        nextNumber += 1
        keys[episode.number] = key
        board.measure(turn, in: run, into: &episode.alert)
        episodes[key] = episode
        schedule(key, rule)
        due.append((episode.source, episode.alert))
    }

    /// The name of an episode: the same whenever it is computed, so that one whose line was lost keeps it.
    private mutating func id(for key: Key, since: Timestamp) -> String {
        var known = counts(of: key, since: since)
        let count = max(known.computed, known.read)
        known.computed = count + 1
        newest[key] = known
        return Alert.digest(
            "\(key.condition.text)\u{0}\(key.about.text)\u{0}\(since.microseconds)\u{0}\(count)".utf8)
    }

    /// How many episodes of this time were computed, and read from alert lines: events of one time may begin several.
    private mutating func counts(of key: Key, since: Timestamp) -> (since: Timestamp, computed: Int, read: Int) {
        if newest.count >= Self.mostNames { newest = [:] }
        return newest[key].flatMap { $0.since == since ? $0 : nil } ?? (since, 0, 0)
    }

    private mutating func resolve(_ key: Key, _ last: Alert, at time: Timestamp, _ reason: Alert.Reason) {
        guard let episode = episodes.removeValue(forKey: key) else { return }
        keys[episode.number] = nil
        reminders.set(episode.number, at: nil)
        var alert = last
        (alert.state, alert.reason, alert.at) = (.resolved, reason, time + offset)
        alert.down = max(.zero, time - episode.begun)
        due.append((episode.source, alert))
    }

    /// Schedules the next reminder: of those that would have been told by now, one is.
    private mutating func schedule(_ key: Key, _ rule: AlertRule) {
        guard let episode = episodes[key] else { return }
        reminders.set(
            episode.number, at: rule.reminder.map { max(episode.told + $0, passing ?? episode.told) })
    }

    package mutating func remind() {
        for number in keys.keys.sorted() { remind(number, at: passing ?? board.time) }
    }

    private mutating func remind(_ number: Int, at time: Timestamp) {
        guard let key = keys[number], let episode = episodes[key], let place = places[key.condition] else { return }
        var alert = episode.alert
        (alert.state, alert.at, alert.reason) = (.reminder, time + offset, nil)
        for condition in episode.met {
            alert.note(board.worst(of: condition, about: alert.about, source: episode.source))
        }
        episodes[key]?.alert = alert
        // However much time passes at once, it is told once.
        episodes[key]?.told = max(time, passing ?? time)
        schedule(key, rules[place.rule])
        due.append((episode.source, alert))
    }

    /// Ends the alerts about what has not come back.
    private mutating func giveUp(at time: Timestamp) {
        let keys = absent.values.joined().sorted { episodes[$0]?.number ?? 0 < episodes[$1]?.number ?? 0 }
        (absent, absentUntil) = ([:], nil)
        for key in keys { if let episode = episodes[key] { resolve(key, episode.alert, at: time, .forgotten) } }
    }

    // MARK: Restart and reload

    /// Applies a line from before those that count. The states follow, but nobody is told.
    mutating func applyPast(_ line: Line) {
        isSilent = true
        apply(line)
        isSilent = false
    }

    /// Goes on after the lines of earlier runs with the alerts that fire.
    ///
    /// - Parameters:
    ///   - firing: the newest line of each alert that is not resolved, and its source.
    ///   - sources: the sources that there are.
    ///   - isAll: whether there are no others; not in a fleet, whose agents come later.
    ///   - isNew: whether the run begins now; else what is read of it does.
    ///   - wall: now. If the clock was set back meanwhile, no time has passed.
    package mutating func resume(
        _ firing: [(alert: Alert, source: String)], sources: [SourceStatus], isAll: Bool, isNew: Bool = true,
        at wall: Timestamp
    ) {
        if wall - offset < board.time { offset = wall - board.time }
        let now = wall - offset
        (ownTime, passing) = (now, now)
        isSilent = true
        board.resume(at: now, isNew: isNew)
        for status in sources { describe(status) }
        if !isNew { board.takeStatus() }
        if isAll { board.retire(allBut: Set(sources.map(\.source))) }
        collect()
        isSilent = false
        let told = firing.map { alert, source in
            // A reminder says when it was told, but not since when.
            let begun = alert.state == .reminder ? alert.since : alert.at
            return Firing(alert: alert, source: source, number: 0, begun: begun - offset, told: alert.at - offset)
        }
        take(told, at: now, knowsAll: isAll)
        guard !isAll else { return }
        let listed = Set(sources.map { Board.Name($0.source) })
        for (key, episode) in episodes {
            let conditions = places[key.condition]?.conditions ?? 0..<0
            let isAboutAgent = conditions.contains { board.conditions[$0].isAboutAgents }
            let name = isAboutAgent ? key.about : Board.Name(episode.source)
            if isAboutAgent || episode.source != EventStore.ownName, !listed.contains(name) {
                absent[name, default: []].insert(key)
            }
        }
        absentUntil = absent.isEmpty ? nil : now + MemberState.lifetime
    }

    /// The series, with their sources, for which a condition is pending or met, or its tests hold.
    package var openSeries: [(source: String, name: String)] { board.openSeries }

    /// The newest line of each alert that fires, and its source.
    package var firing: [(alert: Alert, source: String)] {
        episodes.values.sorted { $0.number < $1.number }.map { ($0.alert, $0.source) }
    }

    /// Takes over what a book of the run before knows, whose run has ended, but not its episodes.
    package mutating func adopt(ended old: AlertBook) {
        adopt(old)
        // An episode whose line was lost keeps its name: those that were computed and not read do not count.
        newest = newest.mapValues { ($0.since, $0.read, $0.read) }
    }

    /// Takes over what another book knows, and the states of conditions that both have, but not its episodes.
    package mutating func adopt(_ old: AlertBook) {
        (offset, ownTime, skews, newest) = (old.offset, old.ownTime, old.skews, old.newest)
        passing = old.passing
        isSilent = true
        board.adopt(old.board)
        collect()
        isSilent = false
    }

    /// Goes on after a reload, in the place of a book with other rules.
    ///
    /// - Parameter kept: `kept` lines with the newest of each series, for conditions that are new.
    package mutating func replace(_ old: AlertBook, _ sources: [SourceStatus], kept: [Line], at wall: Timestamp) {
        var old = old
        old.advance(to: wall)
        adopt(old)
        isSilent = true
        board.advance(to: max(board.time, wall - offset))
        collect()
        isSilent = false
        (due, taken) = (old.due, old.taken)
        (absent, absentUntil) = (old.absent, old.absentUntil)
        describe(sources)
        take(old.episodes.values.sorted { $0.number < $1.number }, at: board.time, kept: kept)
    }

    /// Describes the sources that there are, and reads the newest lines of their series.
    package mutating func begin(_ sources: [SourceStatus], kept: [Line]) {
        describe(sources)
        recall(kept)
        collect()
    }

    /// Describes all sources as they are now, also those of which no line was read.
    private mutating func describe(_ sources: [SourceStatus]) {
        for status in sources { describe(status) }
        board.takeStatus()
    }

    /// Reads the newest lines of series for conditions that know nothing of these.
    private mutating func recall(_ kept: [Line]) {
        for line in kept { if case .kept(let kept) = line.body { board.recallForNew(steady(kept.line)) } }
    }

    /// Takes over episodes. Those of conditions that changed are judged anew; those of conditions that are gone end.
    ///
    /// - Parameter knowsAll: whether the alerts of sources that are not there end.
    private mutating func take(_ told: [Firing], at now: Timestamp, kept: [Line] = [], knowsAll: Bool = false) {
        var changed: [Key] = []
        for old in told {
            let key = Key(condition: Board.Name(old.alert.condition), about: Board.Name(old.alert.about))
            guard episodes[key] == nil else { continue }
            var episode = old
            (episode.number, episode.met, episode.isChanged) = (nextNumber, [], false)
            nextNumber += 1
            keys[episode.number] = key
            guard let place = places[key.condition] else {
                episodes[key] = episode
                resolve(key, episode.alert, at: now, .removed)
                continue
            }
            if knowsAll, episode.source != EventStore.ownName, !board.isListed(source: episode.source) {
                episodes[key] = episode
                resolve(key, episode.alert, at: now, .forgotten)
                continue
            }
            let rule = rules[place.rule]
            let same = place.conditions.filter { board.conditions[$0].body == episode.alert.test }
            // The old condition's worst value does not apply.
            if same.isEmpty { (episode.alert.worst, episode.alert.evidence.worst) = (nil, nil) }
            // A set and a series may have the same name.
            let isOfSet = (try? Condition(episode.alert.test))?.isOfSet ?? false
            let alike = place.conditions.filter { board.conditions[$0].isOfSet == isOfSet }
            for condition in same.isEmpty ? alike : same {
                if board.setMet(
                    condition, about: episode.alert.about, of: episode.source, since: episode.alert.since - offset,
                    worst: episode.alert.worst)
                {
                    episode.met.insert(condition)
                }
            }
            (episode.alert.severity, episode.alert.note) = (rule.severity?.rawValue, rule.note)
            episode.isChanged = same.isEmpty
            episodes[key] = episode
            if episode.met.isEmpty {
                resolve(key, episode.alert, at: now, .changed)
            } else {
                schedule(key, rule)
                if episode.isChanged { changed.append(key) }
            }
        }
        board.retell { condition, about in
            let key = Key(condition: Board.Name(rules[ruleOfCondition[condition]].name), about: Board.Name(about))
            return episodes[key]?.met.contains(condition) ?? false
        }
        recall(kept)
        board.judgeAgain()
        collect()
        for key in changed { episodes[key]?.isChanged = false }
    }
}

extension ConditionBoard {
    /// Says by which value and lines an alert was decided.
    fileprivate func measure(_ turn: Turn, in run: String, into alert: inout Alert) {
        let (value, sequence) = measurement(of: turn)
        (alert.value, alert.text) = (nil, nil)
        switch value {
        case .number(let number): alert.value = number
        case .text(let text): alert.text = text
        case .nothing: break
        }
        if alert.evidence.run != run { alert.evidence = Alert.Evidence(run: run, from: 0, to: 0) }
        if turn.isMet { alert.evidence.from = turn.from }
        alert.evidence.to = turn.line > 0 ? turn.line : sequence
        alert.note(turn.worst)
    }
}

extension Alert {
    /// Takes the worst value so far; its line is of an earlier run if that is nil.
    fileprivate mutating func note(_ worst: TurnLog.Worst?) {
        guard let worst else { return }
        self.worst = worst.value
        evidence.worst = worst.line.flatMap { $0 > 0 ? $0 : nil } ?? evidence.worst
    }
}
