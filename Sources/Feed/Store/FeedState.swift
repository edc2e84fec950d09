package import Reactor

/// The store's data, without clock or suspension: the tables of the feed, and how events get into them, from our own sources,
/// from the agents of a fleet, or as another agent's lines.
package struct FeedState: ~Copyable, Sendable {
    package private(set) var tables: FeedTables
    /// The outputs for the next `agent` line, set by the owner of the readers.
    package var outputs: [Line.Output] = []
    private var encoder = LineEncoder()
    private let mostData: Int
    /// The agents whose feeds are sources.
    var fleet = Fleet()
    /// The positions that belong to lines of the log; nil while no journal takes them.
    var positions: PositionQueue?
    /// The agent whose events are being published; −1 for our own.
    private var currentMember: Int32 = -1
    /// Since when the series has the word of that event, as its line says; nil for our own.
    private var currentSince: Timestamp?
    /// The number of times that a series was refused because its agent is at its limit.
    private var refusedForeignSeries = 0
    /// When `removeOutdated` last looked.
    private var lastSweep: LoopInstant?
    private var ownFailures = OwnFailures()
    /// Decides our own alerts; nil without conditions.
    private(set) var observer: (any FeedObserver)?
    /// What it wants to see of each series, by index; nil where it was not asked.
    private var observed: [ObservedSeries?] = []
    /// How many of our series the observer has under each of its indices: one with values and one without may have the same name.
    private var observedCounts: [Int] = []
    /// Sources of whose series one found no room, which it was told.
    private var refusingSources: Set<Int32> = []
    /// Sources that were added, changed or retired, and that it does not know yet.
    private var changedSources: [SourceID] = []
    /// The series of the newest event; −1 for none.
    private var newestIndex = -1
    /// The agent whose feed is relayed; nil for our own feed.
    private(set) var remote: RemoteFeed?

    /// - Parameters:
    ///   - age: the period for which lines are kept; nil for the limits' history.
    ///   - isRelay: whether the lines are another agent's.
    package init(limits: Limits = Limits(), keepingLinesFor age: Duration? = nil, isRelay: Bool = false) {
        remote = isRelay ? RemoteFeed(mostAgents: limits.members) : nil
        mostData = limits.data ?? .max
        tables = FeedTables(limits: limits, keepingLinesFor: age ?? limits.history, isRelay: isRelay)
    }

    package var limits: Limits { tables.limits }
    package var log: LineLog { _read { yield tables.log } }

    package var counts: StoreCounts {
        get { tables.counts }
        set { tables.counts = newValue }
    }

    /// Whether the feed's run is known.
    var hasBegun: Bool { remote?.hasBegun != false }

    /// The last sequence number included in the statistics. While a relayed feed is replayed, they include lines that
    /// have yet to arrive.
    var asOf: Int { max(tables.log.nextSequence - 1, remote?.asOf ?? 0) }

    /// The counts of the agent that the feed belongs to; nil while a relayed one has not sent them.
    var agentCounts: StoreCounts? { remote.map(\.counts) ?? tables.counts }

    /// Whether the number of data events in `Limits.data` has arrived.
    package var hasEnoughData: Bool { tables.counts.data >= mostData }

    // MARK: Sources

    /// Adds a source; a known name returns that source, with its series and their history.
    ///
    /// Cuts its name and type at 1,024 bytes, its unit at 32. A new type applies to all its further lines, new bands to
    /// its windows from the next line. Its state is `starting` again.
    package mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        let source = tables.register(description, at: time)
        describe(source)
        return source
    }

    /// The source that stands for the agent itself; those of a fleet's agents have the same description.
    package mutating func ownSource(at time: Timestamp) -> SourceID {
        source(named: EventStore.ownName) ?? register(ownDescription, at: time)
    }

    var ownDescription: SourceDescription {
        SourceDescription(name: EventStore.ownName, type: "memory", rhythm: .every(limits.interval))
    }

    /// The registered source with this name.
    func source(named name: String) -> SourceID? { tables.sources.source(named: name) }

    /// Unlists a source until it is registered again; its windows still close.
    package mutating func retire(_ source: SourceID) {
        tables.sources.retire(source)
        describe(source)
    }

    /// Lists a source again with its description, because more data has come from it; it no longer makes room for
    /// others.
    ///
    /// - Returns: whether it was retired.
    mutating func revive(_ source: SourceID) -> Bool {
        let wasRetired = tables.sources.revive(source)
        if wasRetired { describe(source) }
        return wasRetired
    }

    /// Records that a source has ended by itself: no more data is expected until it is registered again.
    mutating func setEnded(of source: SourceID) { tables.sources.setEnded(of: source) }

    /// Retires a source that nothing more comes from. It is remembered, should it be registered again, for as long as the
    /// history shows it, while there is room: its series and endpoints count as those of others.
    package mutating func release(_ source: SourceID, at moment: Moment) {
        tables.sources.release(source, at: moment.now)
        // Not one by one, as each time costs a look at every series.
        if tables.sources.releasedCount > limits.released {
            forget(Set(tables.sources.released(atMost: tables.sources.releasedCount - limits.released / 2)), moment)
        }
    }

    /// Forgets released sources, after emitting the last lines of their windows.
    private mutating func forget(_ gone: Set<Int>, _ moment: Moment) {
        guard !gone.isEmpty else { return }
        describeSources(moment)
        let theirs = tables.series.indices.filter { gone.contains(tables.series[$0].source) }
        for index in theirs { flush(index, moment, isComplete: true) }
        removeSeries(theirs, moment)
        tables.endpointTable.remove(gone)
        tables.sources.remove(gone)
    }

    /// Removes some series with values.
    private mutating func removeSeries(_ gone: [Int], _ moment: Moment) {
        let owners = Set(gone.map { tables.series[$0].owner })
        for index in gone { forgetObserved(index, moment) }
        tables.removeSeries(gone)
        for owner in owners { fleet[closings: owner].remove { tables.series[$0].source < 0 } }
    }

    // MARK: Events

    /// Numbers the events, records them in their windows and encodes their lines.
    ///
    /// - Parameters:
    ///   - first: the first event to publish.
    ///   - growth: the growth of the log, in bytes, after which to stop; see `slice`.
    ///   - moment: now: the wall clock's time for lateness, the loop's for the log's age.
    /// - Returns: the index of the first event not yet published; at least one is published.
    @discardableResult
    package mutating func publish(
        _ batch: EventBatch, from first: Int = 0, atMost growth: Int = .max, at moment: Moment
    ) -> Int {
        describeSources(moment)
        advance(at: moment)
        let end = tables.log.totalCost.addingSaturated(growth)
        var next = first
        // Looked up and confirmed once for many events, because those of a batch are nearly always data of one source.
        var source: Int32 = -1
        var prefix: [UInt8] = []
        // Looked up once: alerts cost a feed without any nothing.
        let isObserved = observer != nil
        let isForeign = !batch.origins.isEmpty
        batch.bytes.withUnsafeBufferPointer { bytes in
            while next < batch.records.count {
                let record = batch.records[next]
                // Data beyond `--count` is dropped, and so no position.
                let isTaken = !hasEnoughData
                if isForeign {
                    listen(to: batch.origins[next], at: record.time, moment)
                    if isObserved, next == first, let agent = currentAgent { observer?.hear(agent: agent, at: moment) }
                }
                next += 1
                if record.other >= 0 {
                    publishOther(batch.others[Int(record.other)], moment)
                    source = -1  // its state may have changed
                } else {
                    if record.source != source {
                        source = record.source
                        confirmData(of: SourceID(index: Int(source)), at: record.time, moment)
                        prefix = tables.sources.prefix(of: Int(source))
                    }
                    if isForeign { prefix = tables.sources.prefix(of: Int(source), type: batch.origins[next - 1].type) }
                    let tail =
                        batch.valuePointers.isEmpty ? nil : endLines(with: batch.valuePointers[next - 1], of: source)
                    prefix.withUnsafeBufferPointer { publish(record, bytes, $0, moment) }
                    if let tail {
                        encoder.setTail(tail)
                        tables.newestPointer = tables.log.nextSequence - 1
                        tables.newestReport = tables.newestPointer
                    }
                }
                if isObserved, record.other < 0 { observe(record, bytes, moment) }
                if isForeign, isTaken { recordPosition(of: batch.origins[next - 1]) }
                if tables.log.totalCost >= end { break }
            }
        }
        if isForeign { endListening() }
        reportShortages(moment)
        settle(moment)
        return next
    }

    // Bound: lines published at once by an input that can wait, or when windows end | a quarter of the log, or one
    //   event | lossless outputs are awaited first
    /// The growth of the log, in bytes, after which to wait for lossless outputs: the chunk begun then adds as much.
    package var slice: Int { tables.log.capacity / 8 }

    @inline(__always)
    private mutating func publish(
        _ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>, _ prefix: UnsafeBufferPointer<UInt8>,
        _ moment: Moment
    ) {
        newestIndex = -1
        guard tables.counts.data < mostData else { return }
        tables.counts.data += 1
        let source = SourceID(index: Int(record.source))
        let time = limited(record.time, moment.wall)
        let key = record.lend(record.key, of: bytes)
        let text = record.lend(record.text, of: bytes)
        let data = record.lend(record.data, of: bytes)
        let value = record.value.isNaN ? nil : record.value
        var isPlain = false
        if let index = seriesIndex(source, kind: value == nil ? .text : .data, key: key, moment) {
            let hasWords: Bool
            (isPlain, hasWords) = tables.series.flags(of: index)
            // These flags are all that words cost an event without one.
            if record.hasWord || hasWords {
                follow(record.lend(record.word, of: bytes), in: index, at: time)
            }
            newestIndex = index
            if let value {
                self.record(value, in: index, at: time, moment)
            } else {
                tables.series.mark(index, tables.log.nextSequence)
            }
            // After the windows, which may have had lines.
            tables.log.kept.mark(index, sequence: tables.log.nextSequence)
        } else if record.hasWord {
            follow(record.lend(record.word, of: bytes), in: nil, at: time)
        }
        let names = LineEncoder.Names(
            prefix: prefix, key: key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) }, isPlain: isPlain)
        let most = encoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
        tables.log.append(atMost: most, at: moment.now) { sequence, writer in
            encoder.datum(
                value: value, text: text, data: data, flaws: record.flaws, sequence: sequence, time: time, names: names,
                to: writer)
        }
    }

    /// Records that the event that comes next has a word, or none, in a series where words matter.
    ///
    /// - Parameter index: nil when there is no room for its series.
    @inline(never)
    private mutating func follow(_ text: UnsafeBufferPointer<UInt8>?, in index: Int?, at time: Timestamp) {
        let since =
            index.map { tables.series.follow(text.map { Array($0) }, in: $0, at: time, since: currentSince) }
            ?? min(currentSince ?? time, time)
        if let text { encoder.setWord(text, since: since) }
    }

    /// Records a source's success by data, the first of some in a row.
    @inline(never)
    private mutating func confirmData(of source: SourceID, at time: Timestamp, _ moment: Moment) {
        tables.sources.hear(from: source, at: moment.now.timestamp, answered: moment.wall)
        guard tables.counts.data < mostData else { return }
        let time = tables.isFuture(time, moment.wall) ? moment.wall : time
        tables.sources.setState(.ok, of: source, stateTime(time, moment))
        observe(.data, of: source, moment)
    }

    /// Makes further lines state a source's value pointer, if there is one.
    ///
    /// - Returns: the last members that lines had before; nil if nothing changes.
    @inline(never)
    private mutating func endLines(with pointer: String?, of source: Int32) -> [UInt8]? {
        guard let pointer, tables.counts.data < mostData else { return nil }
        tables.sources.setValuePointer(pointer, of: SourceID(index: Int(source)))
        let tail = encoder.tail
        encoder.setTail(LineEncoder.tail(valuePointer: pointer) + tail)
        return tail
    }

    /// The time of an event, or the clock's if the event is more than a window ahead of it, which is counted.
    @inline(__always)
    private mutating func limited(_ time: Timestamp, _ wall: Timestamp) -> Timestamp {
        guard tables.isFuture(time, wall) else { return time }
        tables.counts.future += 1
        return wall
    }

    /// The time from which a source's state counts: now for our own sources, the event's time for a fleet's.
    @inline(__always)
    private func stateTime(_ time: Timestamp, _ moment: Moment) -> Timestamp { currentMember < 0 ? moment.wall : time }

    /// Says which limits are reached.
    private mutating func reportShortages(_ moment: Moment) {
        tables.counts.refusedSeries = tables.series.refused + refusedForeignSeries
        tables.counts.keptDropped = tables.log.kept.dropped
        if ownFailures.grows(.series, to: tables.series.refused, at: moment.now) { report(.series, moment) }
        if let observer, ownFailures.grows(.alerts, to: observer.refused, at: moment.now) { report(.alerts, moment) }
        if ownFailures.grows(.kept, to: tables.counts.keptDropped, at: moment.now) { report(.kept, moment) }
        let refused = tables.endpointTable.isFull ? tables.counts.refusedEndpoints : 0
        if ownFailures.grows(.endpoints, to: refused, at: moment.now) { report(.endpoints, moment) }
    }

    private mutating func report(_ limit: OwnFailures.Limit, _ moment: Moment) {
        let isFull = tables.series.isFull
        let reason =
            switch limit {
            case .series:
                (isFull
                    ? "more than \(limits.series) series"
                    : "a series' key is longer than \(SeriesTable.longestKey) bytes")
                    + ": events of further ones still flow, but have no windows"
            case .kept:
                "the newest lines of all series take more than \(limits.keptCapacity) bytes (--kept-bytes): the oldest are"
                    + " dropped, and readers that come later do not see them"
            case .alerts:
                "conditions are about more than 10,000 series: further ones have no alerts, and sets that they are of no result"
            case .endpoints: "more than \(limits.endpoints) endpoints: further ones are asked, but have no statistics"
            }
        sayOfItself(.error(Failure(.config, reason)), about: limit.rawValue, at: moment)
    }

    /// Publishes an event about the agent itself that is no failure.
    mutating func publishOfItself(_ body: Event.Body, at moment: Moment) {
        publishOther(Event(time: moment.wall, source: ownSource(at: moment.wall), body: body), moment)
        settle(moment)
    }

    /// See `EventStore.sayOfItself`.
    mutating func sayOfItself(_ body: Event.Body, about topic: String, at moment: Moment) {
        let source = ownSource(at: moment.wall)
        publishOther(Event(time: moment.wall, source: source, body: body), moment)
        if let rest = ownFailures.apply(body, about: topic) {
            publishOther(Event(time: moment.wall, source: source, body: .error(rest)), moment)
        }
        settle(moment)
    }

    // MARK: Alerts

    /// Has an observer decide our alerts from now on; it knows our sources and series.
    ///
    /// - Parameter readsLog: whether it has yet to see the lines of the log.
    mutating func setObserver(_ new: any FeedObserver, readsLog: Bool = false, at moment: Moment) {
        (observer, observed, changedSources, refusingSources) = (new, [], [], [])
        observedCounts = []
        for status in tables.statuses { observer?.describe(status, at: moment) }
        observeSeries(at: moment)
        let lines = readsLog ? tables.log.firstSequence..<tables.log.nextSequence : 0..<0
        for number in lines {
            guard let line = tables.log.line(number).flatMap({ try? LineDecoder.decode($0[...]) }) else { continue }
            observer?.apply(line, at: moment)
        }
        settle(moment)
    }

    /// Shows the observer the series that it does not know.
    mutating func observeSeries(at moment: Moment) {
        guard observer != nil else { return }
        for index in tables.series.indices where tables.series[index].source >= 0 && !tables.series.isGone(index) {
            let isKnown = index < observed.count && observed[index] != nil
            if !isKnown, tables.series[index].kind != .alert { _ = observe(index, moment) }
        }
    }

    /// Removes the observer.
    mutating func takeObserver(at moment: Moment) -> (any FeedObserver)? {
        describeSources(moment)
        return observer.take()
    }

    /// Evaluates what depends on time.
    mutating func tickObserver(at moment: Moment) {
        guard observer != nil else { return }
        describeSources(moment)
        observer?.tick(at: moment)
        publishAlerts(moment)
    }

    /// Evaluates everything, as the inputs have ended.
    mutating func finishObserver(at moment: Moment) {
        describeSources(moment)
        observer?.finish(at: moment)
        publishAlerts(moment)
    }

    /// Has the observer report again what fires.
    mutating func remindOfAlerts(at moment: Moment) {
        observer?.remind(at: moment)
        publishAlerts(moment)
    }

    private mutating func describe(_ source: SourceID) { if observer != nil { changedSources.append(source) } }

    private mutating func describeSources(_ moment: Moment) {
        guard !changedSources.isEmpty else { return }
        for source in changedSources {
            if let status = tables.sources.status(of: source) {
                observer?.describe(status, at: moment)
            } else {
                let name = tables.sources.name(of: source.index)
                observer?.retire(source: name, at: moment)
            }
        }
        changedSources = []
    }

    /// What the observer wants to see of a series.
    @inline(__always)
    private mutating func wanted(of index: Int, _ moment: Moment) -> ObservedSeries {
        let known = index < observed.count ? observed[index] : nil
        return known ?? observe(index, moment)
    }

    /// Asks what the observer wants to see of a series.
    @inline(never)
    private mutating func observe(_ index: Int, _ moment: Moment) -> ObservedSeries {
        let (source, name) = (tables.sources.name(of: tables.series[index].source), seriesName(of: index))
        let wanted = observer?.series(named: name, of: source, at: moment) ?? .none
        if index >= observed.count {
            observed.append(contentsOf: repeatElement(nil, count: index - observed.count + 1))
        }
        observed[index] = wanted
        if wanted.index >= 0 {
            let missing = Int(wanted.index) - observedCounts.count + 1
            if missing > 0 { observedCounts.append(contentsOf: repeatElement(0, count: missing)) }
            observedCounts[Int(wanted.index)] += 1
        }
        return wanted
    }

    private func seriesName(of index: Int) -> String {
        let name = tables.series[index].kind.prefix + tables.sources.name(of: tables.series[index].source)
        return tables.series.key(of: index).map { "\(name)/\(String(decoding: $0, as: UTF8.self))" } ?? name
    }

    /// Shows the observer an event whose line was just added.
    @inline(__always)
    private mutating func observe(
        _ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>, _ moment: Moment
    ) {
        if !tables.removedTexts.isEmpty { forgetRemovedTexts(moment) }
        guard newestIndex >= 0 else {
            if refusingSources.insert(record.source).inserted {
                let name = tables.sources.name(of: Int(record.source))
                observer?.refuse(seriesOf: name)
            }
            return
        }
        let wanted = wanted(of: newestIndex, moment)
        guard wanted.index >= 0 else { return }
        let line = tables.log.nextSequence - 1
        if !wanted.needsEvents, !record.value.isNaN {
            observer?.observe(record.value, of: wanted.index, line: line, at: moment)
        } else {
            let event = event(record, bytes)
            observer?.observe(event, of: wanted.index, line: line, at: moment)
        }
    }

    private func event(_ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>) -> Line.Data {
        func text(_ piece: EventBatch.Piece) -> String? {
            record.lend(piece, of: bytes).map { String(decoding: LineEncoder.cut($0), as: UTF8.self) }
        }
        let whole = record.lend(record.text, of: bytes)?.count ?? 0
        return Line.Data(
            series: seriesName(of: newestIndex), value: record.value.isNaN ? nil : record.value,
            word: text(record.word), text: text(record.text),
            data: record.lend(record.data, of: bytes).map { Bytes($0) },
            truncated: record.flaws.areTruncating || whole > LineEncoder.longestText)
    }

    private mutating func observe(_ observation: Observation, of source: SourceID, _ moment: Moment) {
        guard observer != nil else { return }
        let (name, line) = (tables.sources.name(of: source.index), tables.log.nextSequence)
        observer?.observe(observation, of: name, line: line, at: moment)
    }

    private mutating func forgetObserved(_ index: Int, _ moment: Moment) {
        guard index < observed.count, let old = observed[index] else { return }
        observed[index] = nil
        guard old.index >= 0 else { return }
        observedCounts[Int(old.index)] -= 1
        if observedCounts[Int(old.index)] == 0 { observer?.remove(series: old.index, at: moment) }
    }

    private mutating func forgetRemovedTexts(_ moment: Moment) {
        for index in tables.takeRemovedTexts() { forgetObserved(index, moment) }
    }

    /// Evaluates answers that are complete, and publishes what was decided.
    private mutating func settle(_ moment: Moment) {
        if !tables.removedTexts.isEmpty { forgetRemovedTexts(moment) }
        guard observer != nil else { return }
        describeSources(moment)
        observer?.settle(at: moment)
        publishAlerts(moment)
    }

    private mutating func publishAlerts(_ moment: Moment) {
        while let (name, alert) = observer?.nextAlert() {
            let source = self.source(named: name) ?? ownSource(at: moment.wall)
            publishOther(Event(time: moment.wall, source: source, body: .alert(alert)), moment)
        }
    }

    /// Publishes anything but data: too rare to need optimisation.
    @inline(never)
    private mutating func publishOther(_ event: Event, _ moment: Moment) {
        let time = limited(event.time, moment.wall)
        let source = event.source
        let line: any LineBody
        switch event.body {
        case .data: return  // handled by the caller, which is the hot path
        case .latency(var sample):
            sample.endpoint = LineEncoder.cut(sample.endpoint)
            // Counts the value as the line gives it, so that a reader that adds up lines gets the same result.
            sample.ms = LineWriter.readBack(milliseconds: sample.ms)
            // Before the window, which names the line that comes next: others' windows may have to come before it.
            updateEndpoint(sample.endpoint, of: source, moment) { _ = $0.record(sample.ms) }
            record(sample.ms, .latency, of: source, at: time, moment)
            tables.sources.countAnswer(sample.status, from: source)
            if sample.status == 304 { confirm(source, at: time, moment) }
            tables.newestAnswer = tables.log.nextSequence
            observe(.answer(sample), of: source, moment)
            line = sample
        case .memory(let sample):
            if currentMember < 0 { tables.memory = sample }
            if tables.sources.state(of: source) == .starting {
                tables.sources.setState(.ok, of: source, stateTime(time, moment))
            }
            tables.sources.hear(from: source, at: moment.now.timestamp)
            record(Double(sample.resident), .memory, of: source, at: time, moment)
            observe(.heard, of: source, moment)
            line = sample
        case .error(var failure):
            tables.sources.fail(source, by: SourceFailure(failure, at: time), at: stateTime(time, moment))
            tables.sources.countError(failure.code.rawValue, of: source)
            failure.endpoint = failure.endpoint.map { LineEncoder.cut($0) }
            failure.message = LineEncoder.message(failure.message)
            if let endpoint = failure.endpoint { updateEndpoint(endpoint, of: source, moment) { $0.recordErrors() } }
            tables.newestReport = tables.log.nextSequence
            observe(.failure(failure), of: source, moment)
            line = failure
        case .answer(let answer): return complete(answer, of: source, at: time, moment)
        case .progress(let progress):
            for key in progress.gone {
                for index in tables.series.both(of: source, key: key) { forgetObserved(index, moment) }
                tables.markGone(key, of: source, by: tables.log.nextSequence)
            }
            return publish(progress, of: source, at: time, moment)
        case .recovered(let recovery):
            // The answer itself follows.
            tables.sources.setState(.ok, of: source, stateTime(time, moment))
            tables.sources.hear(from: source, at: moment.now.timestamp)
            tables.newestReport = tables.log.nextSequence
            observe(.recovered, of: source, moment)
            line = recovery
        case .restart(var restart):
            restart.lastRun = restart.lastRun.map { LineEncoder.cut($0) }
            restart.ended = restart.ended.map { LineEncoder.cut($0) }
            line = restart
        case .agent(let sample):
            tables.agent = sample
            observe(.heard, of: source, moment)
            line = Line.Agent(sample, tables.counts, events: tables.log.nextSequence - 1, outputs: outputs)
        case .foreignAgent(var agent):
            agent.outputs = Array(agent.outputs.prefix(64))
            for index in agent.outputs.indices {
                agent.outputs[index].output = LineEncoder.cut(agent.outputs[index].output, at: Line.Output.longest)
                agent.outputs[index].state = LineEncoder.cut(agent.outputs[index].state, at: Line.Output.longest)
            }
            line = agent
        case .peer(let peer):
            if let agent = currentAgent {
                observer?.observe(.peer(peer), of: agent, line: tables.log.nextSequence, at: moment)
            }
            line = peer
        case .lost(let lost): line = lost
        case .alert(let alert):
            tables.mark(
                alert, of: source, agent: currentAgent, owner: currentMember, by: tables.log.nextSequence)
            line = alert
        case .clock(let change): line = change
        }
        append(line, about: tables.sources.name(of: source.index), at: time, moment.now)
    }

    /// Publishes how far a source has come.
    private mutating func publish(_ progress: Progress, of source: SourceID, at time: Timestamp, _ moment: Moment) {
        confirm(source, at: time, moment)  // a page was complete, also one with nothing on it
        if let items = progress.items { record(Double(items), .count, of: source, at: time, moment) }
        observe(.progress(progress), of: source, moment)
        tables.newestReport = tables.log.nextSequence
        append(progress, about: tables.sources.name(of: source.index), at: time, moment.now)
    }

    /// Marks the series as gone that a complete answer does not have, and says so.
    private mutating func complete(
        _ answer: CompleteAnswer, of source: SourceID, at time: Timestamp, _ moment: Moment
    ) {
        var progress = answer.progress
        if progress.items == nil, let index = tables.series.find(source, .count, key: nil) {
            flush(index, moment, isComplete: true)
            removeSeries([index], moment)
        }
        var gone: [String] = []
        // Of an answer that had more events than may be published, nothing is known.
        if tables.counts.data < mostData {
            tables.sources.completeAnswer(of: source)
            for index in tables.series.markGone(of: source, before: answer.first, by: tables.log.nextSequence) {
                for each in [index, tables.series.twin(of: index) ?? index] {
                    tables.log.kept.remove(each)
                    forgetObserved(each, moment)
                }
                gone.append(String(decoding: tables.series.key(of: index) ?? [], as: UTF8.self))
            }
        }
        defer { observe(.complete, of: source, moment) }
        guard answer.isReported || !gone.isEmpty else { return }
        var rest = gone[...]
        repeat {
            var bytes = 0
            progress.gone = Array(
                rest.prefix(Progress.mostGone).prefix { key in
                    bytes += key.utf8.count
                    return bytes <= Progress.mostGoneBytes
                })
            rest = rest.dropFirst(progress.gone.count)
            publish(progress, of: source, at: time, moment)
            progress.items = nil
        } while !rest.isEmpty
    }

    /// Has a series of a source be known, if it is not: see `EventStore.expect`.
    mutating func expect(_ name: String, of source: String, at moment: Moment) {
        guard let source = self.source(named: source), !tables.sources.isRetired(source),
            let key = SeriesName(name, of: tables.sources.name(of: source.index))?.key,
            tables.series.both(of: source, key: String(key)).isEmpty
        else { return }
        SeriesName(key: key).withKey { _ = addSeries(source, .text, $0, moment) }
    }

    /// Marks a series as gone in a recorded feed: see `FeedTables.recall`.
    mutating func recall(_ gone: GoneSeries) { tables.recall(gone) }

    /// Adds a line of anything but data to the log.
    private mutating func append(
        _ body: some LineBody, about source: String, at time: Timestamp, _ now: LoopInstant
    ) {
        tables.log.append(atMost: encoder.most(body, source: source), at: now) { sequence, writer in
            encoder.line(body, sequence: sequence, time: time, source: source, to: writer)
        }
    }

    /// Records an answer without a line. A failing source stays so until a line reports its recovery.
    ///
    /// - Returns: whether it was the first time, which no line tells.
    mutating func recordAnswer(from source: SourceID, at moment: Moment) -> Bool {
        tables.sources.hear(from: source, at: moment.now.timestamp)
        guard tables.sources.state(of: source) == .starting else { return false }
        tables.sources.setState(.ok, of: source, moment.wall)
        return true
    }

    /// Records a source's success other than our own data.
    private mutating func confirm(_ source: SourceID, at time: Timestamp, _ moment: Moment) {
        tables.sources.setState(.ok, of: source, stateTime(time, moment))
        tables.sources.hear(from: source, at: moment.now.timestamp, answered: moment.wall)
    }

    /// Updates an endpoint's histogram.
    private mutating func updateEndpoint(
        _ endpoint: String, of source: SourceID, _ moment: Moment,
        _ change: (inout LatencyHistogram) -> Void
    ) {
        let share = limits.memberEndpoints
        let isShareUsed = currentMember >= 0 && tables.endpointTable.count(of: currentMember) >= share
        if tables.endpointTable.isFull, !isShareUsed,
            tables.endpointTable.index(of: endpoint, source: source.index) == nil
        {
            forget(Set(tables.sources.released()), moment)
        }
        if !tables.updateEndpoint(endpoint, of: source, owner: currentMember, change), isShareUsed {
            refuse(.endpoints, "has more than \(share) endpoints: further ones have no statistics", moment)
        }
    }

    /// Refuses something beyond the current agent's limit, and reports that once.
    private mutating func refuse(_ refusal: FleetMember.Refusal, _ message: String, _ moment: Moment) {
        let id = MemberID(index: Int(currentMember))
        guard fleet[id].isFirst(refusal) else { return }
        let failure = Failure(.config, "\(fleet[id].name) \(message)")
        let name = fleet[id].ownName
        if let own = source(named: name) { tables.sources.countError(failure.code.rawValue, of: own) }
        let tail = encoder.tail
        encoder.setTail(fleet[id].tail)
        tables.newestReport = tables.log.nextSequence
        append(failure, about: name, at: moment.wall, moment.now)
        encoder.setTail(tail)
    }

    // MARK: Series

    /// The series' index, added if it is new; nil when it cannot be added.
    @inline(__always)
    private mutating func seriesIndex(
        _ source: SourceID, kind: SeriesKind, key: UnsafeBufferPointer<UInt8>?, _ moment: Moment
    ) -> Int? {
        if let index = tables.series.find(source, kind, key: key.map { .init($0) }) { return index }
        return addSeries(source, kind, key, moment)
    }

    /// Adds a new series; released sources make room for it if necessary.
    @inline(never)
    private mutating func addSeries(
        _ source: SourceID, _ kind: SeriesKind, _ key: UnsafeBufferPointer<UInt8>?, _ moment: Moment
    ) -> Int? {
        if kind.hasValues {
            if currentMember >= 0, fleet[closings: currentMember].series.count >= limits.memberSeries {
                refusedForeignSeries += 1
                let most = "more than \(limits.memberSeries) series"
                refuse(.windows, "has \(most): events of further ones still flow, but have no windows", moment)
                return nil
            }
            // Every event of a series without room comes here: cheap when nothing was released.
            if tables.series.isFull {
                forget(Set(tables.sources.released()), moment)
                removeOutdated(moment)
            }
        }
        guard let index = tables.addSeries(source, kind, key: key, owner: currentMember) else { return nil }
        if kind.hasValues { fleet[closings: currentMember].add(series: index) }
        return index
    }

    /// Makes room for series with values: those that are gone, and outdated ones whose windows the history no longer shows.
    private mutating func removeOutdated(_ moment: Moment) {
        guard !tables.isRelay, lastSweep.map({ moment.now >= $0.advanced(by: .seconds(1)) }) ?? true else { return }
        lastSweep = moment.now
        let gone = tables.series.indices.filter { index in
            let each = tables.series[index]
            guard each.source >= 0, each.kind == .data else { return false }
            return tables.series.isGone(index)
                || each.ring.held.isEmpty && !tables.isCurrent(index, at: moment.wall)
        }
        for index in gone { flush(index, moment, isComplete: true) }
        removeSeries(gone, moment)
    }

    /// Replaces the windows of sources whose rhythm has changed, after emitting their last lines.
    ///
    /// - Parameter source: the source to look at; nil for all.
    mutating func fitWindows(of source: SourceID? = nil, at moment: Moment) {
        for index in tables.series.indices where tables.series[index].source >= 0 {
            guard source.map({ $0.index == tables.series[index].source }) ?? true else { continue }
            let span = tables.span(of: tables.series[index].source)
            let ring = tables.series[index].ring
            guard (ring.width, ring.history) != (span.width.microseconds, span.history.microseconds) else { continue }
            flush(index, moment, isComplete: true)
            tables.series[index].ring = WindowRing(span, after: tables.series[index].ring.newest)
        }
    }

    // MARK: Windows

    /// Closes the windows whose time has come; to be called when `nextBoundary` has come, at least.
    package mutating func advance(at moment: Moment) {
        if notice(wall: moment.wall) { closeWindows(at: moment) }
    }

    /// Checks whether windows have ended; `closeWindows` then emits their lines.
    ///
    /// - Returns: whether windows have ended since the last check.
    package mutating func notice(wall: Timestamp) -> Bool {
        fleet.notice(wall, width: tables.width)
    }

    /// Emits the lines of our ended windows, if `notice` has found any.
    ///
    /// - Parameter growth: the growth of the log, in bytes, after which to stop for now; see `slice`.
    /// - Returns: whether there may be more.
    @discardableResult
    package mutating func closeWindows(atMost growth: Int = .max, at moment: Moment) -> Bool {
        guard fleet[closings: -1].next != nil else { return false }
        closeWindows(of: -1, until: tables.log.totalCost.addingSaturated(growth), moment)
        let hasMore = fleet[closings: -1].next != nil
        if !hasMore {
            let past = moment.now.advanced(by: .zero - limits.history - limits.interval)
            forget(Set(tables.sources.released(before: past)), moment)
            for (topic, recovery) in ownFailures.ended(at: moment.now, after: limits.history) {
                sayOfItself(.recovered(recovery), about: topic, at: moment)
            }
        }
        tables.log.expire(at: moment.now)
        settle(moment)
        return hasMore
    }

    /// Emits the lines of an agent's ended windows until the log has this size.
    private mutating func closeWindows(of owner: Int32, until end: Int, _ moment: Moment) {
        guard var next = fleet[closings: owner].next else { return }
        let time = fleet[closings: owner].time(at: moment)
        let looksAtAll = fleet[closings: owner].looksAtAll
        while tables.log.totalCost < end, next < fleet[closings: owner].series.count {
            let index = fleet[closings: owner].series[next]
            if looksAtAll || tables.series[index].ring.nextDue.map({ $0 <= time }) == true {
                flush(index, moment)
            }
            next += 1
        }
        fleet[closings: owner].close(before: next)
    }

    /// Closes the windows of all agents of a fleet that have ended by each agent's clock.
    ///
    /// - Parameter growth: the growth of the log, in bytes, after which to stop for now.
    /// - Returns: whether there may be more.
    mutating func closeMemberWindows(atMost growth: Int, at moment: Moment) -> Bool {
        let end = tables.log.totalCost.addingSaturated(growth)
        for member in 0..<Int32(fleet.count) {
            guard tables.log.totalCost < end else { return true }
            closeMemberWindows(of: member, until: end, moment)
        }
        settle(moment)
        return tables.log.totalCost >= end
    }

    private mutating func closeMemberWindows(of member: Int32, until end: Int, _ moment: Moment) {
        _ = fleet[closings: member].notice(fleet[closings: member].time(at: moment), width: tables.width)
        closeWindows(of: member, until: end, moment)
    }

    /// The end of the window that contains `wall`.
    package func nextBoundary(after wall: Timestamp) -> Timestamp {
        return Window.end(of: Window.index(of: wall, width: tables.width), width: tables.width)
    }

    /// Emits lines for windows that are still open, because no more values follow.
    ///
    /// - Parameters:
    ///   - source: the source of the windows; nil for all.
    ///   - first: the first series, from 0.
    ///   - growth: the growth of the log, in bytes, after which to stop for now; see `slice`.
    /// - Returns: the series to continue with; nil at the end.
    package mutating func complete(
        _ source: SourceID? = nil, from first: Int, atMost growth: Int, at moment: Moment
    ) -> Int? {
        let start = tables.log.totalCost
        let some = source.map { fleet[closings: tables.sources.owner(of: $0.index)].series }
        let count = some?.count ?? tables.series.indices.count
        // Starts over each time, because its series may have moved when others of the agent were forgotten: completed
        // ones have nothing left to emit.
        var position = some == nil ? first : 0
        while position < count, position == first || tables.log.totalCost - start < growth {
            let index = some?[position] ?? position
            if source == nil || tables.series[index].source == source?.index {
                flush(index, moment, isComplete: true)
            }
            position += 1
        }
        return position < count ? position : nil
    }

    /// Records a value in its window; its own line must be the next one in the log.
    @inline(__always)
    private mutating func record(
        _ value: Double, in index: Int, at time: Timestamp, _ moment: Moment
    ) {
        // By the clock of the agent that the event is from.
        let clock = fleet.time(of: currentMember, or: moment.wall)
        let outcome = tables.series.record(value, in: index, at: time, sequence: tables.log.nextSequence, now: clock)
        if outcome != .recorded { finishRecording(value, in: index, at: time, outcome, moment) }
    }

    /// Records the value of the next line in the source's own series of a kind.
    private mutating func record(
        _ value: Double, _ kind: SeriesKind, of source: SourceID, at time: Timestamp, _ moment: Moment
    ) {
        guard let index = seriesIndex(source, kind: kind, key: nil, moment) else { return }
        record(value, in: index, at: time, moment)
        tables.log.kept.mark(index, sequence: tables.log.nextSequence)
    }

    /// Counts a value that is late; records it after all if its ring was full.
    @inline(never)
    private mutating func finishRecording(
        _ value: Double, in index: Int, at time: Timestamp, _ outcome: WindowRing.Outcome, _ moment: Moment
    ) {
        var outcome = outcome
        if outcome == .full {
            // Cannot happen again right after a flush, which the ring's documentation promises.
            flush(index, moment)
            let clock = fleet.time(of: currentMember, or: moment.wall)
            outcome = tables.series.record(value, in: index, at: time, sequence: tables.log.nextSequence, now: clock)
        }
        if outcome == .late { tables.counts.late += 1 }
    }

    private mutating func flush(_ index: Int, _ moment: Moment, isComplete: Bool = false) {
        // Its place is free, or its windows come as lines, or nothing is left to emit.
        guard tables.series[index].source >= 0, !tables.isRelay, !isComplete || tables.series[index].ring.hasChanges
        else { return }
        // Takes the ring out while it lends its windows, so that the log can be appended to; another ring replaces it,
        // or its memory would be shared and copied.
        let width = tables.series[index].ring.width
        var ring = WindowRing(width: .microseconds(width))
        swap(&ring, &tables.series[index].ring)
        let owner = tables.series[index].owner
        let time = fleet[closings: owner].time(at: moment)
        let clock = fleet[closings: owner].told(or: moment.wall)
        // It may stand in the middle of what comes from another agent.
        let tail = encoder.tail
        encoder.setTail(fleet.tail(of: owner))
        defer { encoder.setTail(tail) }
        let scale = tables.series[index].kind == .data ? tables.sources.bands(of: tables.series[index].source) : nil
        let isObserved = observer != nil && wanted(of: index, moment).needsWindows
        var windows: [Window] = []
        tables.windowNames(of: index).withUnsafeBufferPointer { names in
            func emit(_ window: Window) {
                if isObserved { windows.append(window) }
                let band = scale.map { $0.labels[$0.scale.index(of: window.last)] }
                let most = LineEncoder.mostWindow(names: names.count, band: band?.count ?? 0) + encoder.tailCount
                tables.log.append(atMost: most, at: moment.now) { sequence, writer in
                    encoder.window(
                        window, width: width, sequence: sequence, time: time, names: names, band: band, to: writer)
                }
            }
            if isComplete {
                ring.complete(now: clock, scale: scale?.scale, emit: emit)
            } else {
                ring.flush(now: clock, closing: time, scale: scale?.scale, emit: emit)
            }
        }
        tables.series[index].ring = ring
        for window in windows { observe(window, width, of: index, moment) }
    }

    private mutating func observe(_ window: Window, _ width: Int64, of index: Int, _ moment: Moment) {
        guard let wanted = observed[index] else { return }
        let line = Line.Window(
            series: seriesName(of: index), start: Timestamp(microseconds: window.index * width),
            width: .microseconds(width), last: window.last, lastSeq: window.lastSequence, count: window.count,
            min: window.minimum, max: window.maximum, mean: window.mean)
        observer?.observe(line, of: wanted.index, line: tables.log.nextSequence - 1, at: moment)
    }

    // MARK: Agents whose feeds are sources

    /// Makes room for a new agent's names by forgetting released sources.
    ///
    /// - Returns: the source that keeps it from being called so, as it has that name or that of one of the agent's; nil when
    ///   none does.
    mutating func makeRoom(forAgent name: String, at moment: Moment) -> String? {
        while let other = tables.sources.source(named: name) ?? tables.sources.source(headedBy: name) {
            guard tables.sources.isReleased(other) else { return self.name(of: other) }
            forget([other.index], moment)
        }
        return nil
    }

    /// Makes room for a source of our own in the same way.
    ///
    /// - Returns: the agent whose source has that name; nil when none does.
    mutating func makeRoom(forSource name: String, at moment: Moment) -> MemberID? {
        guard let known = source(named: name), let owner = owner(of: known) else { return nil }
        guard tables.sources.isReleased(known) else { return owner }
        forget([known.index], moment)
        return nil
    }

    /// The agent that a source belongs to; nil for our own sources.
    func owner(of source: SourceID) -> MemberID? {
        let owner = tables.sources.owner(of: source.index)
        return owner < 0 ? nil : MemberID(index: Int(owner))
    }

    /// The sources of an agent.
    func sources(of member: MemberID) -> [SourceID] {
        tables.sources.sources(of: member, named: fleet[member].name)
    }

    func name(of source: SourceID) -> String { tables.sources.name(of: source.index) }

    /// The agent's own name of one of its sources.
    func ownName(of source: SourceID, of member: MemberID) -> String {
        String(Substring(name(of: source).utf8.dropFirst(fleet[member].name.utf8.count + 1)))
    }

    /// The agent's source with this own name; nil when it is unknown here.
    func source(named name: String, of member: MemberID) -> SourceID? {
        tables.sources.source(named: "\(fleet[member].name).\(name)").flatMap { owner(of: $0) == member ? $0 : nil }
    }

    /// Adds a source of an agent under the agent's own name for it, or updates its description.
    ///
    /// - Parameter time: the start of its state.
    /// - Returns: nil when another source has that name; and whether to notify readers.
    mutating func register(
        _ description: SourceDescription, of member: MemberID, since time: Timestamp, at moment: Moment
    ) -> (source: SourceID, isNews: Bool)? {
        var description = description
        let known = source(named: description.name, of: member)
        description.name = "\(fleet[member].name).\(description.name)"
        if let known {
            let rhythm = tables.sources.rhythm(of: known.index)
            let isNews = tables.sources.describe(known, as: description, at: time)
            if isNews { describe(known) }
            if rhythm != description.rhythm { fitWindows(of: known, at: moment) }
            return (known, isNews)
        }
        if let other = tables.sources.source(named: description.name) {
            guard tables.sources.isReleased(other) else { return nil }
            forget([other.index], moment)
        }
        let id = register(description, at: time)
        tables.sources.setOwner(member, of: id)
        return (id, true)
    }

    /// Sets the state that an agent reports for one of its sources.
    mutating func setState(_ status: SourceStatus, of source: SourceID, at time: Timestamp) {
        tables.sources.setState(status, of: source, at: time)
    }

    /// What comes now is from there.
    private mutating func listen(to origin: LineOrigin, at time: Timestamp, _ moment: Moment) {
        let member = Int32(origin.member.index)
        if let clock = origin.clock {
            fleet[closings: member].hear(clock, at: moment.now)
            closeMemberWindows(of: member, until: tables.log.totalCost.addingSaturated(slice), moment)
        }
        (currentMember, currentSince) = (member, origin.since)
        encoder.setTail(
            origin.line.map {
                LineEncoder.tail(
                    agent: fleet[origin.member].name, $0, time: tables.isFuture(time, moment.wall) ? time : nil)
            } ?? fleet.tail(of: member))
    }

    /// Has a journal keep the position of an agent's line that was published.
    private mutating func recordPosition(of origin: LineOrigin) {
        guard positions != nil, let line = origin.line else { return }
        let place = LineID(line.run, origin.last ?? line.sequence)
        record(MemberPosition(fleet[origin.member].name, place, stored: origin.stored))
    }

    /// Has a journal keep a position with the lines so far.
    mutating func record(_ position: MemberPosition) {
        let (first, next) = (tables.log.firstSequence, tables.log.nextSequence)
        positions?.add(position, through: next - 1, logFrom: first)
    }

    /// What comes now is our own again.
    private mutating func endListening() {
        (currentMember, currentSince) = (-1, nil)
        encoder.setTail([])
    }

    /// The agent of the fleet whose lines come now; nil for our own.
    private var currentAgent: String? {
        currentMember < 0 ? nil : fleet[MemberID(index: Int(currentMember))].name
    }

    // MARK: Lines

    /// Keeps lines from this sequence number, however old they are.
    mutating func hold(from sequence: Int) { tables.log.heldFrom = sequence }

    /// Keeps a kept line of an agent of the fleet, which has no number here, if it is its series' newest.
    ///
    /// - Parameters:
    ///   - batch: the event of the line.
    ///   - isMissed: whether it is newer than the agent's numbered lines that came.
    /// - Returns: whether it is kept.
    mutating func keep(_ line: Line, _ batch: EventBatch, isMissed: Bool, at moment: Moment) -> Bool {
        guard let record = batch.records.first, let origin = batch.origins.first else { return false }
        listen(to: origin, at: record.time, moment)
        defer { endListening() }
        let time = tables.isFuture(record.time, moment.wall) ? moment.wall : record.time
        guard let (index, value) = keptSeries(of: line, from: SourceID(index: Int(record.source)), moment),
            let bytes = LineMending.nestable(foreignLine(record, batch, in: index, at: time).dropLast()),
            keepForeign(bytes, in: index, at: time, isMissed: isMissed)
        else { return false }
        recall(line, in: index, 0)
        restore(value, in: index, at: time, 0, moment)
        return true
    }

    /// Marks the series of a kept line as there and records its value, without a line for its window, which had one
    /// elsewhere; not if the series' windows have a newer value.
    ///
    /// - Parameter sequence: the line's number; 0 for one without a number here.
    private mutating func restore(
        _ value: Double?, in index: Int, at time: Timestamp, _ sequence: Int, _ moment: Moment
    ) {
        tables.series.recall(index, sequence: sequence)
        guard let value, tables.series[index].ring.newest.map({ $0.lastTime < time }) ?? true else { return }
        if let remote { return remote.record(value, in: index, at: time, sequence, to: &tables) }
        let isOwn = currentMember < 0
        let window = Window(
            restored: value, index: Window.index(of: time, width: tables.series[index].ring.width), time: time,
            sequence: isOwn ? 0 : tables.log.nextSequence - 1)
        if isOwn { return tables.series[index].ring.remember(window) }
        if tables.series[index].ring.restore(window) { return }
        // Its window has values from lines, or there is no room.
        flush(index, moment)
        if tables.series[index].ring.restore(window) { return }
        _ = tables.series.record(value, in: index, at: time, sequence: tables.log.nextSequence - 1, now: time)
    }

    /// The line of an agent's event for a series, with the number 0.
    private mutating func foreignLine(
        _ record: EventBatch.Record, _ batch: EventBatch, in index: Int, at time: Timestamp
    ) -> [UInt8] {
        let source = Int(record.source)
        func line(_ body: some LineBody) -> [UInt8] {
            let name = tables.sources.name(of: source)
            return LineWriter.bytes(atMost: encoder.most(body, source: name)) {
                $0 = encoder.line(body, sequence: 0, time: time, source: name, to: $0)
            }
        }
        if record.other >= 0 {
            switch batch.others[Int(record.other)].body {
            case .latency(var sample):
                sample.endpoint = LineEncoder.cut(sample.endpoint)
                return line(sample)
            case .memory(let sample): return line(sample)
            case .progress(var progress):
                progress.gone = []
                return line(progress)
            case .alert(let alert): return line(alert)
            default: return []  // has no series
            }
        }
        let prefix = tables.sources.prefix(of: source, type: batch.origins[0].type)
        return batch.bytes.withUnsafeBufferPointer { bytes in
            prefix.withUnsafeBufferPointer { prefix in
                let (key, text, data) = (
                    record.lend(record.key, of: bytes), record.lend(record.text, of: bytes),
                    record.lend(record.data, of: bytes)
                )
                let names = LineEncoder.Names(
                    prefix: prefix, key: key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) },
                    isPlain: tables.series[index].isPlain)
                follow(record.lend(record.word, of: bytes), in: index, at: time)
                let most = encoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
                return LineWriter.bytes(atMost: most) {
                    $0 = encoder.datum(
                        value: record.value.isNaN ? nil : record.value, text: text, data: data, flaws: record.flaws,
                        sequence: 0, time: time, names: names, to: $0)
                }
            }
        }
    }

    /// Keeps a line without a number here, if it is its series' newest.
    ///
    /// - Parameters:
    ///   - isMissed: whether it is newer than the agent's numbered lines that came.
    ///   - isEarlier: whether it is of an earlier run.
    private mutating func keepForeign(
        _ line: [UInt8], in index: Int, at time: Timestamp, isMissed: Bool = false, isEarlier: Bool = false
    ) -> Bool {
        if let known = tables.log.newestLine(of: index) {
            // Those of earlier runs come newest run first, whatever the times of their events are.
            if isEarlier { return false }
            let last = known.withUnsafeBytes { LineHead($0)?.time }
            guard last.map({ $0 < time }) ?? true || isMissed && known != line else { return false }
        }
        return tables.log.kept.add(foreign: line, of: index, next: tables.log.nextSequence)
    }

    /// Keeps a kept line of a source that is listed: one of the relayed feed, or, without a number in this run, of an agent
    /// of the relayed fleet or of an earlier run.
    ///
    /// - Returns: its number, 0 for none; nil if it is no kept line for readers here.
    mutating func keep(_ kept: Line.Kept, at moment: Moment) -> Int? {
        let (line, time) = (kept.line, kept.line.time)
        guard let sequence = line.seq else { return nil }
        let first = tables.log.firstSequence
        let isExpected =
            sequence == 0
            ? line.isForwarded
            : remote?.receive(kept, sequence, to: &tables, at: moment.now) == true
                && tables.log.kept.accepts(sequence, before: first)
        let isEarlier = sequence == 0 && line.agent == nil
        guard isExpected, line.flaws.isEmpty, let source = line.source.flatMap({ tables.listedSource(named: $0) }),
            tables.isRelay || line.isAlert || tables.isRecent(time, of: source, at: moment.wall),
            let (index, value) = keptSeries(of: line, from: source, moment), !isEarlier || tables.mayRecall(index),
            sequence == 0 || tables.log.kept.add(Array(kept.bytes), of: index, sequence: sequence, before: first)
        else { return nil }
        if case .data(let data) = line.body {
            let word = data.word.map { Array($0.utf8) }
            if tables.isRelay {
                _ = tables.series.follow(word, in: index, at: time, since: data.since)
            } else {
                tables.series.restore(word, in: index, at: time, since: data.since) { tables.log.newestTime(of: $0) }
            }
        }
        if sequence == 0, !keepForeign(Array(kept.bytes), in: index, at: time, isEarlier: isEarlier) { return nil }
        recall(line, in: index, sequence)
        restore(value, in: index, at: time, sequence, moment)
        return sequence
    }

    /// Records what fires by a kept line.
    private mutating func recall(_ line: Line, in index: Int, _ sequence: Int) {
        guard case .alert(let alert) = line.body else { return }
        tables.series.setAlert(
            index, alert.condition, isFiring: alert.state.isFiring, agent: currentAgent ?? line.forwardingAgent,
            sequence: sequence)
    }

    /// The series of a kept line and the line's value; nil when there is none.
    ///
    /// - Parameter source: the line's source here.
    private mutating func keptSeries(
        of line: Line, from source: SourceID, _ moment: Moment
    ) -> (index: Int, value: Double?)? {
        let (kind, name, value): (SeriesKind, String?, Double?)
        switch line.body {
        case .alert(let alert) where !alert.state.isOver:
            return tables.alertIndex(
                alert, of: source, agent: currentAgent ?? line.forwardingAgent, owner: currentMember
            ).map { ($0, nil) }
        case .data(let data): (kind, name, value) = (data.value == nil ? .text : .data, data.series, data.value)
        case .latency(let sample):
            // A line that is relayed stays as it is.
            let ms = tables.isRelay ? sample.ms : LineWriter.readBack(milliseconds: sample.ms)
            (kind, name, value) = (.latency, nil, ms)
        case .memory(let sample): (kind, name, value) = (.memory, nil, Double(sample.resident))
        case .progress(let progress):
            guard let items = progress.items else { return nil }
            (kind, name, value) = (.count, nil, Double(items))
        default: return nil
        }
        let series = SeriesName(name, of: line.source ?? "")
        return series?.withKey { seriesIndex(source, kind: kind, key: $0, moment) }.map { ($0, value) }
    }

    /// Restores the windows of another agent's series, or of an earlier run.
    ///
    /// - Parameter member: the agent of our fleet; nil for the one whose feed is relayed, and for our own.
    /// - Returns: the series' index; nil if there are no new windows for readers here.
    mutating func restore(_ kept: Line.Kept, of member: MemberID?, at moment: Moment) -> Int? {
        guard case .window(let newest) = kept.line.body, let name = kept.line.source else { return nil }
        let named = member.map { source(named: name, of: $0) } ?? tables.listedSource(named: name)
        guard let named, !tables.sources.isRetired(named), tables.hasLongWindows(named.index) else { return nil }
        let kind = SeriesKind.prefixed.first { newest.series == $0.prefix + name } ?? .data
        let series = SeriesName(kind == .data ? newest.series : nil, of: name)
        currentMember = member.map { Int32($0.index) } ?? -1
        defer { currentMember = -1 }
        guard let index = series?.withKey({ seriesIndex(named, kind: kind, key: $0, moment) }),
            tables.series[index].ring.width == newest.width.microseconds, member != nil || tables.mayRecall(index)
        else {
            return nil
        }
        // Those of a relayed feed are let go of here only.
        let now = !tables.isRelay ? fleet[closings: currentMember].time(at: moment) : remote?.clock ?? moment.wall
        if !tables.isRelay { flush(index, moment) } else { tables.series[index].ring.flush(now: now) { _ in } }
        var isNew = false
        for window in kept.windows {
            // Numbers of an agent of a fleet, or of an earlier run, are none of this run.
            let window = Window(window, sequence: tables.isRelay ? newest.lastSeq : 0)
            if tables.series[index].ring.isKept(window, at: now), tables.series[index].ring.restore(window) {
                isNew = true
            }
        }
        return isNew ? index : nil
    }

    // MARK: The relayed feed

    /// Drops lines that are too old.
    mutating func expire(at now: LoopInstant) { tables.log.expire(at: now) }

    /// Sets whether the connection of the relayed feed is open.
    mutating func setConnected(_ isConnected: Bool) { remote?.isConnected = isConnected }

    /// Records that lines of the relayed feed arrived.
    mutating func hear(at now: LoopInstant) { remote?.hear(at: now) }

    /// Starts a run of the relayed feed, and drops everything of the previous one.
    mutating func begin(with hello: Line.Hello) {
        remote = remote.map { RemoteFeed(mostAgents: tables.limits.members, after: $0) }
        fleet[closings: -1] = WindowClosings()
        tables.restart(at: hello.firstSeq)
    }

    /// Applies a line of the relayed agent that has no sequence number.
    ///
    /// - Returns: whether the descriptions of its sources have changed.
    mutating func applyUnnumbered(_ line: Line, at moment: Moment) -> Bool {
        let before = (tables.interval, tables.history)
        let isNews = remote?.apply(line, to: &tables) ?? false
        if isNews || before != (tables.interval, tables.history) { fitWindows(at: moment) }
        return isNews
    }

    /// Ends the run of the relayed feed with this line; those up to it that did not come are missing.
    mutating func endRun(with last: Int) { remote?.skip(through: last, in: &tables) }

    /// Adds a relayed line: see `RemoteFeed.relay`.
    mutating func relay(_ relayed: RelayedLine, plain: PlainLine? = nil, at moment: Moment) {
        remote?.relay(relayed, plain: plain, to: &tables, at: moment.now)
    }

    /// Adds a plain line whose names are known; false when it needs decoding.
    @inline(__always)
    mutating func relay(_ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, at moment: Moment) -> Bool {
        remote?.relay(line, bytes, to: &tables, at: moment.now) ?? false
    }
}

/// A series that a complete answer of its source did not have any more.
package struct GoneSeries: Sendable, Equatable {
    package var source: String
    package var key: String
}

/// A point in time by both clocks.
package struct Moment: Sendable {
    /// By the wall clock, which lines and windows go by. It may step.
    package let wall: Timestamp
    /// By the loop's clock, which the log's age goes by.
    package let now: LoopInstant

    package init(wall: Timestamp, now: LoopInstant) { (self.wall, self.now) = (wall, now) }
}

extension LoopInstant {
    /// As a time of a clock that does not step.
    var timestamp: Timestamp { Timestamp(microseconds: nanoseconds / 1_000) }
}
