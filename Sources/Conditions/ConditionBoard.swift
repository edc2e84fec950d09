package import Feed
package import Reactor

/// The states of conditions, computed from the lines of a feed.
///
/// A pure function of its lines and times. Each condition has a state for each series that it is about, or one for a set of
/// them (`any`, `all`). docs/conditions.md says when a test is known and what it comes to.
package struct ConditionBoard: Sendable {
    // Bound: conditions of series | 100,000 of all conditions and series | further series refused, counted
    private static let mostPairs = 100_000
    private static let mostNames = 100_000

    package let conditions: [Condition]
    /// The number of times that a series, source or agent found no room.
    package private(set) var refused = 0
    /// The number of answers, and of failures with and without one.
    package private(set) var answers = 0
    package private(set) var errors = 0
    /// The number of data lines.
    package private(set) var events = 0
    /// The message of the newest error.
    package private(set) var newestError: String?

    private var pairs: [Pair] = []
    /// The pairs of each condition, and its common state.
    private var members: [[Int]]
    private var groups: [Group]
    /// How many of its pairs are met.
    private var met: [Int]
    private var sources: [SourceFacts] = []
    private var series: [SeriesFacts] = []
    private var sourcesByName: [Board.Name: Int] = [:]
    private var agentsByName: [Board.Name: Int] = [:]
    private var seriesByName: [Board.Name: Int] = [:]
    private var deadlines = DeadlineHeap()
    private var now: Timestamp
    private var interval = Duration.seconds(10)
    private var run: String?
    /// Readings are of the epoch in which they were made. A gap and a failure begin another one, as what came before says
    /// nothing any more.
    private var epoch = 1
    /// The first epoch without a gap.
    private var whole = 0
    /// The source and time of the newest data line, while sets may have to be judged because of it.
    private var newestData: (source: String?, time: Timestamp)?
    /// Whether states follow the lines; until then these only say how things are.
    package private(set) var isJudging: Bool

    /// - Parameters:
    ///   - start: when watching begins; nil for a feed with a past, which may begin at any time.
    ///   - isJudging: whether the first lines already count; else `judge` begins it.
    package init(_ conditions: [Condition], from start: Timestamp?, isJudging: Bool) {
        self.conditions = conditions
        now = start ?? Self.longAgo
        members = Array(repeating: [], count: conditions.count)
        groups = Array(repeating: Group(), count: conditions.count)
        met = Array(repeating: 0, count: conditions.count)
        self.isJudging = isJudging
        // Named sources and series may be silent from the beginning on.
        for condition in conditions where condition.mayBeSilent {
            guard let name = condition.subject.pattern?.literal else { continue }
            if condition.subject.scope == .agent {
                _ = agent(named: name)
            } else if let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) {
                if let source = source(named: String(name[..<slash])) { _ = series(named: name, of: source) }
            } else {
                _ = source(named: name)
            }
        }
    }

    /// Whether a condition is met for a series, or for its set of series.
    package func isMet(_ condition: Int) -> Bool {
        conditions[condition].isOfSet ? groups[condition].phase.isMet : met[condition] > 0
    }

    /// The measurement that a condition was judged by: of a series for which it is met, else of one for which it is not. Of
    /// several, the newest.
    ///
    /// - Returns: nil when it is about nothing that has come.
    package mutating func finding(of condition: Int) -> Finding? {
        let wanted: Verdict = isMet(condition) ? .holds : .doesNot
        func rank(_ pair: Pair) -> (Int, Timestamp) {
            let isMet = pair.phase.isMet || pair.verdict == wanted
            return (isMet ? 1 : 0, pair.readings.compactMap(\.time).max() ?? Self.longAgo)
        }
        guard let index = members[condition].max(by: { rank(pairs[$0]) < rank(pairs[$1]) }) else { return nil }
        var next: Timestamp?
        let readings = conditions[condition].tests.enumerated().map { number, test in
            let verdict = current(number, test, of: index, next: &next)
            return (test: test, reading: pairs[index].readings[number], verdict: verdict)
        }
        let deciding = readings.filter { $0.verdict != .holds }
        return Finding(pairs[index], isMet(condition) || deciding.isEmpty ? readings : [deciding[0]], at: now)
    }

    /// When a state may change if no line comes; nil for never.
    package var nextDeadline: Timestamp? { isJudging ? deadlines.earliest : nil }

    private static let longAgo = Timestamp(microseconds: 0)

    // MARK: Time

    /// Lets time pass up to `time`, which is not earlier than before; changes what is due.
    package mutating func advance(to time: Timestamp) {
        defer { now = max(now, time) }
        guard isJudging else { return }
        while let due = deadlines.pop(at: time) {
            now = max(now, due.time)
            let (index, kind) = due.id.quotientAndRemainder(dividingBy: 3)
            switch kind {
            case 0 where pairs[index].scheduled == due.time:
                pairs[index].scheduled = nil
                judge(index)
            case 1 where groups[index].scheduled == due.time:
                groups[index].scheduled = nil
                judgeSet(index)
            case 2 where sources[index].scheduled == due.time:
                sources[index].scheduled = nil
                checkLateness(of: index)
            default: break
            }
        }
    }

    /// Begins to judge, by what is known now.
    package mutating func judge() {
        guard !isJudging else { return }
        isJudging = true
        // Sources and series that were never heard of are silent from now on.
        for index in sources.indices where sources[index].heard == Self.longAgo { sources[index].heard = now }
        for index in series.indices where series[index].heard == Self.longAgo { series[index].heard = now }
        for index in sources.indices { checkLateness(of: index) }
        for index in pairs.indices { judge(index) }
        finish()
    }

    /// Judges the sets of streams whose series have changed, as nothing more is there for now.
    package mutating func judgeSets() {
        newestData = nil
        for index in groups.indices {
            if let source = groups[index].changedBy, sources[source].rhythm == .stream { judgeSet(index) }
        }
    }

    /// Judges all sets whose series have changed, as the feed has ended.
    package mutating func finish() {
        for index in groups.indices where groups[index].changedBy != nil { judgeSet(index) }
    }

    /// Judges the sets that a complete answer of a source has changed.
    private mutating func judgeSets(of source: Int) {
        for index in groups.indices where groups[index].changedBy == source { judgeSet(index) }
    }

    // MARK: Lines

    /// Applies one line.
    ///
    /// - Parameter time: when it came; nil for a line that says nothing of the time.
    package mutating func apply(_ line: Line, at time: Timestamp?) {
        if let time { advance(to: time) }
        // The lines of one answer have one time.
        if let newestData, newestData.source != line.source || newestData.time != line.time { judgeSets() }
        let sequence = line.seq ?? 0
        switch line.body {
        case .hello(let hello):
            interval = hello.interval
            if let run, run != hello.run { forgetReadings() }
            run = hello.run
        case .stats(let stats):
            for status in stats.sources { list(status) }
        case .gap, .lost: forgetReadings()
        case .kept(let kept): recall(kept)
        case .data(let data):
            events += 1
            apply(data, line, sequence)
            newestData = (line.source, line.time)
        case .window(let window): apply(window, line, sequence)
        case .latency(let sample): apply(sample, line, sequence)
        case .error(let failure): apply(failure, line, sequence)
        case .recovered: recover(line)
        case .progress(let progress): apply(progress, line)
        case .peer(let peer): apply(peer, line, sequence)
        case .memory, .agent, .restart, .bye, .refusal, .unknown: break
        }
    }

    private mutating func recall(_ kept: Line.Kept) {
        var line = kept.line
        line.seq = nil
        switch line.body {
        case .data(let data): apply(data, line, 0)
        case .window(let window): apply(window, line, 0)
        default: break
        }
    }

    /// Makes all readings unknown, because lines are missing.
    private mutating func forgetReadings() {
        epoch += 1
        whole = epoch
        for index in sources.indices { sources[index].epoch = max(sources[index].epoch, whole) }
        if isJudging { for index in pairs.indices { judge(index) } }
    }

    private mutating func list(_ status: SourceStatus) {
        guard let index = source(named: status.source) else { return }
        sources[index].rhythm = status.rhythm
        sources[index].bands = status.bands
        sources[index].isKnown = status.state != .starting
        if let answered = status.answered, sources[index].answered.map({ $0 < answered }) ?? true {
            sources[index].answered = answered
        }
        let code = status.state == .failing ? status.failure?.code ?? "" : nil
        if code != sources[index].failureCode {
            sources[index].failureCode = code
            if code != nil { beginEpoch(of: index) }
            judgeAll(of: index)
        }
        checkLateness(of: index)
    }

    private mutating func apply(_ data: Line.Data, _ line: Line, _ sequence: Int) {
        guard let source = line.source.flatMap({ source(named: $0) }) else { return }
        answer(source)
        guard let index = series(named: data.series, of: source) else { return }
        series[index].heard = now
        let isNewest = series[index].newest.map { $0 <= line.time } ?? true
        if isNewest { series[index].newest = line.time }
        for pair in series[index].pairs {
            pairs[pair].isGone = false
            let condition = conditions[pairs[pair].condition]
            for (number, test) in condition.allTests.enumerated() {
                switch test.measure {
                case .over:
                    guard let value = data.value else { continue }
                    pairs[pair].sliding[number]?.add(value, at: now)
                    touch(number, pair, sequence)
                case .value, .text, .pointer, .band:
                    guard isNewest else { continue }
                    let (verdict, value) = read(test, in: data, bands: sources[source].bands)
                    set(verdict, value, of: number, in: pair, sequence)
                default: break
                }
            }
            judge(pair)
        }
    }

    private func read(
        _ test: ConditionTest, in data: Line.Data, bands: BandScale?
    ) -> (verdict: Verdict, value: Reading.Value) {
        let missing = (verdict: Verdict.unknown(.missing), value: Reading.Value.nothing)
        switch test.measure {
        case .value:
            guard let value = data.value else { return missing }
            switch test.kind {
            case .compares(_, _, .text):
                guard let word = data.word else { return (.unknown(.notComparable), .number(value)) }
                return (test.judge(word), .string(word))
            case .compares(_, let comparison, .bool(let wanted)):
                guard let word = data.word, word == "true" || word == "false" else {
                    return (.unknown(.notComparable), .number(value))
                }
                return (Verdict(((word == "true") == wanted) == (comparison == .equal)), .text(word))
            default: return (test.judge(value), data.word.map { .string($0) } ?? .number(value))
            }
        case .text:
            guard let text = data.text else { return missing }
            // A part of the text may be what is looked for.
            if data.truncated, case .contains(_, let part, _) = test.kind, !text.holds(part) {
                return (.unknown(.missing), .string(text))
            }
            return (test.judge(text), .string(text))
        case .band:
            guard let value = data.value, let bands else { return missing }
            let name = bands.bands[bands.index(of: value)].name
            return (test.judge(name), .string(name))
        case .pointer(let pointer):
            guard let bytes = data.data, let document = try? JSONDocument(bytes) else { return missing }
            let found = try? document.value(at: pointer)
            if case .exists(_, let isNegated) = test.kind {
                return (Verdict((found != nil) != isNegated), found.map { .json($0.minified) } ?? .nothing)
            }
            guard let found else { return missing }
            return (test.judge(found), .json(found.minified))
        default: return missing
        }
    }

    private mutating func apply(_ window: Line.Window, _ line: Line, _ sequence: Int) {
        guard let source = line.source.flatMap({ source(named: $0) }),
            let index = series(named: window.series, of: source)
        else { return }
        // A late event revises a window; only the newest one counts.
        guard series[index].window.map({ $0 <= window.start }) ?? true else { return }
        series[index].window = window.start
        for pair in series[index].pairs {
            let condition = conditions[pairs[pair].condition]
            var isRead = false
            for (number, test) in condition.allTests.enumerated() {
                guard case .window(let part)? = test.measure else { continue }
                let value =
                    switch part {
                    case .last: window.last
                    case .min: window.min
                    case .max: window.max
                    case .mean: window.mean
                    case .count: Double(window.count)
                    }
                set(test.judge(value), .number(value), of: number, in: pair, sequence)
                isRead = true
            }
            if isRead { judge(pair) }
        }
    }

    private mutating func apply(_ sample: LatencySample, _ line: Line, _ sequence: Int) {
        answers += 1
        guard let source = line.source.flatMap({ source(named: $0) }) else { return }
        sources[source].answerTime = line.time
        sources[source].times.add(sample.ms, at: now)
        if sample.status == 304 {
            answer(source)
            // Earlier data is as good as new, unless lines are missing.
            sources[source].epoch = whole
        }
        for pair in sources[source].pairs + sources[source].seriesPairs {
            let condition = conditions[pairs[pair].condition]
            for (number, test) in condition.allTests.enumerated() {
                switch test.measure {
                case .status:
                    let status = Double(sample.status)
                    set(test.judge(status), .number(status), of: number, in: pair, sequence)
                case .ms: set(test.judge(sample.ms), .number(sample.ms), of: number, in: pair, sequence)
                case .percentile: touch(number, pair, sequence)
                case .errors:
                    pairs[pair].sliding[number]?.add(0, at: now)
                    touch(number, pair, sequence)
                default: break
                }
            }
            judge(pair)
        }
        if sample.status == 304 { judgeAll(of: source) }
        judgeSets(of: source)
    }

    private mutating func apply(_ failure: Failure, _ line: Line, _ sequence: Int) {
        errors += 1
        newestError = failure.message
        guard let source = line.source.flatMap({ source(named: $0) }) else { return }
        sources[source].failureCode = failure.code.rawValue
        sources[source].isKnown = true
        beginEpoch(of: source)
        let hasAnswer = sources[source].answerTime == line.time
        for pair in sources[source].pairs + sources[source].seriesPairs where failure.endpoint != nil {
            let condition = conditions[pairs[pair].condition]
            for (number, test) in condition.allTests.enumerated() {
                switch test.measure {
                case .status where !hasAnswer: set(.doesNot, .text("none"), of: number, in: pair, sequence)
                case .ms where !hasAnswer: set(.unknown(.noAnswer), .nothing, of: number, in: pair, sequence)
                case .errors:
                    if hasAnswer {
                        pairs[pair].sliding[number]?.raise(by: 1, at: now)
                    } else {
                        pairs[pair].sliding[number]?.add(1, at: now)
                    }
                    touch(number, pair, sequence)
                default: break
                }
            }
        }
        judgeAll(of: source)
        judgeSets(of: source)
    }

    private mutating func recover(_ line: Line) {
        guard let source = line.source.flatMap({ source(named: $0) }) else { return }
        sources[source].failureCode = nil
        sources[source].heard = now
        judgeAll(of: source)
    }

    private mutating func apply(_ progress: Progress, _ line: Line) {
        guard let name = line.source, let source = source(named: name) else { return }
        answer(source)
        for key in progress.gone {
            guard let index = seriesByName[Board.Name("\(name)/\(key)")] else { continue }
            for pair in series[index].pairs {
                for number in pairs[pair].readings.indices where pairs[pair].readings[number].time != nil {
                    pairs[pair].readings[number].verdict = .unknown(.missing)
                }
                pairs[pair].isGone = true
                judge(pair)
            }
        }
        judgeSets(of: source)
    }

    private mutating func apply(_ peer: Line.Peer, _ line: Line, _ sequence: Int) {
        guard let name = line.agent, let agent = agent(named: name) else { return }
        sources[agent].failureCode = ["away", "refused", "conflict"].contains(peer.state) ? peer.state : nil
        sources[agent].isKnown = true
        if peer.state == "live", let heard = peer.heard { sources[agent].heard = now - max(.zero, line.time - heard) }
        for pair in sources[agent].pairs {
            for number in pairs[pair].readings.indices { touch(number, pair, sequence) }
        }
        judgeAll(of: agent)
    }

    // MARK: Readings

    private mutating func set(
        _ verdict: Verdict, _ value: Reading.Value, of test: Int, in pair: Int, _ sequence: Int
    ) {
        pairs[pair].readings[test].verdict = verdict
        pairs[pair].readings[test].value = value
        touch(test, pair, sequence)
    }

    private mutating func touch(_ test: Int, _ pair: Int, _ sequence: Int) {
        pairs[pair].readings[test].time = now
        pairs[pair].readings[test].sequence = sequence
        pairs[pair].readings[test].epoch = epoch
    }

    /// A good answer came from a source.
    private mutating func answer(_ source: Int) {
        sources[source].answered = now
        sources[source].heard = now
        sources[source].isKnown = true
        if sources[source].isLate || sources[source].failureCode != nil {
            (sources[source].isLate, sources[source].failureCode) = (false, nil)
            judgeAll(of: source)
        } else {
            // It is not silent any more.
            for pair in sources[source].pairs { judge(pair) }
        }
        checkLateness(of: source)
    }

    /// From now on, what was read of the source's data before is unknown.
    private mutating func beginEpoch(of source: Int) {
        epoch += 1
        sources[source].epoch = epoch
    }

    /// A source that is polled is late after two and a half times the longer of its period and a window.
    private mutating func checkLateness(of source: Int) {
        guard case .every(let period) = sources[source].rhythm, let answered = sources[source].answered else { return }
        let due = answered + max(period, interval) * 5 / 2
        let isLate = now > due
        if isLate != sources[source].isLate {
            sources[source].isLate = isLate
            judgeAll(of: source)
        }
        guard !isLate, sources[source].scheduled.map({ due < $0 }) ?? true else { return }
        // The moment after.
        let time = due + .microseconds(1)
        sources[source].scheduled = time
        deadlines.insert(time, source * 3 + 2)
    }

    // MARK: Judging

    private mutating func judgeAll(of source: Int) {
        guard isJudging else { return }
        for pair in sources[source].pairs { judge(pair) }
        for index in sources[source].series { for pair in series[index].pairs { judge(pair) } }
    }

    private mutating func judge(_ index: Int) {
        guard isJudging else { return }
        let condition = conditions[pairs[index].condition]
        var verdict = Verdict.holds
        var next: Timestamp?
        for number in condition.tests.indices {
            verdict = verdict.and(current(number, condition.tests[number], of: index, next: &next))
        }
        pairs[index].verdict = verdict
        if let end = condition.end {
            pairs[index].ending = current(condition.tests.count, end.test, of: index, next: &next)
        }
        if condition.isOfSet {
            groups[pairs[index].condition].changedBy = pairs[index].source
        } else {
            let wasMet = pairs[index].phase.isMet
            pairs[index].phase.step(condition, verdict, until: pairs[index].ending, at: now)
            let isMet = pairs[index].phase.isMet
            if isMet != wasMet { met[pairs[index].condition] += isMet ? 1 : -1 }
            if let due = pairs[index].phase.deadline(of: condition), due > now { next = min(next ?? due, due) }
        }
        guard let next, next > now, pairs[index].scheduled.map({ next < $0 }) ?? true else { return }
        pairs[index].scheduled = next
        deadlines.insert(next, index * 3)
    }

    /// Returns the verdict on a test now; `next` becomes the time when that may change by itself, if that is earlier.
    private mutating func current(_ number: Int, _ test: ConditionTest, of index: Int, next: inout Timestamp?)
        -> Verdict
    {
        let source = pairs[index].source
        switch test.kind {
        case .fails(let code):
            guard sources[source].isKnown else { return .unknown(.nothingYet) }
            pairs[index].readings[number].value = .nothing
            guard let failure = sources[source].failureCode else { return .doesNot }
            pairs[index].readings[number].value = .text(Sanitizer.visible(failure, limit: 64))
            return Verdict(code == nil || code == failure)
        case .isSilent(let span):
            let heard = pairs[index].series.map { series[$0].heard } ?? sources[source].heard
            pairs[index].readings[number].time = heard
            if now >= heard + span { return .holds }
            next = min(next ?? heard + span, heard + span)
            return .doesNot
        default: break
        }
        guard let measure = test.measure else { return .unknown(.nothingYet) }
        readSpan(number, test, of: index, next: &next)
        let reading = pairs[index].readings[number]
        if measure.isOfRequests {
            return reading.epoch < whole && reading.time != nil ? .unknown(.gap) : reading.verdict
        }
        if sources[source].failureCode != nil { return .unknown(.failing) }
        if sources[source].isLate { return .unknown(.late) }
        // After an outage, until data comes.
        if reading.time != nil, reading.epoch < sources[source].epoch {
            return .unknown(reading.epoch < whole ? .gap : .nothingYet)
        }
        return reading.verdict
    }

    /// Reads a measure of the last time, if the test has one.
    private mutating func readSpan(_ number: Int, _ test: ConditionTest, of index: Int, next: inout Timestamp?) {
        var value: Double?
        var change: Timestamp?
        if case .percentile(let percent, let span)? = test.measure {
            let times = sources[pairs[index].source].times
            value = times.percentile(percent, after: now - span)
            change = times.first(after: now - span).map { $0 + span }
        } else if pairs[index].sliding[number] != nil {
            pairs[index].sliding[number]?.advance(to: now)
            guard let sliding = pairs[index].sliding[number] else { return }
            change = sliding.nextLoss
            let count = sliding.count
            switch test.measure {
            case .errors: if count >= 5 { value = 100 * sliding.sum / Double(count) }
            case .over(.count, let span):
                // Before that, some may be missing.
                let full = pairs[index].begun + span
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

    private mutating func judgeSet(_ condition: Int) {
        guard isJudging else { return }
        groups[condition].changedBy = nil
        let line = conditions[condition]
        let isAny = line.subject.scope == .any
        let present = members[condition].filter { !pairs[$0].isGone }
        let verdict = Self.common(of: present.map { pairs[$0].verdict }, any: isAny)
        // The opposite of "any holds" is "all do not".
        let ending = line.end.map { _ in Self.common(of: present.compactMap { pairs[$0].ending }, any: !isAny) }
        groups[condition].phase.step(line, verdict, until: ending, at: now)
        guard let due = groups[condition].phase.deadline(of: line), due > now,
            groups[condition].scheduled.map({ due < $0 }) ?? true
        else { return }
        groups[condition].scheduled = due
        deadlines.insert(due, condition * 3 + 1)
    }

    private static func common(of verdicts: some Sequence<Verdict>, any: Bool) -> Verdict {
        let decisive = Verdict(any)
        var common: Verdict?
        for verdict in verdicts {
            if verdict == decisive { return decisive }
            if case .unknown = common { continue }
            common = verdict
        }
        return common ?? .unknown(.nothingYet)
    }

    // MARK: Names

    private mutating func source(named name: String) -> Int? {
        if let index = sourcesByName[Board.Name(name)] { return index }
        guard let index = addSource(name) else { return nil }
        sourcesByName[Board.Name(name)] = index
        for (number, condition) in conditions.enumerated()
        where condition.isOfSources && condition.subject.scope != .agent {
            guard condition.isAbout(source: name) else { continue }
            if let pair = add(number, name, source: index, series: nil) { sources[index].pairs.append(pair) }
        }
        return index
    }

    private mutating func agent(named name: String) -> Int? {
        if let index = agentsByName[Board.Name(name)] { return index }
        guard let index = addSource(name) else { return nil }
        agentsByName[Board.Name(name)] = index
        for (number, condition) in conditions.enumerated() where condition.subject.scope == .agent {
            guard condition.subject.pattern?.matches(name) ?? true else { continue }
            if let pair = add(number, name, source: index, series: nil) { sources[index].pairs.append(pair) }
        }
        return index
    }

    private mutating func addSource(_ name: String) -> Int? {
        guard sources.count < Self.mostNames else {
            refused += 1
            return nil
        }
        sources.append(SourceFacts(name: name, heard: now))
        sources[sources.count - 1].epoch = whole
        return sources.count - 1
    }

    /// Nil for a series that no condition is about.
    private mutating func series(named name: String, of source: Int) -> Int? {
        if let index = seriesByName[Board.Name(name)] { return index < 0 ? nil : index }
        let sourceName = sources[source].name
        let about = conditions.indices.filter {
            !conditions[$0].isOfSources && conditions[$0].isAbout(series: name, of: sourceName)
        }
        guard seriesByName.count < Self.mostNames else {
            refused += about.isEmpty ? 0 : 1
            return nil
        }
        guard !about.isEmpty else {
            seriesByName[Board.Name(name)] = -1
            return nil
        }
        let index = series.count
        seriesByName[Board.Name(name)] = index
        series.append(SeriesFacts(source: source, heard: now))
        sources[source].series.append(index)
        for number in about {
            guard let pair = add(number, name, source: source, series: index) else { continue }
            series[index].pairs.append(pair)
            if conditions[number].looksAtRequests { sources[source].seriesPairs.append(pair) }
        }
        return index
    }

    private mutating func add(_ number: Int, _ name: String, source: Int, series: Int?) -> Int? {
        guard pairs.count < Self.mostPairs else {
            refused += 1
            return nil
        }
        let tests = conditions[number].allTests
        let sliding: [SlidingValues?] = tests.map { test in
            switch test.measure {
            case .over(_, let span), .errors(let span): SlidingValues(of: span)
            default: nil
            }
        }
        pairs.append(
            Pair(
                condition: number, name: name, source: source, series: series, begun: now,
                readings: tests.map { _ in Reading() }, sliding: sliding))
        let index = pairs.count - 1
        members[number].append(index)
        judge(index)
        return index
    }
}

extension Condition {
    /// The tests, then that behind `until`.
    fileprivate var allTests: [ConditionTest] { tests + (end.map { [$0.test] } ?? []) }

    fileprivate var isOfSet: Bool { subject.scope == .any || subject.scope == .all }

    fileprivate var mayBeSilent: Bool {
        allTests.contains { if case .isSilent = $0.kind { true } else { false } }
    }

    /// Whether it is about a source as such, and not about its series.
    fileprivate var isOfSources: Bool {
        if subject.scope == .agent { return true }
        if subject.pattern?.holds(UInt8(ascii: "/")) ?? false { return false }
        return allTests.allSatisfy { test in
            switch test.kind {
            case .fails, .isSilent: true
            default: test.measure?.isOfRequests ?? false
            }
        }
    }

    fileprivate var looksAtRequests: Bool { allTests.contains { $0.measure?.isOfRequests ?? false } }

    fileprivate func isAbout(source: String) -> Bool {
        if let literal = subject.pattern?.literal { return literal.utf8.elementsEqual(source.utf8) }
        // The agent's own lines are meant only where they are named.
        guard !source.isOwnSource else { return false }
        return subject.pattern?.matches(source) ?? true
    }

    fileprivate func isAbout(series: String, of source: String) -> Bool {
        if let literal = subject.pattern?.literal, literal.utf8.elementsEqual(series.utf8) { return true }
        // Series of response times, memory and counts too.
        guard SeriesKind(of: series) == .data else { return false }
        if let pattern = subject.pattern, pattern.matches(series) { return !source.isOwnSource }
        return isAbout(source: source)
    }
}

extension String {
    /// Whether it is the source that stands for an agent itself.
    fileprivate var isOwnSource: Bool { self == EventStore.ownName || hasSuffix(".\(EventStore.ownName)") }
}
