package import Feed
package import Reactor

/// The states of conditions, computed from the lines of a feed.
///
/// A pure function of its lines and times. Each condition has a state for each series that it is about, or one for a set of
/// them (`any`, `all`). docs/conditions.md says when a test is known, and its rules:
///
/// 1. A line sets *readings*: the verdicts of tests on what it says. The readings of a condition for one series decide, together
///    with the state of its source, what the condition is now: it holds, does not hold, or is unknown.
/// 2. A failure of a source makes the readings of its data unknown until new data, or status 304; a gap does so for good, and
///    for those of requests too.
/// 3. Only lines behind `as_of` of the newest `stats` line change the state of a source, as on a `Board`.
/// 4. A set is judged when an answer is complete, or if nothing comes for 20 ms; at once if one series decides it.
package struct ConditionBoard: Sendable {
    // Bound: conditions of series, and series of which none is about | 100,000 each; a test with `over` takes the room of
    //   ten | further series refused, counted; those that are gone make room
    private static let mostPairs = 100_000
    private static let mostNames = 100_000

    package let conditions: [Condition]
    /// The number of lines of which the series, source or agent found no room.
    package private(set) var refused = 0
    /// The number of answers, of errors and of data lines.
    package private(set) var answers = 0
    package private(set) var errors = 0
    package private(set) var events = 0
    /// The message of the newest error.
    package private(set) var newestError: String?
    /// Whether states follow the lines; until then these only set readings.
    package private(set) var isJudging: Bool
    private let isByLines: Bool
    private let subjects: ConditionSubjects
    /// The conditions with one state for a set.
    private let sets: [Int]
    private let hasPercentile: Bool
    /// Nil if nobody asks for changes.
    private var turns: TurnLog?
    /// The newest event of the line's series that was left out, and the series of which the line is data.
    private var leftOut: Timestamp?
    private var newestRead: (source: Int, series: Int?)?
    /// The listed sources that have not answered yet.
    private var unanswered: Set<Int> = []
    /// Whether lines only set readings that nothing has set.
    private var isRecalling = false
    /// The time of the kept line that is read.
    private var recalled: Timestamp?
    /// When the run began, and its epoch; nil for the first run. A reading of an earlier run is unknown until its source speaks, or had
    /// time to: a stop decides nothing.
    private var resumed: (time: Timestamp, epoch: Int)?

    private var pairs: [Pair] = []
    /// The room that pairs take.
    private var room = 0
    /// Whether something found no room, and how much of it those take that have gone since room was last made.
    private var isFull = false
    private var gone = 0
    /// The pairs of each condition, its common state, and how many of its pairs are met or pending.
    private var members: [[Int]]
    private var groups: [Group]
    private var met: [Int]
    private var pending: [Int]
    private var sources: [SourceFacts] = []
    private var series: [SeriesFacts] = []
    private var sourcesByName: [Board.Name: Int] = [:]
    private var agentsByName: [Board.Name: Int] = [:]
    private var seriesByName: [Board.Name: Int] = [:]
    /// Agents whose lines only set readings.
    private var pastAgents: Set<String> = []
    private var deadlines = DeadlineSchedule<Part>()
    /// Nil before the first time of a feed with a past.
    private var clock: Timestamp?
    private var now: Timestamp { clock ?? Timestamp(microseconds: 0) }
    private var interval: Duration
    private var run: String?
    /// The last number that the newest `stats` line includes, and whether that names all sources.
    private var asOf = 0
    private var listsAll = false
    /// The time of the newest numbered line that is no event: by the writer's clock, which may step.
    private var written: Timestamp?
    /// The number of gaps and failures so far: a reading from before one is not known any more.
    private var epoch = 1
    /// The epoch of the newest gap of any source.
    private var whole = 0
    /// The polled sources whose answer is not complete, with the time of its newest line.
    private var halfRead: [Int: Timestamp] = [:]

    /// - Parameters:
    ///   - start: when watching begins; nil for a feed with a past, which may begin at any time.
    ///   - isJudging: whether the first lines already count; else `judge` begins it.
    ///   - isByLines: whether lines alone tell the states of sources; else `stats` tells those of the past.
    ///   - tellsTurns: whether each change is kept until `takeTurns`.
    package init(
        _ conditions: [Condition], from start: Timestamp?, isJudging: Bool, isByLines: Bool = false,
        tellsTurns: Bool = false, interval: Duration = .seconds(10)
    ) {
        self.conditions = conditions
        self.interval = interval
        (self.isJudging, self.isByLines) = (isJudging, isByLines)
        turns = tellsTurns ? TurnLog() : nil
        subjects = ConditionSubjects(conditions)
        sets = conditions.indices.filter { conditions[$0].isOfSet }
        hasPercentile = conditions.contains(where: \.hasPercentile)
        clock = start
        members = Array(repeating: [], count: conditions.count)
        groups = Array(repeating: Group(), count: conditions.count)
        met = Array(repeating: 0, count: conditions.count)
        pending = met
        // Named sources and series may be silent from the beginning on.
        for condition in conditions where condition.mayBeSilent {
            guard let name = condition.subject.pattern?.literal else { continue }
            // An agent is known when a line tells of it.
            if condition.subject.scope == .agent { continue }
            if let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) {
                if let source = source(named: String(name[..<slash])) { _ = series(named: name, of: source) }
            } else {
                _ = source(named: name)
            }
        }
    }

    // MARK: What is known

    /// Whether a condition is met for a series, or for its set of series.
    package func isMet(_ condition: Int) -> Bool {
        conditions[condition].isOfSet ? groups[condition].phase.isMet : met[condition] > 0
    }

    /// For how many series, or sets, the tests of a condition hold, but not yet for long enough.
    package func pendingCount(_ condition: Int) -> Int {
        conditions[condition].isOfSet ? groups[condition].phase.isPending ? 1 : 0 : pending[condition]
    }

    /// Whether a condition is about something that has come.
    package func hasSubject(_ condition: Int) -> Bool {
        members[condition].contains { index in
            let (source, series) = (sources[pairs[index].source], pairs[index].series.map { self.series[$0] })
            // A source that is said to be silent is there from the beginning.
            guard let series else {
                return conditions[condition].isAboutAgents || source.isListed || source.hasAnswered
            }
            return series.newest != nil || series.window != nil
        }
    }

    /// The measurement that a condition was judged by: of a series for which it is met, else of one for which it is not. Of
    /// several, the newest.
    ///
    /// - Returns: nil when it is about nothing that has come.
    package mutating func finding(of condition: Int) -> Finding? {
        guard let index = decisivePair(of: condition) else { return nil }
        var next: Timestamp?
        let readings = conditions[condition].tests.enumerated().map { number, test in
            let verdict = verdict(on: number, test, of: index, next: &next)
            return (test: test, reading: pairs[index].readings[number], verdict: verdict)
        }
        let failing = readings.filter { $0.verdict != .holds }
        let doubt = !isMet(condition) && failing.isEmpty && conditions[condition].subject.scope == .all
        return Finding(
            pairs[index], isMet(condition) || failing.isEmpty ? readings : [failing[0]],
            but: doubt ? self.doubt(of: condition) : nil, at: now)
    }

    private func decisivePair(of condition: Int) -> Int? {
        let wanted: Verdict = isMet(condition) ? .holds : .doesNot
        func rank(_ pair: Pair) -> (Int, Timestamp, String) {
            let isWanted = pair.phase.isMet || pair.verdict == wanted
            // Of equals, always the same one.
            return (isWanted ? 1 : 0, pair.readings.compactMap(\.time).max() ?? Timestamp(microseconds: 0), pair.name)
        }
        return members[condition].max { rank(pairs[$0]) < rank(pairs[$1]) }
    }

    /// When a state may change if no line comes; nil for never.
    package var nextDeadline: Timestamp? { isJudging && clock != nil ? deadlines.earliest : nil }

    // MARK: Time

    /// Lets time pass up to `time`; changes what is due.
    package mutating func advance(to time: Timestamp) {
        if clock == nil { beginTime(at: time) }
        meetDeadlines(until: time)
        clock = max(now, time)
    }

    /// Changes what is due by `time`. That moves the clock only if it is told: an event that comes later may be older, and
    /// whoever reads the lines again knows no times but theirs.
    mutating func meetDeadlines(until time: Timestamp) {
        guard isJudging else { return }
        while let next = deadlines.pop(at: time) {
            let before = (clock: clock, turns: turns?.count)
            clock = max(now, next.time)
            switch next.key {
            case .pair(let index): judge(index)
            case .set(let number):
                let quiet = quiet(of: number) ?? now
                if quiet > now { deadlines.add(.set(number), at: quiet) } else { judgeSet(number) }
            case .source(let index): checkLateness(of: index)
            }
            if turns?.count == before.turns { clock = before.clock }
        }
    }

    /// Begins to judge, by what is known now.
    package mutating func judge() {
        guard !isJudging else { return }
        for index in sources.indices { checkLateness(of: index) }
        isJudging = true
        beginTime(at: now)
        judgeSets()
    }

    /// Sources and series that nothing has come from are silent from now on.
    private mutating func beginTime(at time: Timestamp) {
        clock = max(now, time)
        for index in sources.indices where sources[index].heard == nil && isJudging { sources[index].heard = time }
        for index in series.indices where series[index].heard == nil && isJudging { series[index].heard = time }
        for index in pairs.indices where pairs[index].begun == nil { pairs[index].begun = time }
        if isJudging { for index in pairs.indices { judge(index) } }
    }

    /// Has lines of an agent of a fleet, and of its sources, only set readings, or judges these from now on.
    package mutating func setPast(_ isPast: Bool, of agent: String) {
        guard isPast != pastAgents.contains(agent) else { return }
        if isPast { pastAgents.insert(agent) } else { pastAgents.remove(agent) }
        for index in sources.indices where sources[index].agent == agent {
            sources[index].isPast = isPast
            judgeAll(of: index)
        }
        judgeSets()
    }

    /// Judges all sets that have changed, as the feed has ended.
    package mutating func finish() {
        halfRead = [:]
        judgeSets()
    }

    private mutating func judgeSets() {
        for index in sets where groups[index].changed != nil { judgeSet(index) }
    }

    // MARK: Lines

    /// Applies one line.
    ///
    /// - Parameters:
    ///   - time: when it came; nil for a line that says nothing of the time.
    ///   - newest: the time of an event of its series that was left out, if there is one: see `calm`.
    package mutating func apply(_ line: Line, at time: Timestamp?, newest: Timestamp? = nil) {
        (leftOut, newestRead) = (newest, nil)
        if let time { advance(to: time) }
        if isFull { makeRoom() }
        let number = line.seq ?? 0
        turns?.line = number
        defer { turns?.line = 0 }
        if line.isForwarded, let agent = line.agent, let index = agentsByName[Board.Name(agent)] { hear(index) }
        if number > 0, line.agent == nil {
            if case .data = line.body {} else { written = line.time }
        }
        switch line.body {
        case .hello(let hello): begin(hello)
        case .stats(let stats): list(stats)
        case .gap: forget { _ in true }
        case .lost: forget { $0.agent == line.agent }
        case .kept(let kept): recall(kept.line)
        default: applyOfSource(line, number)
        }
    }

    private mutating func applyOfSource(_ line: Line, _ number: Int) {
        guard let name = line.source, let source = source(named: name), !sources[source].isRetired else { return }
        // A source that was removed: lines from before say nothing of now.
        if number <= asOf, listsAll, !sources[source].isListed { return }
        // What waited for it does so no more.
        let isAwaited = !sources[source].isOfThisRun
        sources[source].isOfThisRun = true
        defer { if isAwaited { judgeAll(of: source) } }
        switch line.body {
        case .data(let data):
            events += 1
            if case .every = sources[source].rhythm { halfRead[source] = now }
            checkFlaw(of: source)
            answer(source, number)
            read(data, line, number, of: source, at: now)
        case .window(let window): read(window, number, of: source)
        case .latency(let sample):
            answers += 1
            if halfRead[source] != nil { sources[source].hasError = false }
            completeAnswer(of: source)
            if sample.status == 304 {
                // Earlier data is as good as new, unless lines are missing.
                sources[source].epoch = sources[source].whole
                answer(source, number)
                judgeAll(of: source)
            }
            read(sample, line, number, of: source, at: now)
        case .error(let failure):
            errors += 1
            newestError = failure.message
            completeAnswer(of: source)
            (sources[source].hasError, sources[source].errorTime) = (true, line.time)
            fail(failure, line, number, source)
        case .recovered:
            guard number > asOf else { return }
            hear(source)
            sources[source].failureCode = nil
            // The error of an outage says nothing of the answer that ends it.
            if sources[source].errorTime != line.time { sources[source].hasError = false }
            judgeAll(of: source)
        case .progress(let progress):
            if progress.items != nil || !progress.gone.isEmpty || progress.done == progress.total {
                completeAnswer(of: source)
            } else {
                halfRead[source] = now
            }
            answer(source, number)
            for key in progress.gone { remove("\(name)/\(key)") }
        case .peer(let peer): apply(peer, line, number)
        case .memory, .agent: hear(source)
        default: break
        }
    }

    /// An error within an answer says that a part of it is missing. It is told again once a minute while that lasts.
    private mutating func checkFlaw(of source: Int) {
        if sources[source].hasError {
            sources[source].flawed = now
            if case .every = sources[source].rhythm {} else { sources[source].hasError = false }
        } else if let flawed = sources[source].flawed, now > flawed + Self.flawTime {
            sources[source].flawed = nil
            changeSets()
        }
    }

    private static let flawTime = Duration.seconds(61)

    private func isFlawed(_ source: Int) -> Bool { sources[source].flawed.map { now <= $0 + Self.flawTime } ?? false }

    /// The answer of a source seems complete; the line of a page may follow that says otherwise.
    private mutating func completeAnswer(of source: Int) {
        guard halfRead.removeValue(forKey: source) != nil else { return }
        for index in sets where groups[index].changed != nil && groups[index].sources.contains(source) {
            change(set: index)
        }
    }

    private mutating func begin(_ hello: Line.Hello) {
        interval = hello.interval
        if let run, run != hello.run {
            asOf = 0
            forget { _ in true }
            for index in sources.indices {
                (sources[index].failureCode, sources[index].answered, sources[index].isKnown) = (nil, nil, false)
            }
            for index in series.indices { (series[index].newest, series[index].window) = (nil, nil) }
        }
        run = hello.run
    }

    /// Makes the readings of some sources unknown, because lines are missing.
    private mutating func forget(_ isMeant: (SourceFacts) -> Bool) {
        epoch += 1
        for index in sources.indices where isMeant(sources[index]) {
            (sources[index].epoch, sources[index].whole) = (epoch, epoch)
            sources[index].times = SlidingTimes()
        }
        whole = epoch
        for index in pairs.indices where sources[pairs[index].source].whole == epoch {
            pairs[index].begun = now
            for number in pairs[index].sliding.indices { pairs[index].sliding[number]?.removeAll() }
            judge(index)
        }
    }

    private mutating func list(_ stats: Line.Stats) {
        asOf = isByLines ? 0 : stats.asOf
        listsAll = stats.moreSources == 0
        for index in sources.indices { sources[index].isListed = false }
        for status in stats.sources { list(status) }
        changeSets()
    }

    private mutating func list(_ status: SourceStatus) {
        guard let index = source(named: status.source) else { return }
        // An agent describes what it watches more often than its feed tells: that must not put off when a set is judged.
        let isKnown =
            isByLines && sources[index].isListed && sources[index].rhythm == status.rhythm
            && sources[index].bands == status.bands
        (sources[index].rhythm, sources[index].bands) = (status.rhythm, status.bands)
        sources[index].isListed = true
        if !sources[index].hasAnswered { unanswered.insert(index) }
        defer {
            if !isKnown { judgeAll(of: index) }
            checkLateness(of: index)
        }
        if isByLines { sources[index].status = status } else { take(status, of: index) }
    }

    /// Takes the state of sources of which no line has told from the newest `stats` line: their lines are older than those that
    /// there were.
    package mutating func takeStatus() {
        for index in sources.indices where !sources[index].isKnown && sources[index].answered == nil {
            guard let status = sources[index].status else { continue }
            take(status, of: index)
            judgeAll(of: index)
            checkLateness(of: index)
        }
        changeSets()
    }

    private mutating func take(_ status: SourceStatus, of index: Int) {
        sources[index].isKnown = status.state != .starting
        if let answered = status.answered {
            sources[index].answered = max(sources[index].answered ?? answered, answered)
            sources[index].hasAnswered = true
            unanswered.remove(index)
        }
        let code = status.state == .failing ? status.failure?.code ?? "" : nil
        if code != sources[index].failureCode {
            sources[index].failureCode = code
            if code != nil { beginEpoch(of: index) }
        }
    }

    /// Reads a kept line, which says nothing of its source now.
    private mutating func recall(_ line: Line) {
        guard let name = line.source, let source = source(named: name), sources[source].isListed || !listsAll else {
            return
        }
        let heard = min(line.time, now)
        sources[source].heard = max(sources[source].heard ?? heard, heard)
        recalled = line.time
        defer { recalled = nil }
        switch line.body {
        case .data(let data): read(data, line, 0, of: source, at: heard)
        case .window(let window): read(window, 0, of: source)
        case .latency(let sample): read(sample, line, 0, of: source, at: heard)
        default: break
        }
    }

    // MARK: Readings

    /// Calls `body` with each test of pairs, then judges the pairs of which one returned true.
    private mutating func forEachTest(
        of indices: [Int], _ body: (inout ConditionBoard, Int, Int, ConditionTest) -> Bool
    ) {
        for pair in indices {
            var isRead = false
            for (number, test) in conditions[pairs[pair].condition].allTests.enumerated() {
                if body(&self, pair, number, test) { isRead = true }
            }
            if isRead { judge(pair) }
        }
    }

    /// - Parameter time: when it came.
    private mutating func read(_ data: Line.Data, _ line: Line, _ sequence: Int, of source: Int, at time: Timestamp) {
        newestRead = (source, nil)
        guard let index = series(named: data.series, of: source) else { return }
        newestRead = (source, index)
        series[index].heard = max(series[index].heard ?? time, time)
        if let leftOut { series[index].newest = max(series[index].newest ?? leftOut, leftOut) }
        // A step of the clock back makes newer events seem older.
        if let newest = series[index].newest, let written, newest > written + interval { series[index].newest = nil }
        let isNewest = series[index].newest.map { $0 <= line.time } ?? true
        if isNewest { series[index].newest = line.time }
        let bands = sources[source].bands
        for pair in series[index].pairs where pairs[pair].isGone { pairs[pair].isGone = false }
        let now = now
        forEachTest(of: series[index].pairs) { board, pair, number, test in
            switch test.measure {
            case .over:
                guard let value = data.value, !board.isRecalling else { return false }
                board.pairs[pair].sliding[number]?.add(value, at: now)
                board.touch(number, pair, sequence)
                return true
            case .value, .text, .pointer, .band:
                guard isNewest else { return false }
                let (verdict, value) = test.read(data, bands: bands)
                board.set(verdict, value, of: number, in: pair, sequence)
                return true
            default: if case .isSilent = test.kind { return true } else { return false }
            }
        }
    }

    private mutating func read(_ window: Line.Window, _ sequence: Int, of source: Int) {
        guard let index = series(named: window.series, of: source) else { return }
        // Only the newest one counts.
        guard series[index].window.map({ $0 <= window.start }) ?? true else { return }
        series[index].window = window.start
        forEachTest(of: series[index].pairs) { board, pair, number, test in
            guard case .window(let part)? = test.measure else { return false }
            let value = window[part]
            board.set(test.judge(value), .number(value), of: number, in: pair, sequence)
            return true
        }
    }

    /// - Parameter time: when it came.
    private mutating func read(
        _ sample: LatencySample, _ line: Line, _ sequence: Int, of source: Int, at time: Timestamp
    ) {
        let now = now
        sources[source].answerTime = line.time
        sources[source].requested = max(sources[source].requested ?? time, time)
        if hasPercentile, !isRecalling { sources[source].times.add(sample.ms, at: now) }
        forEachTest(of: sources[source].pairs + sources[source].seriesPairs) { board, pair, number, test in
            switch test.measure {
            case .status:
                let status = Double(sample.status)
                board.set(test.judge(status), .number(status), of: number, in: pair, sequence)
            case .ms: board.set(test.judge(sample.ms), .number(sample.ms), of: number, in: pair, sequence)
            case .percentile: board.touch(number, pair, sequence)
            case .errors where !board.isRecalling:
                board.pairs[pair].sliding[number]?.add(0, at: now)
                board.touch(number, pair, sequence)
            default: return false
            }
            return true
        }
        checkLateness(of: source)
    }

    private mutating func fail(_ failure: Failure, _ line: Line, _ sequence: Int, _ source: Int) {
        beginEpoch(of: source)
        if sequence > asOf { (sources[source].failureCode, sources[source].isKnown) = (failure.code.rawValue, true) }
        let (now, hasAnswer) = (now, sources[source].answerTime == line.time)
        if failure.endpoint != nil {
            sources[source].requested = now
            forEachTest(of: sources[source].pairs + sources[source].seriesPairs) { board, pair, number, test in
                switch test.measure {
                case .status where !hasAnswer: board.set(.doesNot, .text("none"), of: number, in: pair, sequence)
                case .ms where !hasAnswer: board.set(.unknown(.noAnswer), .nothing, of: number, in: pair, sequence)
                case .errors:
                    if hasAnswer {
                        board.pairs[pair].sliding[number]?.raise(by: 1)
                    } else {
                        board.pairs[pair].sliding[number]?.add(1, at: now)
                    }
                    board.touch(number, pair, sequence)
                default: break
                }
                return false
            }
        }
        judgeAll(of: source)
    }

    private mutating func apply(_ peer: Line.Peer, _ line: Line, _ sequence: Int) {
        guard let name = line.agent, let agent = agent(named: name) else { return }
        sources[agent].isOfThisRun = true
        let standing = MemberState.Standing(rawValue: peer.state)
        guard standing != .forgotten else { return retire(agent) }
        for pair in sources[agent].pairs { pairs[pair].isGone = false }
        sources[agent].failureCode = [.away, .refused, .conflict].contains(standing) ? peer.state : nil
        sources[agent].isKnown = true
        let isAway = sources[agent].failureCode != nil
        for index in sources.indices where sources[index].agent == name && sources[index].isCutOff != isAway {
            sources[index].isCutOff = isAway
            judgeAll(of: index)
        }
        if let heard = peer.heard {
            let heard = now - max(.zero, line.time - heard)
            sources[agent].heard = max(sources[agent].heard ?? heard, heard)
        }
        for pair in sources[agent].pairs {
            for number in pairs[pair].readings.indices { touch(number, pair, sequence) }
        }
        judgeAll(of: agent)
    }

    /// A complete answer no longer has a series: nothing is true of it any more.
    private mutating func remove(_ name: String) {
        guard let index = seriesByName[Board.Name(name)], index >= 0 else { return }
        for pair in series[index].pairs { lose(pair) }
    }

    private mutating func lose(_ pair: Int) {
        if !pairs[pair].isGone { gone += pairs[pair].size }
        for number in pairs[pair].readings.indices where pairs[pair].readings[number].time != nil {
            pairs[pair].readings[number].verdict = .unknown(.missing)
        }
        for number in pairs[pair].sliding.indices { pairs[pair].sliding[number]?.removeAll() }
        (pairs[pair].begun, pairs[pair].isGone) = (now, true)
        judge(pair)
    }

    private mutating func set(
        _ verdict: Verdict, _ value: Reading.Value, of test: Int, in pair: Int, _ sequence: Int
    ) {
        if isRecalling, pairs[pair].readings[test].time != nil { return }
        (pairs[pair].readings[test].verdict, pairs[pair].readings[test].value) = (verdict, value)
        touch(test, pair, sequence)
    }

    private mutating func touch(_ test: Int, _ pair: Int, _ sequence: Int) {
        pairs[pair].readings[test].time = now
        pairs[pair].readings[test].sequence = sequence
        pairs[pair].readings[test].epoch = epoch
        guard let recalled else { return }
        // It says no more than if it had come in its time.
        let source = sources[pairs[pair].source]
        if source.isLate || source.failureCode != nil {
            pairs[pair].readings[test].epoch = source.epoch - 1
        } else if let resumed, recalled < resumed.time {
            pairs[pair].readings[test].epoch = resumed.epoch - 1
        }
    }

    /// Something came from a source or agent: it is not silent.
    private mutating func hear(_ source: Int) {
        sources[source].heard = max(sources[source].heard ?? now, now)
        for pair in sources[source].pairs where conditions[pairs[pair].condition].mayBeSilent {
            pairs[pair].isGone = false
            judge(pair)
        }
    }

    /// A good answer came from a source.
    private mutating func answer(_ source: Int, _ number: Int) {
        if !sources[source].hasAnswered {
            sources[source].hasAnswered = true
            unanswered.remove(source)
            changeSets()
        }
        hear(source)
        guard number > asOf else { return }
        let wasWell = sources[source].isKnown && !sources[source].isLate && sources[source].failureCode == nil
        (sources[source].answered, sources[source].isKnown) = (now, true)
        if !wasWell {
            (sources[source].isLate, sources[source].failureCode) = (false, nil)
            judgeAll(of: source)
        }
        checkLateness(of: source)
    }

    /// From now on, what was read of the source's data before is unknown.
    private mutating func beginEpoch(of source: Int) {
        epoch += 1
        sources[source].epoch = epoch
    }

    /// A polled source is late two and a half periods after its newest good answer, at least a second: what it said last may
    /// not be true any more.
    private mutating func checkLateness(of source: Int) {
        guard case .every(let period) = sources[source].rhythm, let answered = sources[source].answered else { return }
        let due = answered + Self.patience(for: period)
        let isLate = now > due
        if isLate != sources[source].isLate {
            sources[source].isLate = isLate
            if isLate { beginEpoch(of: source) }
            judgeAll(of: source)
        }
        // The moment after.
        if !isLate { deadlines.add(.source(source), at: due + .microseconds(1)) }
    }

    /// How long a source may take to speak after the feed was away.
    private func graceTime(of source: Int) -> Duration {
        if case .every(let period) = sources[source].rhythm { Self.patience(for: period) } else { .seconds(60) }
    }

    private static let forgetting = Duration.seconds(86_400)

    private static func patience(for period: Duration) -> Duration { max(period * 5 / 2, .seconds(1)) }

    // MARK: Judging

    private mutating func judgeAll(of source: Int) {
        guard isJudging else { return }
        for pair in sources[source].pairs { judge(pair) }
        for index in sources[source].series { for pair in series[index].pairs { judge(pair) } }
    }

    private mutating func judge(_ index: Int) {
        guard isJudging, clock != nil, !sources[pairs[index].source].isPast else { return }
        let number = pairs[index].condition
        let condition = conditions[number]
        var verdict = Verdict.holds
        var next: Timestamp?
        for (number, test) in condition.tests.enumerated() {
            verdict = verdict.and(self.verdict(on: number, test, of: index, next: &next))
        }
        let ending = condition.end.map { self.verdict(on: condition.tests.count, $0.test, of: index, next: &next) }
        let isNews = verdict != pairs[index].verdict || ending != pairs[index].ending || pairs[index].isGone
        (pairs[index].verdict, pairs[index].ending) = (verdict, ending)
        if condition.isOfSet {
            if isNews || groups[number].changed != nil { change(set: number) }
            // One series is enough, whatever else the answer says.
            let decisive = Verdict(condition.subject.scope == .any)
            if isNews, verdict == decisive, groups[number].verdict != decisive { judgeSet(number) }
        } else {
            let before = pairs[index].phase
            pairs[index].phase.step(condition, verdict, until: ending, at: now)
            if pairs[index].isGone { pairs[index].phase = .ok }
            count(number, from: before, to: pairs[index].phase)
            tell(.pair(index), of: number, before, pairs[index].phase, isGone: pairs[index].isGone)
            if let due = pairs[index].phase.deadline(of: condition), due > now { next = min(next ?? due, due) }
        }
        if let next, next > now { deadlines.add(.pair(index), at: next) }
    }

    private mutating func count(_ condition: Int, from before: Phase, to phase: Phase) {
        if before.isMet != phase.isMet { met[condition] += phase.isMet ? 1 : -1 }
        if before.isPending != phase.isPending { pending[condition] += phase.isPending ? 1 : -1 }
    }

    // MARK: Calm

    /// See `LineWatcher`.
    package var calm: (low: Double, high: Double)? {
        guard let newestRead else { return nil }
        let source = sources[newestRead.source]
        // Other sources are late if nothing comes.
        guard source.rhythm == .stream, source.failureCode == nil, !source.hasError, source.flawed == nil,
            !source.pairs.contains(where: { conditions[pairs[$0].condition].mayBeSilent }),
            !subjects.hasSilentAgent || source.agent == nil
        else { return nil }
        var range = (low: -Double.infinity, high: Double.infinity)
        guard let index = newestRead.series else { return range }
        for pair in series[index].pairs { guard narrow(&range, by: pair, source) else { return nil } }
        return range
    }

    /// - Returns: whether there is a range in which a pair stays as it is.
    private func narrow(_ range: inout (low: Double, high: Double), by index: Int, _ source: SourceFacts) -> Bool {
        let (pair, condition) = (pairs[index], conditions[pairs[index].condition])
        switch pair.phase {
        case .ok where pair.verdict == .doesNot: break
        case .firing where pair.verdict == .holds && pair.ending ?? .doesNot == .doesNot: break
        default: return false
        }
        guard !condition.isOfSet, !pair.isGone else { return false }
        for (test, reading) in zip(condition.allTests, pair.readings) {
            guard case .number(let value) = reading.value, reading.epoch >= source.epoch, let limits = test.limits,
                !limits.contains(value)
            else { return false }
            for limit in limits {
                if value < limit { range.high = min(range.high, limit) } else { range.low = max(range.low, limit) }
            }
        }
        // A value that is worse than all before is told.
        guard let worst = turns?.worst(of: .pair(index))?.value, let sign = condition.limit?.sign else { return true }
        if sign > 0 {
            range.high = min(range.high, worst.nextUp)
        } else {
            range.low = max(range.low, worst.nextDown)
        }
        return true
    }

    // MARK: Turns

    /// Removes and returns the changes since the last time.
    mutating func takeTurns() -> [Turn] { turns?.take() ?? [] }

    private mutating func tell(_ part: Part, of number: Int, _ before: Phase, _ phase: Phase, isGone: Bool = false) {
        guard turns != nil else { return }
        var reading: TurnLog.Worst?
        if case .pair(let index) = part, pairs[index].verdict == .holds, let limit = conditions[number].limit,
            case .number(let value) = pairs[index].readings[limit.test].value
        {
            reading = TurnLog.Worst(value: value, line: pairs[index].readings[limit.test].sequence)
        }
        let (condition, now) = (conditions[number], now)
        turns?.note(part, of: number, condition, from: before, to: phase, reading, at: now, isGone: isGone)
    }

    /// The measurement that decided a turn, and the number of its line.
    func measurement(of turn: Turn) -> (value: Reading.Value, sequence: Int) {
        guard let index = pair(of: turn) ?? decisivePair(of: turn.condition) else { return (.nothing, 0) }
        let (condition, readings) = (conditions[turn.condition], pairs[index].readings)
        var number = 0
        if !turn.isMet, condition.end != nil {
            number = condition.tests.count
        } else if !turn.isMet {
            number = condition.tests.indices.first { readings[$0].verdict == .doesNot } ?? 0
        }
        var value = readings[number].value
        if case .isSilent = condition.allTests[number].kind, let heard = readings[number].time {
            value = .number(max(.zero, now - heard).seconds)
        }
        return (value, readings[number].sequence)
    }

    private func pair(of turn: Turn) -> Int? { if case .pair(let index) = turn.part { index } else { nil } }

    /// What a turn is about, and the name of its source, if that is one.
    func subject(of turn: Turn) -> (name: String, source: String?) {
        if let pair = pair(of: turn) {
            let isAgent = conditions[turn.condition].isAboutAgents
            return (pairs[pair].name, isAgent ? nil : sources[pairs[pair].source].name)
        }
        let group = groups[turn.condition]
        return (
            conditions[turn.condition].subject.pattern?.text ?? "*",
            group.sources.count == 1 ? group.sources.first.map { sources[$0].name } : nil
        )
    }

    // MARK: Feeds that go on

    /// The newest time.
    package var time: Timestamp { now }

    /// Whether some condition may be about a source, or about a series of it.
    package func mayBeAbout(source: String) -> Bool { subjects.mayBeAbout(source: source) }

    /// Describes a source as it is now.
    package mutating func describe(_ status: SourceStatus) {
        guard let index = source(named: status.source) else { return }
        let isNew = sources[index].isRetired || !sources[index].isListed
        let isBack = sources[index].isRetired
        sources[index].isRetired = false
        if isBack {
            sources[index].heard = now
            for pair in sources[index].pairs { pairs[pair].isGone = false }
        }
        list(status)
        guard isNew else { return }
        for number in subjects.candidates(of: status.source, series: nil) where conditions[number].isOfSet {
            change(set: number)
        }
    }

    /// A source is not there any more: nothing is true of it, nor of its series.
    package mutating func retire(source name: String) {
        if let index = sourcesByName[Board.Name(name)], !sources[index].isRetired { retire(index) }
    }

    private mutating func retire(_ index: Int) {
        sources[index].forget()
        unanswered.remove(index)
        for number in sources[index].series {
            (series[number].heard, series[number].newest, series[number].window) = (nil, nil, nil)
        }
        for pair in sources[index].pairs + sources[index].series.flatMap({ series[$0].pairs }) { lose(pair) }
        halfRead[index] = nil
        changeSets()
    }

    /// Retires the sources that are not described any more.
    package mutating func retire(allBut names: Set<String>) {
        for index in sources.indices where sources[index].isListed && !names.contains(sources[index].name) {
            retire(index)
        }
    }

    /// The series, with their sources, for which a condition is pending or met, and those of sets.
    var openSeries: [(source: String, name: String)] {
        pairs.compactMap { pair in
            guard pair.series != nil, !pair.isGone, pair.phase != .ok || conditions[pair.condition].isOfSet else {
                return nil
            }
            return (sources[pair.source].name, pair.name)
        }
    }

    /// Whether a source is there.
    package func isListed(source name: String) -> Bool {
        sourcesByName[Board.Name(name)].map { sources[$0].isListed } ?? false
    }

    /// Lines are missing.
    package mutating func miss() { forget { _ in true } }

    /// Goes on with the next run of the feed, whose lines have other numbers.
    ///
    /// - Parameter isNew: whether it begins, and nobody was there before.
    package mutating func resume(at time: Timestamp, isNew: Bool) {
        if clock == nil { beginTime(at: time) }
        clock = max(now, time)
        if isNew {
            epoch += 1
            resumed = (now, epoch)
            for index in sources.indices { sources[index].isOfThisRun = false }
        }
        for index in pairs.indices {
            for number in pairs[index].readings.indices { pairs[index].readings[number].sequence = 0 }
            judge(index)
        }
        turns?.beginRun()
    }

    /// Sets a condition as met for a series, source, agent or set, whatever it was.
    ///
    /// - Parameter worst: the worst value so far, if there is one.
    /// - Returns: false if it is not about that.
    package mutating func setMet(
        _ number: Int, about name: String, of sourceName: String, since: Timestamp, worst: Double? = nil
    ) -> Bool {
        let condition = conditions[number]
        if condition.isOfSet {
            guard condition.subject.pattern?.text ?? "*" == name else { return false }
            if groups[number].phase.isMet { return true }
            groups[number].phase = .firing(since: since)
            turns?.begin(.set(number), worst: nil)
            return true
        }
        guard let pair = pair(of: number, about: name, of: sourceName) else { return false }
        pairs[pair].isGone = false
        if pairs[pair].phase.isMet {
            if let worst { turns?.raise(.pair(pair), to: TurnLog.Worst(value: worst), condition) }
            return true
        }
        count(number, from: pairs[pair].phase, to: .firing(since: since))
        pairs[pair].phase = .firing(since: since)
        turns?.begin(.pair(pair), worst: worst)
        for test in condition.tests {
            if case .isSilent(let span) = test.kind { setSilent(pair, since: since - span) }
        }
        return true
    }

    /// The pair of a condition for a series, source or agent; nil if it is not about that.
    private mutating func pair(of number: Int, about name: String, of sourceName: String) -> Int? {
        let condition = conditions[number]
        var known: [Int] = []
        if condition.isAboutAgents {
            known = agent(named: name).map { sources[$0].pairs } ?? []
        } else if condition.isOfSources {
            known = source(named: name).map { sources[$0].pairs } ?? []
        } else if let source = source(named: sourceName) {
            known = series(named: name, of: source).map { series[$0].pairs } ?? []
        }
        return known.first { pairs[$0].condition == number }
    }

    /// The worst value so far of what a condition is met for; nil where values have no order.
    mutating func worst(of number: Int, about name: String, source: String) -> TurnLog.Worst? {
        guard !conditions[number].isOfSet, let pair = pair(of: number, about: name, of: source) else { return nil }
        return turns?.worst(of: .pair(pair))
    }

    /// Nothing came after that time, unless a line tells otherwise.
    private mutating func setSilent(_ pair: Int, since time: Timestamp) {
        if let index = pairs[pair].series {
            if series[index].newest == nil { series[index].heard = min(series[index].heard ?? time, time) }
        } else if !sources[pairs[pair].source].hasAnswered {
            sources[pairs[pair].source].heard = min(sources[pairs[pair].source].heard ?? time, time)
        }
    }

    /// Has conditions begin to be met again that are met, but of which nobody was told.
    ///
    /// - Parameter isKnown: whether it was told that a condition is met for what is called so.
    package mutating func retell(unless isKnown: (_ condition: Int, _ about: String) -> Bool) {
        for index in pairs.indices where pairs[index].phase.isMet {
            guard !isKnown(pairs[index].condition, pairs[index].name), let since = pairs[index].phase.since else {
                continue
            }
            count(pairs[index].condition, from: pairs[index].phase, to: .pending(since: since))
            pairs[index].phase = .pending(since: since)
        }
        for number in sets where groups[number].phase.isMet {
            guard !isKnown(number, conditions[number].subject.pattern?.text ?? "*"),
                let since = groups[number].phase.since
            else { continue }
            groups[number].phase = .pending(since: since)
        }
    }

    /// Judges everything anew, without a line.
    package mutating func judgeAgain() {
        for index in pairs.indices { judge(index) }
        for number in sets { judgeSet(number) }
    }

    /// Takes over what another board knows, and the states of the conditions that both have.
    ///
    /// - Parameter withGone: whether series that are gone are known as that.
    package mutating func adopt(_ old: ConditionBoard, withGone: Bool = true) {
        isJudging = false
        (clock, run, written, resumed) = (old.clock, old.run, old.written, old.resumed)
        (epoch, whole, asOf, listsAll) = (old.epoch, old.whole, old.asOf, old.listsAll)
        for (index, facts) in old.sources.enumerated() {
            let name = Board.Name(facts.name)
            let isAgent = old.agentsByName[name] == index
            guard let new = isAgent ? agent(named: facts.name) : source(named: facts.name) else { continue }
            sources[new].adopt(facts)
            if let halfRead = old.halfRead[index] { self.halfRead[new] = halfRead }
            if old.unanswered.contains(index) { unanswered.insert(new) }
        }
        // In their order, which decides between equals.
        for (name, index) in old.seriesByName.filter({ $0.value >= 0 }).sorted(by: { $0.value < $1.value }) {
            let isGone = old.series[index].pairs.allSatisfy { old.pairs[$0].isGone }
            guard withGone || !isGone,
                let source = sourcesByName[Board.Name(old.sources[old.series[index].source].name)],
                let new = series(named: name.text, of: source)
            else { continue }
            let facts = old.series[index]
            (series[new].heard, series[new].newest, series[new].window) = (facts.heard, facts.newest, facts.window)
            // A new condition is not about it either.
            guard isGone else { continue }
            for pair in series[new].pairs { pairs[pair].isGone = true }
        }
        // Several may have the same text.
        var places: [String: [Int]] = [:]
        for (index, condition) in conditions.enumerated().reversed() {
            places[condition.text, default: []].append(index)
        }
        let same = old.conditions.map { places[$0.text]?.popLast() }
        var indices: [[Board.Name: Int]] = Array(repeating: [:], count: conditions.count)
        for (index, pair) in pairs.enumerated() { indices[pair.condition][Board.Name(pair.name)] = index }
        for (index, pair) in old.pairs.enumerated() {
            guard let condition = same[pair.condition], let new = indices[condition][Board.Name(pair.name)] else {
                continue
            }
            count(condition, from: pairs[new].phase, to: pair.phase)
            pairs[new].adopt(pair)
            if let turns = old.turns { self.turns?.adopt(.pair(index), as: .pair(new), of: turns) }
        }
        for number in old.sets {
            guard let new = same[number] else { continue }
            groups[new].adopt(old.groups[number])
            if let turns = old.turns { self.turns?.adopt(.set(number), as: .set(new), of: turns) }
        }
        isJudging = old.isJudging
        for index in sources.indices { checkLateness(of: index) }
        if clock != nil { beginTime(at: now) }
        judgeSets()
    }

    /// Reads a kept line for conditions that know nothing yet.
    package mutating func recallForNew(_ line: Line) {
        guard let name = line.source, isListed(source: name) else { return }
        isRecalling = true
        recall(line)
        isRecalling = false
    }

    /// A series of a set has changed: it is judged when its answer is complete.
    private mutating func change(set number: Int) {
        groups[number].changed = now
        groups[number].changedFirst = groups[number].changedFirst ?? now
        if let quiet = quiet(of: number) { deadlines.add(.set(number), at: quiet) }
    }

    private mutating func changeSets() {
        guard isJudging else { return }
        for number in sets { change(set: number) }
    }

    /// When a set that has changed is judged: when nothing has come for a while, or streams never rest.
    private func quiet(of number: Int) -> Timestamp? {
        guard let first = groups[number].changedFirst, let last = groups[number].changed else { return nil }
        let isStream = groups[number].sources.allSatisfy { sources[$0].rhythm == .stream }
        return isStream ? min(last + Self.quiet, first + Self.longestStream) : last + Self.quiet
    }

    private static let longestStream = Duration.seconds(2)

    /// How long nothing may come before an answer counts as complete, if nothing says so.
    private static let quiet = Duration.milliseconds(20)

    /// Returns the verdict on a test now; `next` becomes the time when that may change by itself, if that is earlier.
    private mutating func verdict(
        on number: Int, _ test: ConditionTest, of index: Int, next: inout Timestamp?
    ) -> Verdict {
        let source = pairs[index].source
        switch test.kind {
        case .fails(let code):
            guard sources[source].isKnown else { return .unknown(.nothingYet) }
            if isAwaited(source, sources[source].isOfThisRun, next: &next) { return .unknown(.nothingYet) }
            pairs[index].readings[number].value = .nothing
            guard let failure = sources[source].failureCode else { return .doesNot }
            pairs[index].readings[number].value = .text(Sanitizer.visible(failure, limit: 64))
            return Verdict(code == nil || code == failure)
        case .isSilent(let span):
            // A name that no source has may be a mistake.
            guard sources[source].isListed || sources[source].hasAnswered || sources[source].isKnown,
                let heard = pairs[index].series.map({ series[$0].heard }) ?? sources[source].heard
            else { return .unknown(.nothingYet) }
            pairs[index].readings[number].time = heard
            // A feed that was away: the source is to have had time to speak.
            let grace = resumed.flatMap { heard <= $0.time ? $0.time + graceTime(of: source) : nil } ?? heard
            let due = max(heard + span, grace)
            if now < due {
                next = min(next ?? due, due)
                let condition = pairs[index].condition
                let isMet = conditions[condition].isOfSet ? groups[condition].phase.isMet : pairs[index].phase.isMet
                // What fires is not over because nobody could have spoken.
                return isMet && now >= heard + span ? .unknown(.nothingYet) : .doesNot
            }
            // What was only ever seen, and not asked for by name, may be gone for good.
            guard turns != nil, conditions[pairs[index].condition].subject.pattern?.literal == nil else {
                return .holds
            }
            let end = due + Self.forgetting
            if now < end { next = min(next ?? end, end) } else { pairs[index].isGone = true }
            return now < end ? .holds : .unknown(.missing)
        default: break
        }
        guard let measure = test.measure else { return .unknown(.nothingYet) }
        readSpan(number, test, of: index, next: &next)
        let reading = pairs[index].readings[number]
        guard reading.time != nil else { return reading.verdict }
        if isAwaited(source, resumed.map { reading.epoch >= $0.epoch } ?? true, next: &next) {
            return .unknown(.nothingYet)
        }
        if measure.isOfRequests {
            guard reading.epoch >= sources[source].whole else { return .unknown(.gap) }
            if measure.isOfNewestAnswer, case .every(let period) = sources[source].rhythm,
                let requested = sources[source].requested, now > requested + Self.patience(for: period)
            {
                return .unknown(.late)
            }
            return reading.verdict
        }
        if sources[source].failureCode != nil || sources[source].isCutOff { return .unknown(.failing) }
        if sources[source].isLate { return .unknown(.late) }
        // After an outage, until data comes.
        guard reading.epoch >= sources[source].epoch else {
            return .unknown(reading.epoch < sources[source].whole ? .gap : .nothingYet)
        }
        return reading.verdict
    }

    /// Whether a source is yet to speak in this run, before what is known of an earlier one counts again.
    private func isAwaited(_ source: Int, _ isOfThisRun: Bool, next: inout Timestamp?) -> Bool {
        guard !isOfThisRun, let resumed else { return false }
        let due = resumed.time + graceTime(of: source)
        if now < due { next = min(next ?? due, due) }
        return now < due
    }

    /// Reads a measure of the last time, if the test has one.
    private mutating func readSpan(_ number: Int, _ test: ConditionTest, of index: Int, next: inout Timestamp?) {
        let now = now
        var value: Double?
        var change: Timestamp?
        if case .percentile(let percent, let span)? = test.measure {
            let times = sources[pairs[index].source].times
            value = times.percentile(percent, after: now - span)
            change = times.first(after: now - span).map { $0 + span }
        } else if test.slidingSpan != nil {
            pairs[index].sliding[number]?.advance(to: now)
            guard let sliding = pairs[index].sliding[number] else { return }
            change = sliding.nextLoss
            let count = sliding.count
            switch test.measure {
            case .errors: if count >= 5 { value = 100 * sliding.sum / Double(count) }
            case .over(.count, let span):
                // Before that, some may be missing.
                let full = (pairs[index].begun ?? now) + span
                if now >= full { value = Double(count) } else { change = full }
            case .over(.min, _) where count >= 2: value = sliding.min
            case .over(.max, _) where count >= 2: value = sliding.max
            case .over where count >= 2: value = sliding.sum / Double(count)
            default: break
            }
        } else {
            return
        }
        if let change { next = min(next ?? change, change) }
        // The sum of large values may be infinite.
        value = value.flatMap { $0.isFinite ? $0 : nil }
        pairs[index].readings[number].verdict = value.map { test.judge($0) } ?? .unknown(.tooFew)
        pairs[index].readings[number].value = value.map { .number($0) } ?? .nothing
    }

    private mutating func judgeSet(_ number: Int) {
        guard isJudging, clock != nil else { return }
        let condition = conditions[number]
        let isAny = condition.subject.scope == .any
        let present = members[number].filter { !pairs[$0].isGone && !sources[pairs[$0].source].isPast }
        if turns != nil, present.isEmpty, !members[number].isEmpty, members[number].allSatisfy({ pairs[$0].isGone }) {
            let before = groups[number].phase
            (groups[number].changed, groups[number].changedFirst) = (nil, nil)
            (groups[number].phase, groups[number].verdict) = (.ok, nil)
            return tell(.set(number), of: number, before, .ok, isGone: true)
        }
        var verdict = Verdict.common(of: present.map { pairs[$0].verdict }, any: isAny)
        if verdict != Verdict(isAny) {
            let halfRead = groups[number].sources.compactMap { self.halfRead[$0] }.max()
            if let due = halfRead.map({ $0 + Self.longestPause }), due > now {
                groups[number].changed = groups[number].changed ?? now
                groups[number].changedFirst = groups[number].changedFirst ?? now
                return deadlines.add(.set(number), at: due)
            }
            if !isAny, verdict == .holds, let doubt = doubt(of: number) { verdict = .unknown(doubt) }
        }
        (groups[number].changed, groups[number].changedFirst) = (nil, nil)
        groups[number].verdict = verdict
        // The opposite of "any holds" is "all do not".
        let ending = condition.end.map { _ in
            Verdict.common(of: present.compactMap { pairs[$0].ending }, any: !isAny)
        }
        let before = groups[number].phase
        groups[number].phase.step(condition, verdict, until: ending, at: now)
        tell(.set(number), of: number, before, groups[number].phase)
        if let due = groups[number].phase.deadline(of: condition), due > now { deadlines.add(.set(number), at: due) }
    }

    /// After this time without a line, an answer in pages counts as complete, if nothing else says so.
    private static let longestPause = Duration.seconds(3)

    /// Why not all that a set is about may be known; nil if it is.
    private func doubt(of number: Int) -> Doubt? {
        if groups[number].isCut { return .tooMany }
        if groups[number].sources.contains(where: { isFlawed($0) }) { return .leftOut }
        return isUnanswered(number) ? .nothingYet : nil
    }

    /// Whether a listed source that the set may be about has not answered yet.
    private func isUnanswered(_ number: Int) -> Bool {
        guard !unanswered.isEmpty else { return false }
        let agents = Set(sources.lazy.filter { $0.hasAnswered && !$0.name.isOwnSource }.compactMap(\.agent))
        return unanswered.contains { index in
            let source = sources[index]
            // An agent that has never been there.
            if source.isListed, let agent = source.agent, source.name.isOwnSource {
                return conditions[number].mayBeAbout(agent: agent) && !agents.contains(agent)
            }
            return source.isListed && !source.hasAnswered && !groups[number].sources.contains(index)
                && agentsByName[Board.Name(source.name)] == nil && conditions[number].mayBeAbout(source: source.name)
        }
    }

    // MARK: Names

    private mutating func source(named name: String) -> Int? {
        if let index = sourcesByName[Board.Name(name)] { return index }
        guard let index = addSource(name) else { return nil }
        sourcesByName[Board.Name(name)] = index
        for number in subjects.candidates(of: name, series: nil) where conditions[number].isOfSources {
            guard conditions[number].subject.scope != .agent, conditions[number].isAbout(source: name) else { continue }
            if let pair = add(number, name, source: index, series: nil) { sources[index].pairs.append(pair) }
        }
        return index
    }

    private mutating func agent(named name: String) -> Int? {
        if let index = agentsByName[Board.Name(name)] { return index }
        guard let index = addSource(name) else { return nil }
        agentsByName[Board.Name(name)] = index
        for number in subjects.wide where conditions[number].subject.scope == .agent {
            guard conditions[number].subject.pattern?.matches(name) ?? true else { continue }
            if let pair = add(number, name, source: index, series: nil) { sources[index].pairs.append(pair) }
        }
        return index
    }

    private mutating func addSource(_ name: String) -> Int? {
        guard sources.count < Self.mostNames else {
            refused += 1
            return nil
        }
        var source = SourceFacts(name: name, heard: isJudging ? clock : nil)
        source.isPast = source.agent.map { pastAgents.contains($0) } ?? false
        (source.epoch, source.whole) = (whole, whole)
        sources.append(source)
        return sources.count - 1
    }

    /// Nil for a series that no condition is about.
    private mutating func series(named name: String, of source: Int) -> Int? {
        if let index = seriesByName[Board.Name(name)] { return index < 0 ? nil : index }
        let sourceName = sources[source].name
        let about = subjects.candidates(of: sourceName, series: name).filter {
            !conditions[$0].isOfSources && conditions[$0].isAbout(series: name, of: sourceName)
        }
        // Those that no condition is about are found to be that again.
        if seriesByName.count >= Self.mostNames { seriesByName = seriesByName.filter { $0.value >= 0 } }
        guard seriesByName.count < Self.mostNames else {
            isFull = true
            refused += about.isEmpty ? 0 : 1
            for number in about { groups[number].isCut = true }
            return nil
        }
        guard !about.isEmpty else {
            seriesByName[Board.Name(name)] = -1
            return nil
        }
        let index = series.count
        seriesByName[Board.Name(name)] = index
        series.append(SeriesFacts(source: source, heard: isJudging ? clock : nil))
        sources[source].series.append(index)
        for number in about {
            guard let pair = add(number, name, source: source, series: index) else { continue }
            series[index].pairs.append(pair)
            if conditions[number].looksAtRequests { sources[source].seriesPairs.append(pair) }
        }
        return index
    }

    /// Forgets the series that are gone, once they are many.
    private mutating func makeRoom() {
        isFull = false
        guard gone >= Self.mostPairs / 10 else { return }
        var new = self
        (new.pairs, new.room, new.gone, new.deadlines) = ([], 0, 0, DeadlineSchedule())
        (new.sources, new.series, new.halfRead, new.unanswered) = ([], [], [:], [])
        (new.sourcesByName, new.agentsByName, new.seriesByName) = ([:], [:], [:])
        new.members = Array(repeating: [], count: conditions.count)
        new.groups = Array(repeating: Group(), count: conditions.count)
        new.met = Array(repeating: 0, count: conditions.count)
        new.pending = new.met
        new.adopt(self, withGone: false)
        self = new
    }

    private mutating func add(_ number: Int, _ name: String, source: Int, series: Int?) -> Int? {
        let tests = conditions[number].allTests
        let spans = tests.map(\.slidingSpan)
        let pair = Pair(
            condition: number, name: name, source: source, series: series, begun: clock,
            readings: tests.map { _ in Reading() },
            sliding: spans.allSatisfy { $0 == nil } ? [] : spans.map { $0.map { SlidingValues(of: $0) } })
        let size = pair.size
        guard room + size <= Self.mostPairs else {
            isFull = true
            refused += 1
            groups[number].isCut = true
            return nil
        }
        room += size
        let index = pairs.count
        pairs.append(pair)
        members[number].append(index)
        groups[number].sources.insert(source)
        judge(index)
        return index
    }
}

extension Line.Window {
    fileprivate subscript(part: Measure.WindowPart) -> Double {
        switch part {
        case .last: last
        case .min: min
        case .max: max
        case .mean: mean
        case .count: Double(count)
        }
    }
}
