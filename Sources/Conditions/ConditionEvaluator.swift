package import Feed
package import Reactor

/// The states of conditions, by what is observed of a feed.
///
/// Each condition has a state for each series that it is about, or one for a set of them (`any`, `all`). docs/conditions.md has
/// the rules. Events set *readings*. A stream's readings are evaluated at once, those of a polled source when its answer is
/// complete (`settle`); `tick` evaluates what depends on time.
package struct ConditionEvaluator: Sendable {
    // Bound: conditions × series, members of sets included | 10,000 | further ones have no state; reported once
    private static let mostInstances = 10_000
    // Bound: sources and agents that conditions are about | 10,000 | further ones not observed
    private static let mostSources = 10_000

    package let conditions: [Condition]
    /// How often there was no room for a condition of a series.
    package private(set) var refused = 0
    /// Whether states follow the readings.
    package private(set) var isEvaluating: Bool
    private let subjects: SubjectIndex
    private let setNumbers: [Int]
    private let hasPercentile: Bool
    private let reportsChanges: Bool
    /// The width of the feed's windows.
    package var window: Duration

    private var now: Moment
    /// The number of the line that is observed; 0 while time passes.
    private var line = 0
    private var sources: [ObservedSource] = []
    private var freeSources: [Int] = []
    private var sourceIndices: [Board.Name: Int] = [:]
    private var agentIndices: [Board.Name: Int] = [:]
    private var awayAgents: Set<String> = []
    /// Sources with readings that wait for the end of an answer.
    private var waitingSources: [Int] = []
    private var series: [ObservedSeriesState] = []
    private var seriesIndices: [Board.Name: Int] = [:]
    private var freeSeries: [Int] = []
    private var instances: [ConditionInstance] = []
    private var freeInstances: [Int] = []
    /// The instances of each condition, how many of them are met, and its set.
    private var members: [Set<Int>]
    private var met: [Int]
    private var sets: [ConditionSet]
    /// Instances that time may change, or that have changed too often.
    private var timed: [Int] = []
    private var transitions: [Transition] = []
    package private(set) var nextDue: LoopInstant?

    /// - Parameters:
    ///   - moment: now.
    ///   - isEvaluating: whether the first readings already count; else `evaluateAll` begins it.
    ///   - reportsChanges: whether changes of states are reported, at most ten a second of each; else only what is met counts.
    package init(
        _ conditions: [Condition], at moment: Moment, window: Duration = .seconds(10), isEvaluating: Bool = true,
        reportsChanges: Bool = true
    ) {
        self.conditions = conditions
        (now, self.window) = (moment, window)
        (self.isEvaluating, self.reportsChanges) = (isEvaluating, reportsChanges)
        subjects = SubjectIndex(conditions)
        setNumbers = conditions.indices.filter { conditions[$0].isOfSet }
        hasPercentile = conditions.contains(where: \.hasPercentile)
        members = Array(repeating: [], count: conditions.count)
        met = Array(repeating: 0, count: conditions.count)
        sets = Array(repeating: ConditionSet(), count: conditions.count)
    }

    // MARK: What is known

    /// Whether a condition is met for a series, or for its set of series.
    package func isMet(_ condition: Int) -> Bool {
        conditions[condition].isOfSet ? sets[condition].state.phase.isMet : met[condition] > 0
    }

    /// Whether a condition is about something that has come.
    package func hasSubject(_ condition: Int) -> Bool {
        members[condition].contains { index in
            let (source, series) = (sources[instances[index].source], instances[index].series.map { self.series[$0] })
            return series.map { $0.heard != nil } ?? (source.isAgent || source.isListed || source.hasSpoken)
        }
    }

    /// The measurement that a condition was judged by: of a series for which it is met, else of one for which it is not. Of
    /// several, the newest.
    ///
    /// - Returns: nil when it is about nothing that has come.
    package mutating func finding(of condition: Int) -> Finding? {
        guard let index = decisiveInstance(of: condition) else { return nil }
        var due: LoopInstant?
        let readings = conditions[condition].tests.enumerated().map { number, test in
            let verdict = verdict(on: number, of: index, due: &due)
            return (test: test, reading: instances[index].readings[number], verdict: verdict)
        }
        let failing = readings.filter { $0.verdict != .holds }
        let isInDoubt = !isMet(condition) && failing.isEmpty && conditions[condition].subject.scope == .all
        return Finding(
            instances[index], isMet(condition) || failing.isEmpty ? readings : [failing[0]],
            but: isInDoubt ? .nothingYet : nil, at: now.now)
    }

    private func decisiveInstance(of condition: Int) -> Int? {
        let wanted: Verdict = isMet(condition) ? .holds : .doesNot
        func rank(_ instance: ConditionInstance) -> (Int, LoopInstant, String) {
            let isWanted = instance.state.phase.isMet || instance.verdict == wanted
            let newest = instance.readings.compactMap(\.time).max() ?? LoopInstant(nanoseconds: .min)
            return (isWanted ? 1 : 0, newest, instance.name)  // of equals, always the same one
        }
        return members[condition].max { rank(instances[$0]) < rank(instances[$1]) }
    }

    /// The series that conditions are about, with their sources.
    var seriesNames: [(source: String, name: String)] {
        series.filter { !$0.name.isEmpty }.map { (sources[$0.source].name, $0.name) }
    }

    /// Whether what a condition is about may be there: its source is, or one that its set may be about.
    func mayBeThere(_ number: Int, _ source: String) -> Bool {
        guard source == EventStore.ownName else {
            return sourceIndices[Board.Name(source)].map { sources[$0].isListed } ?? false
        }
        guard conditions[number].isOfSet else { return true }
        return sources.contains { $0.isListed && conditions[number].mayConcern(source: $0.name) }
    }

    /// Whether a source, or an agent, has said something.
    func isKnown(_ name: String) -> Bool {
        [sourceIndices[Board.Name(name)], agentIndices[Board.Name(name)]].contains {
            $0.map { sources[$0].isListed || sources[$0].hasSpoken || sources[$0].heard != nil } ?? false
        }
    }

    /// Removes and returns the changes since the last time.
    mutating func takeTransitions() -> [Transition] {
        guard !transitions.isEmpty else { return [] }
        defer { transitions = [] }
        return transitions
    }

    // MARK: Sources and series

    package mutating func describe(_ status: SourceStatus, at moment: Moment) {
        now = moment
        guard let index = source(named: status.source) else { return }
        let isNew = !sources[index].isListed
        (sources[index].rhythm, sources[index].bands, sources[index].isListed) = (status.rhythm, status.bands, true)
        if isNew { beginSilence(of: index) }
        guard !sources[index].hasSpoken else { return }
        if status.state != .starting {
            sources[index].hasSpoken = true
            sources[index].failure = status.state == .failing ? status.failure?.code ?? "" : nil
            return
        }
        for number in setNumbers where conditions[number].mayConcern(source: status.source) {
            sets[number].awaited.insert(index)
        }
    }

    /// A source, and its series that are asked for by name, are silent from when it is there.
    private mutating func beginSilence(of source: Int) {
        for condition in conditions where condition.mayBeSilent && !condition.isAboutAgents {
            guard let name = condition.literalSubject, name.utf8.contains(UInt8(ascii: "/")),
                condition.literalSource.map({ $0 == sources[source].name }) ?? false
            else { continue }
            _ = series(named: name, of: sources[source].name, at: now)
        }
        let all = sources[source].instances + sources[source].series.flatMap { series[$0].instances }
        for instance in all where conditions[instances[instance].condition].mayBeSilent { evaluate(instance) }
    }

    package mutating func retire(source name: String, at moment: Moment) {
        (now, line) = (moment, 0)
        guard let index = sourceIndices.removeValue(forKey: Board.Name(name)) else { return }
        drop(index)
    }

    /// A source, or an agent, is not there any more: nothing is true of it, nor of its series.
    private mutating func drop(_ index: Int) {
        for number in sources[index].series { drop(series: number) }
        for instance in sources[index].instances {
            reset(instance)
            free(instance)
        }
        for number in setNumbers where sets[number].awaited.remove(index) != nil { sets[number].isChanged = true }
        waitingSources.removeAll { $0 == index }
        sources[index] = ObservedSource(name: "")
        freeSources.append(index)
        evaluateSets()
    }

    package mutating func series(named name: String, of source: String, at moment: Moment) -> ObservedSeries {
        if let index = seriesIndices[Board.Name(name)] { return series[index].wants }
        now = moment
        let about = subjects.candidates(of: source, series: name).filter {
            !conditions[$0].isOfSources && conditions[$0].isAbout(series: name, of: source)
        }
        guard !about.isEmpty, let owner = self.source(named: source) else { return .none }
        let index = freeSeries.popLast() ?? series.count
        let new = ObservedSeriesState(name: name, source: owner, wants: ObservedSeries(index: Int32(index)))
        if index < series.count { series[index] = new } else { series.append(new) }
        seriesIndices[Board.Name(name)] = index
        sources[owner].series.insert(index)
        for number in about {
            guard let instance = add(number, name, source: owner, series: index) else { continue }
            series[index].instances.append(instance)
            if conditions[number].looksAtRequests { sources[owner].requestInstances.append(instance) }
            let wants = conditions[number].wants(Int32(index))
            series[index].wants.needsEvents = series[index].wants.needsEvents || wants.needsEvents
            series[index].wants.needsWindows = series[index].wants.needsWindows || wants.needsWindows
        }
        return series[index].wants
    }

    /// Sets that may be about a series without room are not known as a whole.
    mutating func refuse(seriesOf source: String) {
        for number in setNumbers where conditions[number].mayConcern(source: source) { sets[number].isCut = true }
    }

    package mutating func remove(series number: Int32, at moment: Moment) {
        let index = Int(number)
        guard series.indices ~= index, !series[index].name.isEmpty else { return }
        (now, line) = (moment, 0)
        // What is asked for by name goes on being silent.
        if series[index].instances.contains(where: { isSilenceOfName(instances[$0].condition) }) {
            for instance in series[index].instances { reset(instance) }
        } else {
            drop(series: index)
        }
        evaluateSets()
    }

    private mutating func drop(series index: Int) {
        for instance in series[index].instances {
            reset(instance)
            free(instance)
        }
        let source = series[index].source
        sources[source].series.remove(index)
        sources[source].requestInstances.removeAll { instances[$0].series == index }
        sources[source].waiting.removeAll { instances[$0].series == index }
        seriesIndices[Board.Name(series[index].name)] = nil
        series[index] = ObservedSeriesState(name: "", source: source)
        freeSeries.append(index)
    }

    private func isSilenceOfName(_ number: Int) -> Bool {
        conditions[number].mayBeSilent && conditions[number].literalSubject != nil
    }

    /// What an instance is about is gone: nothing is true of it any more.
    private mutating func reset(_ index: Int) {
        let number = instances[index].condition
        count(index, by: -1)
        (instances[index].verdict, instances[index].ending) = (.unknown(.missing), nil)
        for test in instances[index].readings.indices { instances[index].readings[test] = Reading() }
        for test in instances[index].sliding.indices { instances[index].sliding[test]?.removeAll() }
        count(index, by: 1)
        if !conditions[number].isOfSet { change(index, to: ConditionState(), isGone: true) }
    }

    private mutating func free(_ index: Int) {
        let number = instances[index].condition
        count(index, by: -1)
        members[number].remove(index)
        if conditions[number].isOfSet {
            sets[number].members.remove(index)
            // Without members, nothing is true of a set.
            if sets[number].members.isEmpty { change(set: number, to: ConditionState(), isGone: true) }
        }
        instances[index].due = nil
        freeInstances.append(index)
    }

    private mutating func source(named name: String) -> Int? {
        if let index = sourceIndices[Board.Name(name)] { return index }
        guard subjects.mayBeAbout(source: name), let index = addSource(ObservedSource(name: name)) else { return nil }
        sourceIndices[Board.Name(name)] = index
        for number in subjects.candidates(of: name, series: nil) where conditions[number].isOfSources {
            guard !conditions[number].isAboutAgents, conditions[number].isAbout(source: name) else { continue }
            if let instance = add(number, name, source: index, series: nil) {
                sources[index].instances.append(instance)
            }
        }
        return index
    }

    private mutating func agent(named name: String) -> Int? {
        if let index = agentIndices[Board.Name(name)] { return index }
        let about = subjects.wide.filter {
            conditions[$0].isAboutAgents && conditions[$0].subject.pattern?.matches(name) ?? true
        }
        guard !about.isEmpty, let index = addSource(ObservedSource(name: name, isAgent: true)) else { return nil }
        agentIndices[Board.Name(name)] = index
        for number in about {
            if let instance = add(number, name, source: index, series: nil) {
                sources[index].instances.append(instance)
            }
        }
        return index
    }

    private mutating func addSource(_ source: ObservedSource) -> Int? {
        var source = source
        source.isCutOff = source.agent.map { awayAgents.contains($0) } ?? false
        if let index = freeSources.popLast() {
            sources[index] = source
            return index
        }
        guard sources.count < Self.mostSources else {
            refused += 1
            return nil
        }
        sources.append(source)
        return sources.count - 1
    }

    private mutating func add(_ number: Int, _ name: String, source: Int, series: Int?) -> Int? {
        guard instances.count - freeInstances.count < Self.mostInstances else {
            refused += 1
            sets[number].isCut = true
            return nil
        }
        let instance = ConditionInstance(number, conditions[number], name, source: source, series: series, at: now.now)
        let index = freeInstances.popLast() ?? instances.count
        let isTimed = index < instances.count && instances[index].isTimed
        if index < instances.count { instances[index] = instance } else { instances.append(instance) }
        instances[index].isTimed = isTimed
        members[number].insert(index)
        if conditions[number].isOfSet { sets[number].members.insert(index) }
        if conditions[number].mayBeSilent { evaluate(index) }
        return index
    }

    // MARK: Observations

    package mutating func observe(_ value: Double, of number: Int32, line: Int, at moment: Moment) {
        let index = Int(number)
        (now, self.line) = (moment, line)
        series[index].heard = moment.now
        let isStream = sources[series[index].source].isStream
        for position in series[index].instances.indices {
            let instance = series[index].instances[position]
            let condition = instances[instance].condition
            for test in conditions[condition].allTests.indices {
                if conditions[condition].allTests[test].isOfValue {
                    set(conditions[condition].allTests[test].judge(value), .number(value), of: test, in: instance)
                } else if case .over = conditions[condition].allTests[test].measure {
                    slide(value, test, instance)
                }
            }
            isStream ? evaluate(instance) : wait(instance)
        }
        if isStream { evaluateSets() }
    }

    package mutating func observe(_ event: Line.Data, of number: Int32, line: Int, at moment: Moment) {
        let index = Int(number)
        (now, self.line) = (moment, line)
        series[index].heard = moment.now
        let source = sources[series[index].source]
        for instance in series[index].instances {
            for (number, test) in conditions[instances[instance].condition].allTests.enumerated() {
                switch test.measure {
                case .over: if let value = event.value { slide(value, number, instance) }
                case .value, .text, .pointer, .band:
                    let (verdict, value) = test.read(event, bands: source.bands)
                    set(verdict, value, of: number, in: instance)
                default: break
                }
            }
            source.isStream ? evaluate(instance) : wait(instance)
        }
        if source.isStream { evaluateSets() }
    }

    package mutating func observe(_ window: Line.Window, of number: Int32, line: Int, at moment: Moment) {
        (now, self.line) = (moment, line)
        for instance in series[Int(number)].instances {
            for (number, test) in conditions[instances[instance].condition].allTests.enumerated() {
                guard case .window(let part)? = test.measure else { continue }
                set(test.judge(window[part]), .number(window[part]), of: number, in: instance)
            }
            evaluate(instance)
        }
        evaluateSets()
    }

    package mutating func observe(_ observation: Observation, of name: String, line: Int, at moment: Moment) {
        (now, self.line) = (moment, line)
        if case .peer(let peer) = observation { return observe(peer, of: name) }
        guard let source = source(named: name) else { return }
        sources[source].changed = moment.now
        switch observation {
        case .data:
            (sources[source].isComplete, sources[source].isAnswering) = (false, false)
            answer(source)
        case .answer(let sample): observe(sample, source)
        case .failure(let failure): observe(failure, source)
        // A handshake is no good answer of a stream: its next message is.
        case .recovered: if !sources[source].isStream { setFailure(nil, source) }
        case .progress(let progress):
            answer(source)
            sources[source].isComplete =
                progress.items != nil || !progress.gone.isEmpty || progress.done == progress.total
            sources[source].isPaging = !sources[source].isComplete
        case .complete: (sources[source].isComplete, sources[source].isPaging) = (true, false)
        case .heard: hear(source)
        case .peer: break
        }
    }

    private mutating func observe(_ sample: LatencySample, _ source: Int) {
        if sample.status == 304 {
            answer(source)
            waitForAnswer(of: source)
        }
        // Behind a page comes another one.
        sources[source].isComplete = !sources[source].isPaging
        sources[source].isAnswering = true
        speak(source)
        if hasPercentile { sources[source].times.add(sample.ms, at: now.now) }
        forEachRequestTest(of: source) { evaluator, instance, number, test in
            switch test.measure {
            case .status:
                let status = Double(sample.status)
                evaluator.set(test.judge(status), .number(status), of: number, in: instance)
            case .ms: evaluator.set(test.judge(sample.ms), .number(sample.ms), of: number, in: instance)
            case .errors: evaluator.slide(0, number, instance)
            default: evaluator.touch(number, instance)
            }
        }
    }

    private mutating func observe(_ failure: Failure, _ source: Int) {
        let hasAnswer = sources[source].isAnswering
        (sources[source].isComplete, sources[source].isPaging) = (true, false)
        if failure.endpoint != nil {
            forEachRequestTest(of: source) { evaluator, instance, number, test in
                switch test.measure {
                case .status where !hasAnswer: evaluator.set(.doesNot, .text("none"), of: number, in: instance)
                case .ms where !hasAnswer: evaluator.set(.unknown(.noAnswer), .nothing, of: number, in: instance)
                case .errors where hasAnswer: evaluator.instances[instance].sliding[number]?.raise(by: 1)
                case .errors: evaluator.slide(1, number, instance)
                default: break
                }
            }
        }
        sources[source].hasSpoken = true
        setFailure(failure.code.rawValue, source)
    }

    private mutating func observe(_ peer: Line.Peer, of name: String) {
        let standing = MemberState.Standing(rawValue: peer.state)
        let isAway = [.away, .refused, .conflict].contains(standing)
        if isAway != awayAgents.contains(name) {
            if isAway { awayAgents.insert(name) } else { awayAgents.remove(name) }
            for index in sources.indices where sources[index].agent == name {
                sources[index].isCutOff = isAway
                isAway ? evaluateAll(of: index) : waitForAnswer(of: index)
            }
        }
        guard let agent = agent(named: name) else { return }
        if standing == .forgotten {
            agentIndices[Board.Name(name)] = nil
            return drop(agent)
        }
        sources[agent].hasSpoken = true
        if let heard = peer.heard {
            let time = now.now.advanced(by: min(.zero, heard - now.wall))
            sources[agent].heard = max(sources[agent].heard ?? time, time)
        }
        for instance in sources[agent].instances {
            for number in instances[instance].readings.indices { touch(number, instance) }
            evaluate(instance)
        }
        setFailure(isAway ? peer.state : nil, agent)
    }

    package mutating func hear(agent name: String, at moment: Moment) {
        guard subjects.hasSilentAgent else { return }
        now = moment
        if let index = agent(named: name) { hear(index) }
    }

    /// Calls `body` for each test about requests of a source; these wait for the end of the answer.
    private mutating func forEachRequestTest(
        of source: Int, _ body: (inout ConditionEvaluator, Int, Int, ConditionTest) -> Void
    ) {
        for instance in sources[source].instances + sources[source].requestInstances {
            for (number, test) in conditions[instances[instance].condition].allTests.enumerated() {
                if test.measure?.isOfRequests ?? false { body(&self, instance, number, test) }
            }
            wait(instance)
        }
    }

    private mutating func set(_ verdict: Verdict, _ value: Reading.Value, of test: Int, in instance: Int) {
        instances[instance].readings[test].verdict = verdict
        instances[instance].readings[test].value = value
        touch(test, instance)
    }

    private mutating func touch(_ test: Int, _ instance: Int) {
        instances[instance].readings[test].time = now.now
        instances[instance].readings[test].line = line
    }

    private mutating func slide(_ value: Double, _ test: Int, _ instance: Int) {
        instances[instance].sliding[test]?.add(value, at: now.now)
        touch(test, instance)
    }

    /// A good answer came from a source.
    private mutating func answer(_ source: Int) {
        sources[source].answered = now.now
        sources[source].hasAnswered = true
        speak(source)
        if sources[source].isStream { endAwaiting(source) }
        if sources[source].isLate {
            sources[source].isLate = false
            waitForAnswer(of: source)
        }
        if !sources[source].isStream {
            nextDue = min(nextDue ?? .distantFuture, now.now.advanced(by: patience(of: source)))
        }
        setFailure(nil, source)
        hear(source)
    }

    /// Whether a source fails is known from its first answer on.
    private mutating func speak(_ source: Int) {
        guard !sources[source].hasSpoken else { return }
        sources[source].hasSpoken = true
        for instance in sources[source].instances { wait(instance) }
    }

    /// The members that a source has in sets are known.
    private mutating func endAwaiting(_ source: Int) {
        for number in setNumbers where sets[number].awaited.remove(source) != nil { sets[number].isChanged = true }
    }

    /// Something came from a source or agent: it is not silent.
    private mutating func hear(_ source: Int) {
        sources[source].heard = now.now
        for instance in sources[source].instances where conditions[instances[instance].condition].mayBeSilent {
            evaluate(instance)
        }
    }

    private mutating func setFailure(_ code: String?, _ source: Int) {
        let old = sources[source].failure
        sources[source].failure = code
        if code != nil, old == nil {
            evaluateAll(of: source)
        } else if code == nil, old != nil {
            waitForAnswer(of: source)
        } else if code != old {
            for instance in sources[source].instances { evaluate(instance) }
        }
    }

    /// What was read before an outage is compared again once the answer is there that ends it.
    private mutating func waitForAnswer(of source: Int) {
        sources[source].isComplete = false
        for instance in sources[source].instances { wait(instance) }
        for number in sources[source].series { for instance in series[number].instances { wait(instance) } }
    }

    // MARK: Evaluation

    /// Evaluates the polled sources whose answers are complete.
    package mutating func settle(at moment: Moment) {
        now = moment
        for source in waitingSources {
            sources[source].isAnswering = false
            // A listing whose pages have come says so last.
            if sources[source].isComplete || sources[source].isStream { settle(source) }
        }
        waitingSources.removeAll { sources[$0].waiting.isEmpty }
        evaluateSets()
    }

    private mutating func settle(_ source: Int) {
        if sources[source].hasAnswered { endAwaiting(source) }
        let waiting = sources[source].waiting
        sources[source].waiting = []
        for instance in waiting {
            instances[instance].isWaiting = false
            evaluate(instance)
        }
    }

    private mutating func wait(_ instance: Int) {
        guard !instances[instance].isWaiting else { return }
        instances[instance].isWaiting = true
        let source = instances[instance].source
        if sources[source].waiting.isEmpty { waitingSources.append(source) }
        sources[source].waiting.append(instance)
        nextDue = min(nextDue ?? .distantFuture, now.now.advanced(by: Self.longestPause))
    }

    /// After this time without a line an answer counts as complete, and one in pages as given up.
    private static let longestPause = Duration.seconds(3)
    private static let longestTurn = Duration.seconds(60)
    /// After this time of silence, what is not asked for by name is gone for good.
    private static let forgetting = Duration.seconds(86_400)

    /// Evaluates everything from now on.
    package mutating func evaluateAll(at moment: Moment) {
        now = moment
        (isEvaluating, nextDue) = (true, nil)
        for index in sources.indices { checkLateness(of: index) }
        for index in sources.indices {
            settle(index)
            evaluateAll(of: index)
        }
        for number in setNumbers { sets[number].isChanged = true }
        evaluateSets()
    }

    /// Evaluates the conditions of sources, which may have answered already: their next answers may be no change.
    mutating func evaluateSources() {
        for instance in sources.flatMap(\.instances) { evaluate(instance) }
    }

    /// Evaluates what depends on time.
    package mutating func tick(at moment: Moment) {
        (now, line) = (moment, 0)
        guard isEvaluating else { return }
        nextDue = nil
        for source in sources.indices {
            checkLateness(of: source)
            guard !sources[source].waiting.isEmpty else { continue }
            let pause = sources[source].isPaging ? Self.longestTurn : Self.longestPause
            let due = sources[source].changed.advanced(by: pause)
            if due <= moment.now { settle(source) } else { nextDue = min(nextDue ?? due, due) }
        }
        let old = timed
        timed = []
        for instance in old {
            instances[instance].isTimed = false
            guard let due = instances[instance].due else { continue }
            if due <= moment.now { evaluate(instance) } else { schedule(instance, due) }
        }
        for number in setNumbers where sets[number].due.map({ $0 <= moment.now }) ?? false {
            sets[number].isChanged = true
        }
        evaluateSets()
        for number in setNumbers { if let due = sets[number].due { nextDue = min(nextDue ?? due, due) } }
    }

    private mutating func schedule(_ instance: Int, _ due: LoopInstant?) {
        instances[instance].due = due
        guard let due else { return }
        nextDue = min(nextDue ?? due, due)
        guard !instances[instance].isTimed else { return }
        instances[instance].isTimed = true
        timed.append(instance)
    }

    private func patience(of source: Int) -> Duration { sources[source].rhythm.patience(window: window) ?? .zero }

    /// A polled source that is late has no result.
    private mutating func checkLateness(of source: Int) {
        guard let patience = sources[source].rhythm.patience(window: window), let answered = sources[source].answered
        else { return }
        let due = answered.advanced(by: patience)
        let isLate = now.now > due
        if !isLate { nextDue = min(nextDue ?? .distantFuture, due.advanced(by: .microseconds(1))) }
        guard isLate != sources[source].isLate else { return }
        sources[source].isLate = isLate
        evaluateAll(of: source)
    }

    private mutating func evaluateAll(of source: Int) {
        guard isEvaluating else { return }
        for instance in sources[source].instances where !instances[instance].isWaiting { evaluate(instance) }
        for series in sources[source].series {
            // What waits is evaluated when the answer is complete.
            for instance in self.series[series].instances where !instances[instance].isWaiting { evaluate(instance) }
        }
    }

    private mutating func evaluate(_ index: Int) {
        guard isEvaluating else { return }
        let number = instances[index].condition
        var due: LoopInstant?
        var verdict = Verdict.holds
        for test in conditions[number].tests.indices {
            verdict = verdict.and(self.verdict(on: test, of: index, due: &due))
        }
        let ending =
            conditions[number].endHold == nil
            ? nil : self.verdict(on: conditions[number].tests.count, of: index, due: &due)
        if verdict != instances[index].verdict || ending != instances[index].ending {
            count(index, by: -1)
            (instances[index].verdict, instances[index].ending) = (verdict, ending)
            count(index, by: 1)
        }
        if conditions[number].isOfSet {
            sets[number].isChanged = true
        } else {
            var state = instances[index].state
            if verdict == .holds { instances[index].course.note(instances[index], conditions[number]) }
            state.step(conditions[number], verdict, until: ending, at: now)
            if !change(index, to: state) { due = instances[index].changes.end }
            if let deadline = instances[index].state.deadline(of: conditions[number]), deadline > now.now {
                due = min(due ?? deadline, deadline)
            }
        }
        if due != nil || instances[index].due != nil { schedule(index, due) }
    }

    /// Counts an instance in its set.
    private mutating func count(_ index: Int, by step: Int) {
        let number = instances[index].condition
        guard conditions[number].isOfSet else { return }
        sets[number].count(instances[index].verdict, instances[index].ending, by: step)
        sets[number].isChanged = true
    }

    private mutating func evaluateSets() {
        guard isEvaluating else { return }
        for number in setNumbers where sets[number].isChanged {
            sets[number].isChanged = false
            let isAny = conditions[number].subject.scope == .any
            var state = sets[number].state
            state.step(
                conditions[number], sets[number].verdict(isAny: isAny),
                until: conditions[number].end.map { _ in sets[number].ending(isAny: isAny) }, at: now)
            let isDone = change(set: number, to: state)
            let deadline = sets[number].state.deadline(of: conditions[number]).flatMap { $0 > now.now ? $0 : nil }
            sets[number].due = isDone ? deadline : sets[number].changes.end
            if let due = sets[number].due { nextDue = min(nextDue ?? due, due) }
        }
    }

    /// - Returns: false if it has changed too often in this second: it is evaluated again.
    @discardableResult
    private mutating func change(_ index: Int, to state: ConditionState, isGone: Bool = false) -> Bool {
        let (old, number) = (instances[index].state.phase, instances[index].condition)
        guard state.phase != old else { return true }
        if reportsChanges, !isGone, !instances[index].changes.add(at: now.now) { return false }
        instances[index].state = state
        if state.phase.isMet != old.isMet { met[number] += state.phase.isMet ? 1 : -1 }
        guard reportsChanges else { return true }
        let (value, decisive) = measurement(of: index, isMet: state.phase > .ok)
        if old == .ok {
            instances[index].course = Course(from: decisive)
            instances[index].course.note(instances[index], conditions[number])
        }
        let isAgent = sources[instances[index].source].isAgent
        transitions.append(
            Transition(
                condition: number, about: instances[index].name,
                source: isAgent ? nil : sources[instances[index].source].name, old: old, new: state, at: now,
                from: instances[index].course.from, line: decisive, value: isGone ? .nothing : value,
                worst: instances[index].course.worst, isGone: isGone))
        return true
    }

    @discardableResult
    private mutating func change(set number: Int, to state: ConditionState, isGone: Bool = false) -> Bool {
        let old = sets[number].state.phase
        guard state.phase != old else { return true }
        if reportsChanges, !isGone, !sets[number].changes.add(at: now.now) { return false }
        sets[number].state = state
        guard reportsChanges else { return true }
        let decisive = isGone ? nil : decisiveInstance(of: number)
        let (value, from) = decisive.map { measurement(of: $0, isMet: state.phase > .ok) } ?? (.nothing, line)
        if old == .ok { sets[number].course = Course(from: from) }
        let owners = Set(sets[number].members.map { instances[$0].source })
        transitions.append(
            Transition(
                condition: number, about: conditions[number].setName,
                source: owners.count == 1 ? owners.first.map { sources[$0].name } : nil, old: old, new: state, at: now,
                from: sets[number].course.from, line: from, value: value, worst: nil, isGone: isGone))
        return true
    }

    /// The value that decided, and the number of its line.
    private func measurement(of index: Int, isMet: Bool) -> (value: Reading.Value, line: Int) {
        let (condition, readings) = (conditions[instances[index].condition], instances[index].readings)
        var number = 0
        if !isMet {
            number =
                condition.end != nil
                ? condition.tests.count : condition.tests.indices.first { readings[$0].verdict == .doesNot } ?? 0
        }
        var value = readings[number].value
        if case .isSilent = condition.allTests[number].kind, let heard = readings[number].time {
            value = .number(heard.duration(to: now.now).seconds)
        }
        // `fails` and `silent` have no line of their own.
        return (value, readings[number].line > 0 ? readings[number].line : line)
    }

    /// Returns the verdict on a test now; `due` becomes the time when that may change by itself, if that is earlier.
    private mutating func verdict(on number: Int, of index: Int, due: inout LoopInstant?) -> Verdict {
        let (condition, source) = (instances[index].condition, instances[index].source)
        if conditions[condition].allTests[number].isOfValue, sources[source].isWell {
            return instances[index].readings[number].verdict
        }
        switch conditions[condition].allTests[number].kind {
        case .fails(let code):
            guard sources[source].hasSpoken else { return .unknown(.nothingYet) }
            instances[index].readings[number].value =
                sources[source].failure.map { .text(Sanitizer.visible($0, limit: 64)) } ?? .nothing
            guard let failure = sources[source].failure else { return .doesNot }
            return Verdict(code == nil || code == failure)
        case .isSilent(let span): return verdict(onSilence: span, number, of: index, due: &due)
        default: break
        }
        guard let measure = conditions[condition].allTests[number].measure else { return .unknown(.nothingYet) }
        if !measure.isOfRequests, !sources[source].isWell { return .unknown(sources[source].isLate ? .late : .failing) }
        if measure.isOfSpan { readSpan(measure, number, of: index, due: &due) }
        return instances[index].readings[number].verdict
    }

    /// `silent` counts from the last good answer, or from the start.
    private mutating func verdict(
        onSilence span: Duration, _ number: Int, of index: Int, due: inout LoopInstant?
    ) -> Verdict {
        let source = instances[index].source
        // A name that no source has may be a mistake.
        guard sources[source].isAgent || sources[source].isListed || sources[source].hasSpoken else {
            return .unknown(.nothingYet)
        }
        let heard = instances[index].series.map { series[$0].heard } ?? sources[source].heard
        let begun = heard ?? instances[index].begun
        instances[index].readings[number].time = begun
        let end = begun.advanced(by: span)
        if now.now < end {
            due = min(due ?? end, end)
            return heard == nil ? .unknown(.nothingYet) : .doesNot
        }
        guard conditions[instances[index].condition].literalSubject == nil else { return .holds }
        let last = end.advanced(by: Self.forgetting)
        if now.now < last { due = min(due ?? last, last) }
        if now.now >= last, instances[index].state.phase != .ok { change(index, to: ConditionState(), isGone: true) }
        return now.now < last ? .holds : .unknown(.missing)
    }

    /// Reads a measure of the last time.
    private mutating func readSpan(_ measure: Measure, _ number: Int, of index: Int, due: inout LoopInstant?) {
        let now = now.now
        var value: Double?
        var change: LoopInstant?
        if case .percentile(let percent, let span) = measure {
            let (times, start) = (sources[instances[index].source].times, now.advanced(by: .zero - span))
            value = times.percentile(percent, after: start)
            change = times.first(after: start)?.advanced(by: span)
        } else {
            instances[index].sliding[number]?.advance(to: now)
            guard let sliding = instances[index].sliding[number] else { return }
            change = sliding.nextLoss
            let count = sliding.count
            switch measure {
            case .errors: if count >= 5 { value = 100 * sliding.sum / Double(count) }
            case .over(.count, let span):
                let full = instances[index].begun.advanced(by: span)
                if now >= full { value = Double(count) } else { change = full }
            case .over(.min, _) where count >= 2: value = sliding.min
            case .over(.max, _) where count >= 2: value = sliding.max
            case .over where count >= 2: value = sliding.sum / Double(count)
            default: break
            }
        }
        if let change { due = min(due ?? change, change) }
        // The sum of large values may be infinite.
        value = value.flatMap { $0.isFinite ? $0 : nil }
        let test = conditions[instances[index].condition].allTests[number]
        instances[index].readings[number].verdict = value.map { test.judge($0) } ?? .unknown(.tooFew)
        instances[index].readings[number].value = value.map { .number($0) } ?? .nothing
    }

    // MARK: Restart and reload

    /// Whether a condition is about what is called so.
    func isAbout(_ number: Int, _ name: String, of source: String) -> Bool {
        let condition = conditions[number]
        if condition.isOfSet { return condition.setName == name }
        if condition.isAboutAgents { return condition.subject.pattern?.matches(name) ?? true }
        return condition.isOfSources ? condition.isAbout(source: name) : condition.isAbout(series: name, of: source)
    }

    /// Sets the state of a condition for what is called so.
    ///
    /// - Parameter worst: the worst value so far.
    /// - Returns: false if there is no room for it.
    mutating func restore(
        _ number: Int, about name: String, of sourceName: String, _ state: ConditionState, worst: Double?
    ) -> Bool {
        let condition = conditions[number]
        if condition.isOfSet {
            (sets[number].state, sets[number].course) = (state, Course(worst: worst))
            sets[number].isChanged = true
            return true
        }
        var known: [Int] = []
        if condition.isAboutAgents {
            known = agent(named: name).map { sources[$0].instances } ?? []
        } else if condition.isOfSources {
            known = source(named: name).map { sources[$0].instances } ?? []
        } else {
            let index = Int(series(named: name, of: sourceName, at: now).index)
            known = index >= 0 ? series[index].instances : []
        }
        guard let index = known.first(where: { instances[$0].condition == number }) else { return false }
        if state.phase.isMet != instances[index].state.phase.isMet { met[number] += state.phase.isMet ? 1 : -1 }
        (instances[index].state, instances[index].course) = (state, Course(worst: worst))
        schedule(index, state.deadline(of: condition) ?? instances[index].due)
        return true
    }

    /// Takes over what another evaluator knows of sources and series, and the readings of conditions that both have.
    ///
    /// - Parameter same: the number here of each condition there; nil for one that is not here.
    mutating func adopt(_ old: ConditionEvaluator, _ same: [Int?]) {
        awayAgents = old.awayAgents
        isEvaluating = false
        var moved: [Int: Int] = [:]
        for (index, facts) in old.sources.enumerated() {
            guard let new = facts.isAgent ? agent(named: facts.name) : source(named: facts.name) else { continue }
            moved[index] = new
            let (instances, requests, series) = (
                sources[new].instances, sources[new].requestInstances, sources[new].series
            )
            sources[new] = facts
            (sources[new].instances, sources[new].requestInstances) = (instances, requests)
            (sources[new].series, sources[new].waiting) = (series, [])
            guard facts.isListed, !facts.hasAnswered else { continue }
            for number in setNumbers where conditions[number].mayConcern(source: facts.name) {
                sets[number].awaited.insert(new)
            }
        }
        for state in old.series where !state.name.isEmpty {
            let index = Int(series(named: state.name, of: old.sources[state.source].name, at: now).index)
            if index >= 0 { series[index].heard = state.heard }
        }
        var places: [Board.Name: [Int]] = [:]
        for number in conditions.indices {
            for index in members[number] { places[Board.Name(instances[index].name), default: []].append(index) }
        }
        for (number, indices) in old.members.enumerated() {
            guard let new = same[number] else { continue }
            for index in indices {
                let instance = old.instances[index]
                for place in places[Board.Name(instance.name)] ?? [] where instances[place].condition == new {
                    (instances[place].readings, instances[place].sliding) = (instance.readings, instance.sliding)
                    instances[place].begun = instance.begun
                }
            }
        }
        isEvaluating = old.isEvaluating
    }
}

extension Course {
    /// Takes the value of the first limit if it is worse than those before.
    fileprivate mutating func note(_ instance: borrowing ConditionInstance, _ condition: borrowing Condition) {
        guard let test = condition.limitTest, case .number(let value) = instance.readings[test].value,
            worst.map({ condition.limitSign * value > condition.limitSign * $0 }) ?? true
        else { return }
        worst = value
    }
}

extension LoopInstant {
    fileprivate static let distantFuture = LoopInstant(nanoseconds: .max)
}

extension Measure {
    /// Whether it is of the last time, and so depends on it.
    fileprivate var isOfSpan: Bool {
        switch self {
        case .over, .percentile, .errors: true
        default: false
        }
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
