package import Reactor

/// The store's data, without clock or suspension: sources, series with their windows, endpoints, and the log.
///
/// One struct, so that a batch of events costs one exclusive access and no reference counting of the parts.
package struct FeedState: ~Copyable, Sendable {
    package let limits: Limits
    package private(set) var log: LineLog
    /// The sequence numbers of the newest line to report to a person (an error, progress, or a recovery), and of the
    /// newest answer.
    package private(set) var newestReport = 0
    package private(set) var newestAnswer = 0
    /// The sequence number of the newest line with a value pointer.
    private(set) var newestPointer = 0
    package var counts = StoreCounts()
    /// The outputs for the next `agent` line, set by the owner of the readers.
    package var outputs: [Line.Output] = []
    private var encoder = LineEncoder()
    private var sources = SourceTable()
    private var ownSource: SourceID?
    private var series: SeriesTable
    private let width: Int64
    private let mostData: Int
    private var endpointTable: EndpointTable
    /// Series with changes to closed windows in the current batch.
    private var revised: [Int] = []
    /// The agents whose feeds are sources.
    var fleet = Fleet()
    /// The agent whose events are being published; −1 for our own.
    private var currentMember: Int32 = -1
    /// Since when the series has the word of that event, as its line says; nil for our own.
    private var currentSince: Timestamp?
    /// The number of times that a series was refused because its agent is at its limit.
    private var refusedForeignSeries = 0
    /// The number of values in the current batch that arrived after the line of their window.
    private var revisions = 0
    private var seriesShortage = Shortage()
    /// When `removeOutdated` last looked.
    private var lastSweep: LoopInstant?
    private var endpointShortage = Shortage()
    private var keptShortage = Shortage()
    /// The agent's own current failures by topic; the newest last.
    private var ownTroubles: [(topic: String, failure: Failure)] = []
    /// A counter of added sources, series and endpoints, including attempts.
    private var lastGeneration = 0
    /// The newest sample of each kind.
    package private(set) var memory: MemorySample?
    package private(set) var agent: AgentSample?
    /// The agent whose feed is relayed; nil for our own feed.
    private(set) var remote: RemoteFeed?

    /// - Parameters:
    ///   - age: the period for which lines are kept; nil for the limits' history.
    ///   - isRelay: whether the lines are another agent's.
    package init(limits: Limits = Limits(), keepingLinesFor age: Duration? = nil, isRelay: Bool = false) {
        remote = isRelay ? RemoteFeed(mostAgents: limits.members) : nil
        self.limits = limits
        width = limits.interval.microseconds
        mostData = limits.data ?? .max
        log = LineLog(
            capacity: limits.logCapacity, history: age ?? limits.history, keptCapacity: limits.keptCapacity)
        series = SeriesTable(limit: limits.series)
        endpointTable = EndpointTable(limit: limits.endpoints)
    }

    /// The width of a window of the feed, and the period for which it keeps lines.
    var interval: Duration { remote?.interval ?? limits.interval }
    var history: Duration { remote?.history ?? limits.history }

    /// Whether the feed's run is known.
    var hasBegun: Bool { remote?.hasBegun != false }

    /// The last sequence number included in the statistics. While a relayed feed is replayed, they include lines that
    /// have yet to arrive.
    var asOf: Int { max(log.nextSequence - 1, remote?.asOf ?? 0) }

    /// The counts of the agent that the feed belongs to; nil while a relayed one has not sent them.
    var agentCounts: StoreCounts? { remote.map(\.counts) ?? counts }

    /// The statistics of the endpoints, in the order of their first request.
    package var endpoints: [EndpointStatistics] { endpointTable.statistics }

    /// The states of the sources that are not retired, in the order they were first registered.
    package var statuses: [SourceStatus] { sources.statuses }

    /// Whether the number of data events in `Limits.data` has arrived.
    package var hasEnoughData: Bool { counts.data >= mostData }

    // MARK: Sources

    /// Adds a source; a known name returns that source, with its series and their history.
    ///
    /// Cuts its name and type at 1,024 bytes, its unit at 32. A new type applies to all its further lines, new bands to
    /// its windows from the next line. Its state is `starting` again.
    package mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        lastGeneration += 1
        return sources.register(description, at: time, generation: lastGeneration)
    }

    /// The source that stands for the agent itself; those of a fleet's agents have the same description.
    package mutating func ownSource(at time: Timestamp) -> SourceID {
        if let known = ownSource { return known }
        let id = register(ownDescription, at: time)
        ownSource = id
        return id
    }

    var ownDescription: SourceDescription {
        SourceDescription(name: EventStore.ownName, type: "memory", rhythm: .every(limits.interval))
    }

    /// The registered source with this name.
    func source(named name: String) -> SourceID? { sources.source(named: name) }

    /// Unlists a source until it is registered again; its windows still close.
    package mutating func retire(_ source: SourceID) { sources.retire(source) }

    /// Lists a source again with its description, because more data has come from it; it no longer makes room for
    /// others.
    ///
    /// - Returns: whether it was retired.
    mutating func revive(_ source: SourceID) -> Bool { sources.revive(source) }

    /// Whether it is unlisted.
    func isRetired(_ source: SourceID) -> Bool { sources.isRetired(source) }

    /// Records that a source has ended by itself: no more data is expected until it is registered again.
    mutating func setEnded(of source: SourceID) { sources.setEnded(of: source) }

    /// Retires a source that nothing more comes from. It is remembered, should it be registered again, for as long as the
    /// history shows it, while there is room: its series and endpoints count as those of others.
    package mutating func release(_ source: SourceID, at moment: Moment) {
        sources.release(source, at: moment.now)
        // Not one by one, as each time costs a look at every series.
        if sources.releasedCount > limits.released {
            forget(Set(sources.released(atMost: sources.releasedCount - limits.released / 2)), moment)
        }
    }

    /// Forgets released sources, after emitting the last lines of their windows.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    private mutating func forget(_ gone: Set<Int>, _ moment: Moment) -> Bool {
        guard !gone.isEmpty else { return false }
        let theirs = series.indices.filter { gone.contains(series[$0].source) }
        for index in theirs { flush(index, moment, isComplete: true) }
        removeSeries(theirs)
        endpointTable.remove(gone)
        sources.remove(gone)
        return true
    }

    /// Removes some series, with their kept lines.
    private mutating func removeSeries(_ gone: [Int]) {
        guard !gone.isEmpty else { return }
        // They know the series by their indices, which are reused.
        remote?.names.removeAll()
        for index in gone { log.kept.remove(index) }
        let owners = Set(gone.map { series[$0].owner })
        series.remove(gone)
        counts.series = series.count
        for owner in owners { fleet[closings: owner].remove { series[$0].source < 0 } }
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
        advance(at: moment)
        let end = log.totalCost.addingSaturated(growth)
        revisions = 0
        var next = first
        // Looked up and confirmed once for many events, because those of a batch are nearly always data of one source.
        var source: Int32 = -1
        var prefix: [UInt8] = []
        let isForeign = !batch.origins.isEmpty
        batch.bytes.withUnsafeBufferPointer { bytes in
            while next < batch.records.count {
                let record = batch.records[next]
                if isForeign { listen(to: batch.origins[next], at: record.time, moment) }
                next += 1
                if record.other >= 0 {
                    publishOther(batch.others[Int(record.other)], moment)
                    source = -1  // its state may have changed
                } else {
                    if record.source != source {
                        source = record.source
                        confirmData(of: SourceID(index: Int(source)), at: record.time, moment)
                        prefix = sources.prefix(of: Int(source))
                    }
                    if isForeign { prefix = sources.prefix(of: Int(source), type: batch.origins[next - 1].type) }
                    let tail =
                        batch.valuePointers.isEmpty ? nil : endLines(with: batch.valuePointers[next - 1], of: source)
                    prefix.withUnsafeBufferPointer { publish(record, bytes, $0, moment) }
                    if let tail {
                        encoder.setTail(tail)
                        newestPointer = log.nextSequence - 1
                        newestReport = newestPointer
                    }
                }
                // A revision is a line too, and follows the events.
                if log.totalCost + revisions * LineEncoder.fixed >= end { break }
            }
        }
        flushRevised(moment)
        if isForeign { endListening() }
        counts.refusedSeries = series.refused + refusedForeignSeries
        if seriesShortage.grows(to: series.refused, at: moment.now) {
            let reason =
                series.isFull
                ? "more than \(limits.series) series" : "a series' key is longer than \(SeriesTable.longestKey) bytes"
            let failure = Failure(.config, "\(reason): events of further ones still flow, but have no windows")
            sayOfItself(.error(failure), about: "series", at: moment)
        }
        counts.keptDropped = log.kept.dropped
        if keptShortage.grows(to: counts.keptDropped, at: moment.now) {
            let reason =
                "the newest lines of all series take more than \(log.kept.capacity) bytes (--kept-bytes): the oldest are"
                + " dropped, and readers that come later do not see them"
            sayOfItself(.error(Failure(.config, reason)), about: "kept", at: moment)
        }
        if endpointTable.isFull, endpointShortage.grows(to: counts.refusedEndpoints, at: moment.now) {
            let reason = "more than \(limits.endpoints) endpoints: further ones are asked, but have no statistics"
            sayOfItself(.error(Failure(.config, reason)), about: "endpoints", at: moment)
        }
        return next
    }

    // Bound: lines published at once, of an input that can wait or of windows that end | a quarter of the log, or one
    //   event | we wait for the lossless outputs first
    /// The growth of the log, in bytes, after which to wait for lossless outputs: the chunk begun then adds as much.
    package var slice: Int { log.capacity / 8 }

    @inline(__always)
    private mutating func publish(
        _ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>, _ prefix: UnsafeBufferPointer<UInt8>,
        _ moment: Moment
    ) {
        guard counts.data < mostData else { return }
        counts.data += 1
        let source = SourceID(index: Int(record.source))
        let time = limited(record.time, moment.wall)
        let key = record.lend(record.key, of: bytes)
        let text = record.lend(record.text, of: bytes)
        let data = record.lend(record.data, of: bytes)
        let value = record.value.isNaN ? nil : record.value
        var isPlain = false
        if let index = seriesIndex(source, kind: value == nil ? .text : .data, key: key, moment) {
            let hasWords: Bool
            (isPlain, hasWords) = series.flags(of: index)
            // These flags are all that words cost an event without one.
            if record.hasWord || hasWords {
                follow(record.lend(record.word, of: bytes), in: index, at: time)
            }
            if let value { self.record(value, in: index, at: time, moment) }
            // After the windows, which may have had lines.
            series.mark(index, log.nextSequence)
            log.kept.mark(index, sequence: log.nextSequence)
        } else if record.hasWord {
            follow(record.lend(record.word, of: bytes), in: nil, at: time)
        }
        let names = LineEncoder.Names(
            prefix: prefix, key: key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) }, isPlain: isPlain)
        let most = encoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
        log.append(atMost: most, at: moment.now) { sequence, writer in
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
            index.map { series.follow(text.map { Array($0) }, in: $0, at: time, since: currentSince) }
            ?? min(currentSince ?? time, time)
        if let text { encoder.setWord(text, since: since) }
    }

    /// Records a source's success by data, the first of some in a row.
    @inline(never)
    private mutating func confirmData(of source: SourceID, at time: Timestamp, _ moment: Moment) {
        sources.hear(from: source, at: moment.now.timestamp, answered: moment.wall)
        guard counts.data < mostData else { return }
        let time = isFuture(time, moment.wall) ? moment.wall : time
        sources.setState(.ok, of: source, stateTime(time, moment))
    }

    /// Makes further lines state a source's value pointer, if there is one.
    ///
    /// - Returns: the last members that lines had before; nil if nothing changes.
    @inline(never)
    private mutating func endLines(with pointer: String?, of source: Int32) -> [UInt8]? {
        guard let pointer, counts.data < mostData else { return nil }
        sources.setValuePointer(pointer, of: SourceID(index: Int(source)))
        let tail = encoder.tail
        encoder.setTail(LineEncoder.tail(valuePointer: pointer) + tail)
        return tail
    }

    /// The time of an event, or the clock's if the event is more than a window ahead of it, which is counted.
    @inline(__always)
    private mutating func limited(_ time: Timestamp, _ wall: Timestamp) -> Timestamp {
        guard isFuture(time, wall) else { return time }
        counts.future += 1
        return wall
    }

    /// The time from which a source's state counts: now for our own sources, the event's time for a fleet's.
    @inline(__always)
    private func stateTime(_ time: Timestamp, _ moment: Moment) -> Timestamp { currentMember < 0 ? moment.wall : time }

    /// Whether an event is more than a window ahead of the clock.
    @inline(__always)
    private func isFuture(_ time: Timestamp, _ wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds &+ width
    }

    /// Says that there is room again when nothing was refused for as long as the history.
    private mutating func reportRoom(_ moment: Moment) {
        if let recovery = seriesShortage.end(at: moment.now, after: limits.history) {
            sayOfItself(.recovered(recovery), about: "series", at: moment)
        }
        if let recovery = endpointShortage.end(at: moment.now, after: limits.history) {
            sayOfItself(.recovered(recovery), about: "endpoints", at: moment)
        }
        if let recovery = keptShortage.end(at: moment.now, after: limits.history) {
            sayOfItself(.recovered(recovery), about: "kept", at: moment)
        }
    }

    /// A limit that is reached, so that further items are refused.
    private struct Shortage: Sendable {
        private var count = 0
        private var last = LoopInstant(nanoseconds: 0)
        private var outage = Outage<Bool>()

        /// - Parameter count: the number of refusals so far.
        /// - Returns: whether to report them.
        mutating func grows(to count: Int, at now: LoopInstant) -> Bool {
            guard count > self.count else { return false }
            (self.count, last) = (count, now)
            return outage.fail(by: true, at: now)
        }

        /// Ends the shortage when nothing was refused for `time`; returns the recovery to report.
        mutating func end(at now: LoopInstant, after time: Duration) -> Recovery? {
            last.duration(to: now) >= time ? outage.end(at: now) : nil
        }
    }

    /// See `EventStore.sayOfItself`.
    mutating func sayOfItself(_ body: Event.Body, about topic: String, at moment: Moment) {
        let source = source(named: EventStore.ownName) ?? ownSource(at: moment.wall)
        publishOther(Event(time: moment.wall, source: source, body: body), moment)
        switch body {
        case .error(let failure):
            ownTroubles.removeAll { $0.topic == topic }
            ownTroubles.append((topic, failure))
        case .recovered:
            ownTroubles.removeAll { $0.topic == topic }
            guard let rest = ownTroubles.last else { return }
            publishOther(Event(time: moment.wall, source: source, body: .error(rest.failure)), moment)
        default: break
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
            if let index = seriesIndex(source, kind: .latency, key: nil, moment) {
                record(sample.ms, in: index, at: time, moment)
                log.kept.mark(index, sequence: log.nextSequence)
            }
            sources.countAnswer(sample.status, from: source)
            if sample.status == 304 { confirm(source, at: time, moment) }
            newestAnswer = log.nextSequence
            line = sample
        case .memory(let sample):
            if currentMember < 0 { memory = sample }
            if sources.state(of: source) == .starting { sources.setState(.ok, of: source, stateTime(time, moment)) }
            sources.hear(from: source, at: moment.now.timestamp)
            if let index = seriesIndex(source, kind: .memory, key: nil, moment) {
                record(Double(sample.resident), in: index, at: time, moment)
                log.kept.mark(index, sequence: log.nextSequence)
            }
            line = sample
        case .error(var failure):
            sources.fail(source, by: SourceFailure(failure, at: time), at: stateTime(time, moment))
            sources.countError(failure.code.rawValue, of: source)
            failure.endpoint = failure.endpoint.map { LineEncoder.cut($0) }
            failure.message = LineEncoder.message(failure.message)
            if let endpoint = failure.endpoint { updateEndpoint(endpoint, of: source, moment) { $0.recordErrors() } }
            newestReport = log.nextSequence
            line = failure
        case .answer(let answer): return complete(answer, of: source, at: time, moment)
        case .progress(let progress):
            for key in progress.gone { markGone(key, of: source, by: log.nextSequence, moment) }
            return publish(progress, of: source, at: time, moment)
        case .recovered(let recovery):
            // The answer itself follows.
            sources.setState(.ok, of: source, stateTime(time, moment))
            sources.hear(from: source, at: moment.now.timestamp)
            newestReport = log.nextSequence
            line = recovery
        case .restart(var restart):
            restart.lastRun = restart.lastRun.map { LineEncoder.cut($0) }
            restart.ended = restart.ended.map { LineEncoder.cut($0) }
            line = restart
        case .agent(let sample):
            agent = sample
            line = Line.Agent(sample, counts, events: log.nextSequence - 1, outputs: outputs)
        case .foreignAgent(var agent):
            agent.outputs = agent.outputs.prefix(64).map { output in
                var output = output
                output.output = LineEncoder.cut(output.output, at: Line.Output.longest)
                output.state = LineEncoder.cut(output.state, at: Line.Output.longest)
                return output
            }
            line = agent
        case .peer(let peer): line = peer
        case .lost(let lost): line = lost
        }
        append(line, about: sources.name(of: source.index), at: time, moment.now)
    }

    /// Publishes how far a source has come.
    private mutating func publish(_ progress: Progress, of source: SourceID, at time: Timestamp, _ moment: Moment) {
        confirm(source, at: time, moment)  // a page was complete, also one with nothing on it
        if let items = progress.items, let index = seriesIndex(source, kind: .count, key: nil, moment) {
            record(Double(items), in: index, at: time, moment)
            log.kept.mark(index, sequence: log.nextSequence)
        }
        newestReport = log.nextSequence
        append(progress, about: sources.name(of: source.index), at: time, moment.now)
    }

    /// Marks the series as gone that a complete answer does not have, and says so.
    private mutating func complete(
        _ answer: CompleteAnswer, of source: SourceID, at time: Timestamp, _ moment: Moment
    ) {
        var progress = answer.progress
        var gone: [String] = []
        // Of an answer that had more events than may be published, nothing is known.
        if counts.data < mostData {
            sources.completeAnswer(of: source)
            for index in series.markGone(of: source, before: answer.first, by: log.nextSequence) {
                for each in [index, series.twin(of: index) ?? index] { log.kept.remove(each) }
                gone.append(String(decoding: series.key(of: index) ?? [], as: UTF8.self))
            }
        }
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

    /// Marks the series of a source with this key as gone, because a line says so.
    private mutating func markGone(_ key: String, of source: SourceID, by sequence: Int, _ moment: Moment) {
        var indices = series.both(of: source, key: key)
        // Of a feed that is relayed or recorded, lines of an earlier run may come later.
        if indices.isEmpty, remote != nil, let index = seriesIndex(source, .text, key: key[...], moment) {
            indices = [index]
        }
        for index in indices {
            series.mark(index, -sequence)
            log.kept.remove(index)
        }
    }

    /// The series that are gone, by their sources' names and their keys.
    var gone: [GoneSeries] {
        series.gone.map { index in
            GoneSeries(
                source: sources.name(of: series[index].source),
                key: String(decoding: series.key(of: index) ?? [], as: UTF8.self))
        }
    }

    /// Whether the series of a kept line, of an event or of windows, is gone.
    func isGone(_ line: Line) -> Bool {
        let (name, kind): (String, SeriesKind)
        switch line.body {
        case .data(let data): (name, kind) = (data.series, data.value == nil ? .text : .data)
        case .window(let window): (name, kind) = (window.series, .data)
        default: return false
        }
        guard let source = line.source.flatMap({ self.source(named: $0) }),
            let key = FleetMember.key(of: name, in: self.name(of: source))
        else { return false }
        return Array(key.utf8).withUnsafeBytes { key in
            if let index = series.find(source, kind, key: key) { return series.isGone(index) }
            return series.find(source, kind == .data ? .text : .data, key: key).map { series[$0].newest < 0 } ?? false
        }
    }

    /// Marks a series as gone in a recorded feed whose earlier run said so, unless a later one has a line of it.
    mutating func recall(_ gone: GoneSeries, at moment: Moment) {
        guard let source = source(named: gone.source) else { return }
        let isThere = series.both(of: source, key: gone.key).contains {
            series[$0].newest > 0 || log.newestLine(of: $0) != nil
        }
        if !isThere { markGone(gone.key, of: source, by: max(1, log.nextSequence - 1), moment) }
    }

    /// Adds a line of anything but data to the log.
    private mutating func append(
        _ body: some LineBody, about source: String, at time: Timestamp, _ now: LoopInstant
    ) {
        log.append(atMost: encoder.most(body, source: source), at: now) { sequence, writer in
            encoder.line(body, sequence: sequence, time: time, source: source, to: writer)
        }
    }

    /// Records an answer without a line. A failing source stays so until a line reports its recovery.
    ///
    /// - Returns: whether it was the first time, which no line tells.
    mutating func recordAnswer(from source: SourceID, at moment: Moment) -> Bool {
        sources.hear(from: source, at: moment.now.timestamp)
        guard sources.state(of: source) == .starting else { return false }
        sources.setState(.ok, of: source, moment.wall)
        return true
    }

    /// Records a source's success other than our own data.
    private mutating func confirm(_ source: SourceID, at time: Timestamp, _ moment: Moment) {
        sources.setState(.ok, of: source, stateTime(time, moment))
        sources.hear(from: source, at: moment.now.timestamp, answered: moment.wall)
    }

    /// Records a source's success that a relayed line tells.
    @inline(__always)
    private mutating func confirm(_ source: SourceID, at time: Timestamp, _ sequence: Int) {
        guard sources.isNews(sequence, of: source) else { return }
        let clock = remote?.clock ?? time
        sources.setState(.ok, of: source, time)
        sources.hear(from: source, at: clock, answered: clock)
    }

    /// Updates an endpoint's histogram.
    private mutating func updateEndpoint(
        _ endpoint: String, of source: SourceID, _ moment: Moment,
        _ change: (inout LatencyHistogram) -> Void
    ) {
        let name = sources.name(of: source.index)
        lastGeneration += 1
        let share = currentMember < 0 ? Int.max : limits.memberEndpoints
        func update(_ state: inout FeedState) -> Bool {
            state.endpointTable.update(
                endpoint, of: source.index, named: name, owner: state.currentMember, atMost: share,
                generation: state.lastGeneration, change)
        }
        if update(&self) { return }
        let isShareUsed = endpointTable.count(of: currentMember) >= share
        if !isShareUsed, forget(Set(sources.released()), moment), update(&self) { return }
        counts.refusedEndpoints += 1
        if isShareUsed {
            refuse(.endpoints, "has more than \(share) endpoints: further ones have no statistics", moment)
        }
    }

    /// Refuses something beyond the current agent's limit, and reports that once.
    private mutating func refuse(_ refusal: FleetMember.Refusal, _ message: String, _ moment: Moment) {
        let id = MemberID(index: Int(currentMember))
        guard fleet[id].isFirst(refusal) else { return }
        let failure = Failure(.config, "\(fleet[id].name) \(message)")
        let name = fleet[id].ownName
        if let own = source(named: name) { sources.countError(failure.code.rawValue, of: own) }
        let tail = encoder.tail
        encoder.setTail(fleet[id].tail)
        newestReport = log.nextSequence
        append(failure, about: name, at: moment.wall, moment.now)
        encoder.setTail(tail)
    }

    // MARK: Series

    /// The series' index, added if it is new; nil when it cannot be added.
    @inline(__always)
    private mutating func seriesIndex(
        _ source: SourceID, kind: SeriesKind, key: UnsafeBufferPointer<UInt8>?, _ moment: Moment
    ) -> Int? {
        if let index = series.find(source, kind, key: key.map { .init($0) }) { return index }
        return addSeries(source, kind, key, moment)
    }

    /// The same for a key from a line.
    private mutating func seriesIndex(
        _ source: SourceID, _ kind: SeriesKind, key: Substring?, _ moment: Moment
    ) -> Int? {
        guard let key else { return seriesIndex(source, kind: kind, key: nil, moment) }
        return Array(key.utf8).withUnsafeBufferPointer { seriesIndex(source, kind: kind, key: $0, moment) }
    }

    /// Adds a new series; released sources make room for it if necessary.
    @inline(never)
    private mutating func addSeries(
        _ source: SourceID, _ kind: SeriesKind, _ key: UnsafeBufferPointer<UInt8>?, _ moment: Moment
    ) -> Int? {
        if kind == .text {
            let isShareUsed = currentMember >= 0 && series.texts(of: currentMember) >= limits.memberSeries
            if isShareUsed || series.isFull(of: .text) { removeTexts(isShareUsed: isShareUsed) }
        } else if currentMember >= 0, fleet[closings: currentMember].series.count >= limits.memberSeries {
            refusedForeignSeries += 1
            refuse(
                .windows,
                "has more than \(limits.memberSeries) series: events of further ones still flow, but have no windows",
                moment)
            return nil
        }
        // Every event of a series without room comes here: cheap when nothing was released.
        if series.isFull(of: kind) {
            forget(Set(sources.released()), moment)
            removeOutdated(moment)
        }
        lastGeneration += 1
        guard
            let index = series.add(
                source, kind, key: key.map { .init($0) }, owner: currentMember, generation: lastGeneration,
                ring: WindowRing(span(of: source.index)))
        else { return nil }
        if kind != .text { fleet[closings: currentMember].add(series: index) }
        log.kept.setOwner(currentMember, of: index)
        counts.series = series.count
        return index
    }

    /// Makes room for series without values, as the texts of a source may have other keys with each answer: those whose
    /// lines are gone, and those with the oldest lines, of the agent that has the most.
    ///
    /// - Parameter isShareUsed: whether the current agent has as many as it may have: then only its own make room.
    private mutating func removeTexts(isShareUsed: Bool) {
        let most = max(1, (isShareUsed ? limits.memberSeries : limits.series) / 8)
        let owner = isShareUsed ? currentMember : series.mostTexts(preferring: currentMember)
        func makesRoom(_ index: Int) -> Bool {
            series[index].source >= 0 && series[index].kind == .text && (!isShareUsed || series[index].owner == owner)
        }
        var gone = Set(series.indices.filter { makesRoom($0) && log.newestLine(of: $0) == nil })
        if gone.count < most {
            gone.formUnion(log.kept.oldest(atMost: most) { makesRoom($0) && series[$0].owner == owner })
        }
        removeSeries(gone.sorted())
    }

    /// Makes room for series with values: those that their source no longer has, and whose windows the history no longer shows.
    private mutating func removeOutdated(_ moment: Moment) {
        guard remote == nil, lastSweep.map({ moment.now >= $0.advanced(by: .seconds(1)) }) ?? true else { return }
        lastSweep = moment.now
        let gone = series.indices.filter { index in
            let each = series[index]
            return each.source >= 0 && each.kind == .data && each.ring.held.isEmpty
                && !isCurrent(index, log.kept.newest(of: index), at: moment.wall) { each.ring.newest?.lastTime }
        }
        removeSeries(gone)
    }

    /// The windows that are held of a source. Those of a relayed feed arrive as lines: of a source whose windows are not
    /// kept longer than lines, only the newest value is needed.
    private func span(of source: Int) -> WindowSpan {
        let span = WindowSpan(sources.rhythm(of: source), interval: interval, history: history)
        if remote == nil || span.width > interval { return span }
        return WindowSpan(.stream, interval: max(.seconds(1), history), history: history)
    }

    /// Replaces the windows of sources whose rhythm has changed, after emitting their last lines.
    ///
    /// - Parameter source: the source to look at; nil for all.
    mutating func fitWindows(of source: SourceID? = nil, at moment: Moment) {
        for index in series.indices where series[index].source >= 0 {
            guard source.map({ $0.index == series[index].source }) ?? true else { continue }
            let span = span(of: series[index].source)
            let ring = series[index].ring
            guard (ring.width, ring.history) != (span.width.microseconds, span.history.microseconds) else { continue }
            flush(index, moment, isComplete: true)
            series[index].ring = WindowRing(span, after: series[index].ring.newest)
        }
    }

    /// The `kept` line of the closed windows of a series that are kept longer than lines; nil when there are none.
    func windowsLine(of index: Int, in run: String, at moment: (wall: Timestamp, feed: Timestamp)) -> [UInt8]? {
        guard series.indices.contains(index), series[index].source >= 0, series[index].kind != .text,
            hasLongWindows(series[index].source), let newest = series[index].ring.newest,
            isCurrent(index, log.kept.newest(of: index), at: moment.feed, { newest.lastTime })
        else { return nil }
        let ring = series[index].ring
        let windows = ring.held.filter { isKept($0, of: ring, at: moment.feed) }
        if windows.isEmpty { return nil }
        return ControlLine.kept(
            time: moment.wall, run: run, windows: windows, width: ring.width,
            names: windowNames(of: index) + fleet.tail(of: series[index].owner))
    }

    /// The number of series, and of those that were removed.
    var seriesCount: Int { series.indices.count }

    /// Whether a window has closed and the history still shows it.
    private func isKept(_ window: Window, of ring: WindowRing, at now: Timestamp) -> Bool {
        let end = ring.end(of: window)
        return end <= now && end.microseconds > now.microseconds.subtractingSaturated(ring.history)
    }

    /// Whether the windows of a source are kept longer than lines.
    private func hasLongWindows(_ source: Int) -> Bool {
        WindowSpan(sources.rhythm(of: source), interval: interval, history: history).width > interval
    }

    /// `"source":"…","series":"…"`, for the lines of a series' windows.
    private func windowNames(of index: Int) -> [UInt8] {
        let source = sources.name(of: series[index].source)
        var name = Array((series[index].kind.prefix + source).utf8)
        if let key = series.key(of: index) { name += [UInt8(ascii: "/")] + key }
        return LineWriter.bytes(atMost: 32 + LineWriter.mostEscaped(source.utf8.count + name.count)) { writer in
            writer.raw("\"source\":")
            writer.string(source)
            writer.raw(",\"series\":")
            name.withUnsafeBufferPointer { writer.string($0) }
        }
    }

    // MARK: Walks

    /// A walk over the current items.
    func walk(of run: String) -> FeedWalk { FeedWalk(run: run, limit: lastGeneration + 1) }

    /// Returns the next source of a walk, including retired ones.
    ///
    /// - Parameter time: now, by the clock used for `SourceTable.hear`.
    func nextSource(_ walk: inout FeedWalk, at time: Timestamp) -> SourceNumbers? {
        sources.next(&walk, at: time, window: interval)
    }

    /// Returns the next endpoint of a walk.
    func nextEndpoint(_ walk: inout FeedWalk) -> EndpointStatistics? { endpointTable.next(&walk) }

    /// Returns the next series of a walk that has a value which still says something.
    func nextSeries(_ walk: inout FeedWalk, at time: Timestamp) -> SeriesNumbers? {
        while let index = series.next(&walk) {
            guard let window = series[index].ring.newest,
                isCurrent(index, log.kept.newest(of: index), at: time, { window.lastTime })
            else { continue }
            let source = sources.name(of: series[index].source)
            return SeriesNumbers(
                source: source, kind: series[index].kind, name: source, key: series.key(of: index), value: window.last,
                time: window.lastTime,
                word: series.word(of: index)?[...])
        }
        return nil
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
        fleet[closings: -1].notice(wall, width: width)
    }

    /// Emits the lines of our ended windows, if `notice` has found any.
    ///
    /// - Parameter growth: the growth of the log, in bytes, after which to stop for now; see `slice`.
    /// - Returns: whether there may be more.
    @discardableResult
    package mutating func closeWindows(atMost growth: Int = .max, at moment: Moment) -> Bool {
        guard fleet[closings: -1].next != nil else { return false }
        closeWindows(of: -1, until: log.totalCost.addingSaturated(growth), moment)
        let hasMore = fleet[closings: -1].next != nil
        if !hasMore {
            let past = moment.now.advanced(by: .zero - limits.history - limits.interval)
            forget(Set(sources.released(before: past)), moment)
            reportRoom(moment)
        }
        log.expire(at: moment.now)
        return hasMore
    }

    /// Emits the lines of an agent's ended windows until the log has this size.
    private mutating func closeWindows(of owner: Int32, until end: Int, _ moment: Moment) {
        guard var next = fleet[closings: owner].next else { return }
        let time = fleet[closings: owner].time(at: moment)
        let looksAtAll = fleet[closings: owner].looksAtAll
        while log.totalCost < end, next < fleet[closings: owner].series.count {
            let index = fleet[closings: owner].series[next]
            if looksAtAll || series[index].ring.nextDue.map({ $0 <= time }) == true { flush(index, moment) }
            next += 1
        }
        fleet[closings: owner].close(before: next)
    }

    /// Closes the windows of all agents of a fleet that have ended by each agent's clock.
    ///
    /// - Parameter growth: the growth of the log, in bytes, after which to stop for now.
    /// - Returns: whether there may be more.
    mutating func closeMemberWindows(atMost growth: Int, at moment: Moment) -> Bool {
        let end = log.totalCost.addingSaturated(growth)
        for member in 0..<Int32(fleet.count) {
            guard log.totalCost < end else { return true }
            closeMemberWindows(of: member, until: end, moment)
        }
        return log.totalCost >= end
    }

    private mutating func closeMemberWindows(of member: Int32, until end: Int, _ moment: Moment) {
        _ = fleet[closings: member].notice(fleet[closings: member].time(at: moment), width: width)
        closeWindows(of: member, until: end, moment)
    }

    /// The end of the window that contains `wall`.
    package func nextBoundary(after wall: Timestamp) -> Timestamp {
        return Window.end(of: Window.index(of: wall, width: width), width: width)
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
        let start = log.totalCost
        let some = source.map { fleet[closings: sources.owner(of: $0.index)].series }
        let count = some?.count ?? series.indices.count
        // Starts over each time, because its series may have moved when others of the agent were forgotten: completed
        // ones have nothing left to emit.
        var position = some == nil ? first : 0
        while position < count, position == first || log.totalCost - start < growth {
            let index = some?[position] ?? position
            if source == nil || series[index].source == source?.index { flush(index, moment, isComplete: true) }
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
        let (clock, openSince) = fleet.times(of: currentMember, or: moment.wall)
        let outcome = series.record(value, in: index, at: time, sequence: log.nextSequence, now: clock)
        if outcome == .recorded, time.microseconds >= openSince.microseconds { return }
        finishRecording(value, in: index, at: time, outcome, moment)
    }

    /// Counts a value that is late, or whose window has closed; records it after all if its ring was full.
    @inline(never)
    private mutating func finishRecording(
        _ value: Double, in index: Int, at time: Timestamp, _ outcome: WindowRing.Outcome, _ moment: Moment
    ) {
        let (clock, openSince) = fleet.times(of: currentMember, or: moment.wall)
        var outcome = outcome
        if outcome == .full {
            // Cannot happen again right after a flush, which the ring's documentation promises.
            flush(index, moment)
            outcome = series.record(value, in: index, at: time, sequence: log.nextSequence, now: clock)
        }
        if outcome == .late {
            counts.late += 1
        } else if time < openSince {
            // Its window has closed already: its line is emitted again, after the batch.
            revisions += 1
            if revised.last != index { revised.append(index) }
        }
    }

    /// Says again what late events have changed.
    private mutating func flushRevised(_ moment: Moment) {
        guard !revised.isEmpty else { return }
        for index in revised {
            let end = fleet[closings: series[index].owner].time(at: moment)
            if let due = series[index].ring.nextDue, due <= end { flush(index, moment) }
        }
        revised.removeAll(keepingCapacity: true)
    }

    private mutating func flush(_ index: Int, _ moment: Moment, isComplete: Bool = false) {
        // Its place is free, or its windows come as lines, or nothing is left to emit.
        guard series[index].source >= 0, remote == nil, !isComplete || series[index].ring.hasChanges else { return }
        // Takes the ring out while it lends its windows, so that the log can be appended to; another ring replaces it,
        // or its memory would be shared and copied.
        let width = series[index].ring.width
        var ring = WindowRing(width: .microseconds(width))
        swap(&ring, &series[index].ring)
        let owner = series[index].owner
        let time = fleet[closings: owner].time(at: moment)
        let clock = fleet[closings: owner].told(or: moment.wall)
        // It may stand in the middle of what comes from another agent.
        let tail = encoder.tail
        encoder.setTail(fleet.tail(of: owner))
        defer { encoder.setTail(tail) }
        let scale = series[index].kind == .data ? sources.bands(of: series[index].source) : nil
        windowNames(of: index).withUnsafeBufferPointer { names in
            func emit(_ window: Window) {
                let band = scale.map { $0.labels[$0.scale.index(of: window.last)] }
                let most = LineEncoder.mostWindow(names: names.count, band: band?.count ?? 0) + encoder.tailCount
                log.append(atMost: most, at: moment.now) { sequence, writer in
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
        series[index].ring = ring
    }

    // MARK: Agents whose feeds are sources

    /// Makes room for a new agent's names by forgetting released sources.
    ///
    /// - Returns: the source that keeps it from being called so, as it has that name or that of one of the agent's; nil when
    ///   none does.
    mutating func makeRoom(forAgent name: String, at moment: Moment) -> String? {
        while let other = sources.source(named: name) ?? sources.source(headedBy: name) {
            guard sources.isReleased(other) else { return self.name(of: other) }
            forget([other.index], moment)
        }
        return nil
    }

    /// Makes room for a source of our own in the same way.
    ///
    /// - Returns: the agent whose source has that name; nil when none does.
    mutating func makeRoom(forSource name: String, at moment: Moment) -> MemberID? {
        guard let known = source(named: name), let owner = owner(of: known) else { return nil }
        guard sources.isReleased(known) else { return owner }
        forget([known.index], moment)
        return nil
    }

    /// The agent that a source belongs to; nil for our own sources.
    func owner(of source: SourceID) -> MemberID? {
        let owner = sources.owner(of: source.index)
        return owner < 0 ? nil : MemberID(index: Int(owner))
    }

    /// The sources of an agent.
    func sources(of member: MemberID) -> [SourceID] {
        sources.sources(of: member, named: fleet[member].name)
    }

    func name(of source: SourceID) -> String { sources.name(of: source.index) }

    /// The agent's own name of one of its sources.
    func ownName(of source: SourceID, of member: MemberID) -> String {
        String(Substring(name(of: source).utf8.dropFirst(fleet[member].name.utf8.count + 1)))
    }

    func type(of source: SourceID) -> String? { sources.type(of: source) }

    func rhythm(of source: SourceID) -> Rhythm { sources.rhythm(of: source.index) }

    /// The agent's source with this own name; nil when it is unknown here.
    func source(named name: String, of member: MemberID) -> SourceID? {
        sources.source(named: "\(fleet[member].name).\(name)").flatMap { owner(of: $0) == member ? $0 : nil }
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
            let rhythm = rhythm(of: known)
            let isNews = sources.describe(known, as: description, at: time)
            if rhythm != description.rhythm { fitWindows(of: known, at: moment) }
            return (known, isNews)
        }
        if let other = sources.source(named: description.name) {
            guard sources.isReleased(other) else { return nil }
            forget([other.index], moment)
        }
        let id = register(description, at: time)
        sources.setOwner(member, of: id)
        return (id, true)
    }

    /// Sets the state that an agent reports for one of its sources.
    mutating func setState(_ status: SourceStatus, of source: SourceID, at time: Timestamp) {
        sources.setState(status, of: source, at: time)
    }

    /// What comes now is from there.
    private mutating func listen(to origin: LineOrigin, at time: Timestamp, _ moment: Moment) {
        let member = Int32(origin.member.index)
        if let clock = origin.clock {
            fleet[closings: member].hear(clock, at: moment.now)
            closeMemberWindows(of: member, until: log.totalCost.addingSaturated(slice), moment)
        }
        (currentMember, currentSince) = (member, origin.since)
        encoder.setTail(
            origin.line.map {
                LineEncoder.tail(
                    agent: fleet[origin.member].name, $0, stream: origin.stream,
                    time: isFuture(time, moment.wall) ? time : nil)
            } ?? fleet.tail(of: member))
    }

    /// What comes now is our own again.
    private mutating func endListening() {
        (currentMember, currentSince) = (-1, nil)
        encoder.setTail([])
    }

    // MARK: Lines

    /// Keeps lines from this sequence number, however old they are.
    mutating func hold(from sequence: Int) { log.heldFrom = sequence }

    /// Whether a line that is its series' newest still says something: the series is not gone, and the log has the line, or it
    /// is no older than its source's `keep`. Without that, it is less than a day old if the source gives no complete answers.
    ///
    /// - Parameters:
    ///   - now: by the clock of the agent that the feed belongs to.
    ///   - time: returns the line's time.
    private func isCurrent(_ index: Int, _ sequence: Int, at now: Timestamp, _ time: () -> Timestamp?) -> Bool {
        guard !series.isGone(index) else { return false }
        // A relayed agent knows its sources' answers, and has chosen.
        guard remote == nil, series[index].kind == .data || series[index].kind == .text else { return true }
        if let keep = sources.keep(series[index].source) {
            return sequence >= log.firstSequence || time().map { now - $0 < keep } ?? false
        }
        if sequence >= log.firstSequence || sources.givesWholeAnswers(series[index].source) { return true }
        let longest = max(Self.longestKept, lookback(of: SourceID(index: series[index].source)))
        return time().map { now - $0 < longest } ?? false
    }

    /// The same for a line.
    func isCurrent(_ index: Int, _ sequence: Int, at now: Timestamp, of line: [UInt8]) -> Bool {
        isCurrent(index, sequence, at: now) { line.withUnsafeBytes { LineHead($0)?.time } }
    }

    /// The number of the newest of the lines below `end` that readers get as kept ones; nil for none.
    func newestKept(before end: Int, at now: Timestamp) -> Int? {
        log.kept.newest(before: end) { series, sequence in
            isCurrent(series, sequence, at: now) {
                log.kept.line(of: series)?.withUnsafeBytes { LineHead($0)?.time }
            }
        }
    }

    /// Whether there is a line of an event, in the log or kept, but of an earlier run of our own.
    var hasEvents: Bool {
        series.indices.contains { index in
            guard series[index].kind == .data || series[index].kind == .text else { return false }
            let isForeign = remote != nil || series[index].owner >= 0
            return log.kept.newest(of: index) > 0 || isForeign && log.kept.line(of: index) != nil
        }
    }

    // Bound: age of the newest line of a source without complete answers, such as a stream | a day, or three periods | left
    //   out
    private static let longestKept = Duration.seconds(86_400)

    /// Keeps the line of an agent's event, which has no number here, if it is its series' newest.
    ///
    /// - Parameters:
    ///   - batch: one event.
    ///   - isMissed: whether it is newer than the agent's numbered lines that came.
    /// - Returns: whether it is kept.
    mutating func keep(_ batch: EventBatch, isMissed: Bool, at moment: Moment) -> Bool {
        guard let record = batch.records.first, let origin = batch.origins.first else { return false }
        listen(to: origin, at: record.time, moment)
        defer { endListening() }
        let source = SourceID(index: Int(record.source))
        let time = isFuture(record.time, moment.wall) ? moment.wall : record.time
        guard
            let (index, value, line) = record.other < 0
                ? foreignDatum(record, batch, at: time, moment)
                : foreignLine(batch.others[Int(record.other)].body, of: source, at: time, moment),
            let line = LineMending.nestable(line.dropLast())
        else { return false }
        guard keepForeign(line, in: index, at: time, isMissed: isMissed) else { return false }
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
        series.recall(index, sequence: sequence)
        guard let value, series[index].ring.newest.map({ $0.lastTime < time }) ?? true else { return }
        if remote != nil { return keep(value, in: index, at: time, sequence) }
        let isOwn = currentMember < 0
        let window = Window(
            restored: value, index: Window.index(of: time, width: series[index].ring.width), time: time,
            sequence: isOwn ? 0 : log.nextSequence - 1)
        if isOwn { return series[index].ring.remember(window) }
        if series[index].ring.restore(window) { return }
        // Its window has values from lines, or there is no room.
        flush(index, moment)
        if series[index].ring.restore(window) { return }
        _ = series.record(value, in: index, at: time, sequence: log.nextSequence - 1, now: time)
    }

    /// The series and the line, which has the number 0, of an agent's data event; nil when there is no room for the series.
    private mutating func foreignDatum(
        _ record: EventBatch.Record, _ batch: EventBatch, at time: Timestamp, _ moment: Moment
    ) -> (index: Int, value: Double?, line: [UInt8])? {
        let source = SourceID(index: Int(record.source))
        let value = record.value.isNaN ? nil : record.value
        let prefix = sources.prefix(of: source.index, type: batch.origins[0].type)
        return batch.bytes.withUnsafeBufferPointer { bytes in
            prefix.withUnsafeBufferPointer { prefix in
                let (key, text, data) = (
                    record.lend(record.key, of: bytes), record.lend(record.text, of: bytes),
                    record.lend(record.data, of: bytes)
                )
                guard let index = seriesIndex(source, kind: value == nil ? .text : .data, key: key, moment) else {
                    return nil
                }
                let names = LineEncoder.Names(
                    prefix: prefix, key: key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) },
                    isPlain: series[index].isPlain)
                follow(record.lend(record.word, of: bytes), in: index, at: time)
                let most = encoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
                let line = LineWriter.bytes(atMost: most) {
                    $0 = encoder.datum(
                        value: value, text: text, data: data, flaws: record.flaws, sequence: 0, time: time,
                        names: names, to: $0)
                }
                return (index, value, line)
            }
        }
    }

    /// The same for an answer or a sample of memory.
    private mutating func foreignLine(
        _ body: Event.Body, of source: SourceID, at time: Timestamp, _ moment: Moment
    ) -> (index: Int, value: Double?, line: [UInt8])? {
        func line(_ body: some LineBody) -> [UInt8] {
            let name = sources.name(of: source.index)
            return LineWriter.bytes(atMost: encoder.most(body, source: name)) {
                $0 = encoder.line(body, sequence: 0, time: time, source: name, to: $0)
            }
        }
        switch body {
        case .latency(var sample):
            sample.endpoint = LineEncoder.cut(sample.endpoint)
            sample.ms = LineWriter.readBack(milliseconds: sample.ms)
            return seriesIndex(source, kind: .latency, key: nil, moment).map { ($0, sample.ms, line(sample)) }
        case .memory(let sample):
            return seriesIndex(source, kind: .memory, key: nil, moment).map {
                ($0, Double(sample.resident), line(sample))
            }
        case .progress(var progress):
            guard let items = progress.items else { return nil }
            progress.gone = []
            return seriesIndex(source, kind: .count, key: nil, moment).map { ($0, Double(items), line(progress)) }
        default: return nil
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
        if let known = log.newestLine(of: index) {
            // Those of earlier runs come newest run first, whatever the times of their events are.
            if isEarlier { return false }
            let last = known.withUnsafeBytes { LineHead($0)?.time }
            guard last.map({ $0 < time }) ?? true || isMissed && known != line else { return false }
        }
        return log.kept.add(foreign: line, of: index, next: log.nextSequence)
    }

    /// Keeps a kept line of a source that is listed: one of the relayed feed, or, without a number in this run, of an agent
    /// of the relayed fleet or of an earlier run.
    ///
    /// - Returns: its number, 0 for none; nil if it is no kept line for readers here.
    mutating func keep(_ kept: Line.Kept, at moment: Moment) -> Int? {
        let (line, time) = (kept.line, kept.line.time)
        guard let sequence = line.seq else { return nil }
        if sequence == 0 {
            guard line.isForwarded, remote != nil || isRecent(line, at: moment.wall) else { return nil }
        } else {
            guard let end = remote?.keptEnd, sequence < end else { return nil }
            remote?.lastKept = sequence
            if sequence >= log.nextSequence {
                // Missed while the connection was away: a line of the log, between gaps for the others.
                relay(RelayedLine(line, bytes: kept.bytes), at: moment)
                remote?.keptEnd = end
                return nil
            }
            guard log.kept.accepts(sequence, before: log.firstSequence) else { return nil }
        }
        let isEarlier = sequence == 0 && line.agent == nil
        guard line.flaws.isEmpty, let (index, value) = keptSeries(of: line, moment), !isEarlier || mayRecall(index),
            sequence == 0
                || log.kept.add(Array(kept.bytes), of: index, sequence: sequence, before: log.firstSequence)
        else { return nil }
        if case .data(let data) = line.body {
            let word = data.word.map { Array($0.utf8) }
            if remote != nil {
                _ = series.follow(word, in: index, at: time, since: data.since)
            } else {
                series.restore(word, in: index, at: time, since: data.since) { log.newestTime(of: $0) }
            }
        }
        guard sequence > 0 || keepForeign(Array(kept.bytes), in: index, at: time, isEarlier: isEarlier) else {
            return nil
        }
        restore(value, in: index, at: time, sequence, moment)
        return sequence
    }

    /// Whether a series may still be there because it was in an earlier run: it is not gone, nor missing in a complete answer
    /// that came first. The next one says then that it is gone.
    private func mayRecall(_ index: Int) -> Bool {
        guard !series.isGone(index) else { return false }
        let isTold = remote == nil && series.key(of: index) != nil && sources.givesWholeAnswers(series[index].source)
        return !isTold || series.isHeard(index)
    }

    /// The series of a kept line of a source that is listed, and the line's value; nil when there is none.
    private mutating func keptSeries(of line: Line, _ moment: Moment) -> (index: Int, value: Double?)? {
        guard let source = line.source.flatMap({ listedSource(named: $0) }) else { return nil }
        switch line.body {
        case .data(let data):
            return remoteSeries(of: source, data.value == nil ? .text : .data, data.series, moment).map {
                ($0, data.value)
            }
        case .latency(let sample): return remoteSeries(of: source, .latency, nil, moment).map { ($0, sample.ms) }
        case .memory(let sample):
            return remoteSeries(of: source, .memory, nil, moment).map { ($0, Double(sample.resident)) }
        case .progress(let progress):
            guard let items = progress.items else { return nil }
            return remoteSeries(of: source, .count, nil, moment).map { ($0, Double(items)) }
        default: return nil
        }
    }

    /// Whether a line of an earlier run is recent enough to be kept. The clock may have been ahead then.
    private func isRecent(_ line: Line, at now: Timestamp) -> Bool {
        guard let source = line.source.flatMap({ listedSource(named: $0) }), !isFuture(line.time, now) else {
            return false
        }
        return now - line.time < lookback(of: source)
    }

    /// How far back to look for the lines of a source in earlier runs.
    private func lookback(of source: SourceID) -> Duration {
        max(WindowSpan.lookback(for: rhythm(of: source), history: limits.history), sources.keep(source.index) ?? .zero)
    }

    /// The same for all sources.
    var lookback: Duration {
        statuses.compactMap { source(named: $0.source) }.map { lookback(of: $0) }.max() ?? limits.history
    }

    /// The source of the feed with this name that is listed, and not an agent's of our fleet.
    private func listedSource(named name: String) -> SourceID? {
        sources.source(named: name).flatMap { isRetired($0) || owner(of: $0) != nil ? nil : $0 }
    }

    /// Restores the windows of another agent's series, or of an earlier run.
    ///
    /// - Parameter member: the agent of our fleet; nil for the one whose feed is relayed, and for our own.
    /// - Returns: the series' index; nil if there are no new windows for readers here.
    mutating func restore(_ kept: Line.Kept, of member: MemberID?, at moment: Moment) -> Int? {
        guard case .window(let newest) = kept.line.body, let name = kept.line.source else { return nil }
        let named = member.map { source(named: name, of: $0) } ?? listedSource(named: name)
        guard let named, !isRetired(named), hasLongWindows(named.index) else { return nil }
        let kind = SeriesKind.prefixed.first { newest.series == $0.prefix + name } ?? .data
        let key = kind == .data ? FleetMember.key(of: newest.series, in: name) : nil
        guard key != nil || newest.series == kind.prefix + name else { return nil }
        currentMember = member.map { Int32($0.index) } ?? -1
        defer { currentMember = -1 }
        guard let index = seriesIndex(named, kind, key: key, moment),
            series[index].ring.width == newest.width.microseconds, member != nil || mayRecall(index)
        else {
            return nil
        }
        // Those of a relayed feed are let go of here only.
        let now = remote == nil ? fleet[closings: currentMember].time(at: moment) : remote?.clock ?? moment.wall
        if remote == nil { flush(index, moment) } else { series[index].ring.flush(now: now) { _ in } }
        var isNew = false
        for window in kept.windows {
            // Numbers of an agent of a fleet, or of an earlier run, are none of this run.
            let isOwn = remote == nil && member == nil
            let window = Window(
                window, sequence: remote == nil ? 0 : newest.lastSeq, from: isOwn ? .earlierRun : .otherAgent)
            if isKept(window, of: series[index].ring, at: now), series[index].ring.restore(window) { isNew = true }
        }
        return isNew ? index : nil
    }

    /// Drops lines that are too old.
    mutating func expire(at now: LoopInstant) { log.expire(at: now) }

    // MARK: The relayed feed

    /// Sets whether the connection of the relayed feed is open.
    mutating func setConnected(_ isConnected: Bool) { remote?.isConnected = isConnected }

    /// Records that lines of the relayed feed arrived.
    mutating func hear(at now: LoopInstant) { remote?.heard = now }

    /// Starts a run of the relayed feed, and drops everything of the previous one.
    mutating func begin(with hello: Line.Hello) {
        guard let old = remote else { return }
        var new = RemoteFeed(mostAgents: limits.members)
        (new.isConnected, new.heard) = (old.isConnected, old.heard)
        remote = new
        sources = SourceTable()
        fleet[closings: -1] = WindowClosings()
        series = SeriesTable(limit: limits.series)
        endpointTable = EndpointTable(limit: limits.endpoints)
        (memory, agent) = (nil, nil)
        log.restart(at: hello.firstSeq)
    }

    /// Applies a line of the relayed agent that has no sequence number.
    ///
    /// - Returns: whether the descriptions of its sources have changed.
    mutating func applyUnnumbered(_ line: Line) -> Bool {
        let (last, clock) = (remote?.lastSequence ?? 0, remote?.clock)
        remote?.apply(line)
        switch line.body {
        case .stats(let stats) where stats.asOf >= last:
            let (isNews, refused) = sources.list(
                stats.sources, asOf: stats.asOf, heard: clock, at: line.time, generation: &lastGeneration,
                atMost: limits.remoteSources)
            remote?.rebase(on: stats, refused: refused)
            endpointTable.list(
                stats.endpoints.compactMap { endpoint in
                    remoteSource(endpoint.source, isListed: false, at: line.time).map {
                        (endpoint, $0.index, sources.name(of: $0.index))
                    }
                }, generation: &lastGeneration)
            return isNews
        case .gap(let gap): skip(through: gap.to)
        default: break
        }
        return false
    }

    /// Skips sequence numbers that the relayed agent has no lines for.
    private mutating func skip(through sequence: Int) {
        if sequence >= log.nextSequence, sequence < .max { log.skip(to: sequence + 1) }
    }

    /// Adds a relayed line unchanged, or without parts that some readers could not read, unless it is here already.
    ///
    /// - Parameter plain: the line as a plain one, if it is one.
    mutating func relay(_ relayed: RelayedLine, plain: PlainLine? = nil, at moment: Moment) {
        guard let sequence = relayed.line.seq, sequence >= log.nextSequence, sequence < .max else { return }
        guard let bytes = relayed.line.flaws.isEmpty ? relayed.bytes : LineMending.mended(relayed) else {
            return skip(through: sequence)
        }
        remote?.apply(relayed.line, sequence: sequence)
        let meaning = apply(relayed.line, sequence, moment)
        bytes.withUnsafeBufferPointer { bytes in
            if let plain, let meaning {
                remote?.names.learn(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[plain.names])), meaning)
            }
            append(bytes, sequence, moment.now)
        }
    }

    /// Applies a line to the same tables as our own events.
    ///
    /// - Returns: the meaning of its names, for plain lines with the same names.
    private mutating func apply(_ line: Line, _ sequence: Int, _ moment: Moment) -> PlainNames.Meaning? {
        let time = line.time
        let isCounted = sequence > remote?.asOf ?? 0
        switch line.body {
        case .data(let data):
            counts.data += 1
            if data.valuePointer != nil { (newestReport, newestPointer) = (sequence, sequence) }
            guard let source = remoteSource(line.source, at: time) else { return nil }
            var meaning = PlainNames.Meaning(source: source)
            let index = remoteSeries(of: source, data.value == nil ? .text : .data, data.series, moment)
            if data.value == nil { meaning.text = index } else { meaning.series = index }
            meaning.isRefused = index == nil
            if let index, let word = data.word {
                _ = series.follow(Array(word.utf8), in: index, at: time, since: data.since)
            }
            apply(data.value, .data, meaning, time, sequence, moment, hasWord: data.word != nil)
            if isCounted, let pointer = data.valuePointer { sources.setValuePointer(pointer, of: source) }
            return meaning
        case .latency(let sample):
            newestAnswer = sequence
            guard let source = remoteSource(line.source, at: time) else { return nil }
            let endpoint = LineEncoder.cut(sample.endpoint)
            updateEndpoint(endpoint, of: source, moment) { _ in }
            let series = remoteSeries(of: source, .latency, nil, moment)
            let meaning = PlainNames.Meaning(
                source: source, series: series, endpoint: endpointTable.index(of: endpoint, source: source.index),
                isConfirmation: sample.status == 304, isRefused: series == nil)
            apply(sample.ms, .latency, meaning, time, sequence, moment)
            return meaning
        case .error(let failure):
            newestReport = sequence
            guard let source = remoteSource(line.source, at: time) else { return nil }
            if isCounted, let endpoint = failure.endpoint {
                updateEndpoint(LineEncoder.cut(endpoint), of: source, moment) { $0.recordErrors() }
            }
            if sources.isNews(sequence, of: source) {
                sources.fail(source, by: SourceFailure(failure, at: time), at: time)
            }
        case .progress(let progress):
            newestReport = sequence
            guard let source = remoteSource(line.source, at: time) else { return nil }
            confirm(source, at: time, sequence)
            for key in progress.gone { markGone(key, of: source, by: sequence, moment) }
            if let items = progress.items, let index = remoteSeries(of: source, .count, nil, moment) {
                keep(Double(items), in: index, at: time, sequence)
                log.kept.mark(index, sequence: sequence)
            }
        case .recovered:
            newestReport = sequence
            guard let source = remoteSource(line.source, at: time), sources.isNews(sequence, of: source) else { break }
            sources.setState(.ok, of: source, time)
            sources.hear(from: source, at: remote?.clock ?? time)
        case .memory(let sample):
            // It adds no source.
            if line.agent == nil { memory = sample }
            guard let source = line.source.flatMap({ sources.source(named: $0) }) else { return nil }
            if let index = remoteSeries(of: source, .memory, nil, moment) {
                keep(Double(sample.resident), in: index, at: time, sequence)
                log.kept.mark(index, sequence: sequence)
            }
            if sources.state(of: source) == .starting {
                sources.setState(.ok, of: source, time)
                sources.hear(from: source, at: remote?.clock ?? time)
            }
        case .agent(let said):
            if line.agent == nil { agent = AgentSample(loopLag: said.loopLag, cpu: said.cpu) }
        default: break  // says nothing of a source of the agent's
        }
        return nil
    }

    /// Adds a plain line whose names are known; false when it needs decoding.
    @inline(__always)
    mutating func relay(_ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, at moment: Moment) -> Bool {
        guard line.sequence >= log.nextSequence else { return true }
        if line.kind == .window {
            remote?.advance(to: line.time, onlyForward: false)
        } else {
            let names = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[line.names]))
            guard let meaning = remote?.names.meaning(of: names),
                (line.value == nil ? meaning.text : meaning.series) != nil || meaning.isRefused
            else { return false }
            remote?.advance(to: line.time, onlyForward: line.kind == .data)
            if line.kind == .data { counts.data += 1 } else { newestAnswer = line.sequence }
            apply(line.value, line.kind, meaning, line.time, line.sequence, moment)
        }
        remote?.lastSequence = line.sequence
        remote?.keptEnd = 0
        append(bytes, line.sequence, moment.now)
        return true
    }

    /// Applies an event or an answer.
    @inline(__always)
    private mutating func apply(
        _ value: Double?, _ kind: PlainLine.Kind, _ meaning: PlainNames.Meaning, _ time: Timestamp, _ sequence: Int,
        _ moment: Moment, hasWord: Bool = false
    ) {
        if let value, let index = meaning.series { keep(value, in: index, at: time, sequence) }
        if let index = value == nil ? meaning.text : meaning.series {
            series.mark(index, sequence)
            if !hasWord, series[index].hasWords { _ = series.follow(nil, in: index, at: time, since: nil) }
            log.kept.mark(index, sequence: sequence)
        }
        if let value, let index = meaning.endpoint, sequence > remote?.asOf ?? 0 {
            endpointTable.record(value, at: index)
        }
        // A data line may have its event's time: the latency line behind it has the answer's.
        if sources.isAnswer(kind, of: meaning.source) || meaning.isConfirmation {
            confirm(meaning.source, at: time, sequence)
        }
    }

    /// The source of the relayed feed with this name, added if it is new; nil when the limit is reached.
    private mutating func remoteSource(_ name: String?, isListed: Bool = true, at time: Timestamp) -> SourceID? {
        sources.find(
            name ?? "", isListed: isListed, at: time, generation: &lastGeneration, atMost: limits.remoteSources)
    }

    /// The index of a series of the relayed feed; nil when there is no room for it.
    ///
    /// - Parameter name: the name of an event's series. One that does not start with its source's name is from no
    ///   agent, and has no series.
    private mutating func remoteSeries(
        of source: SourceID, _ kind: SeriesKind, _ name: String?, _ moment: Moment
    ) -> Int? {
        let own = sources.name(of: source.index)
        guard let name, !name.utf8.elementsEqual(own.utf8) else {
            return seriesIndex(source, kind: kind, key: nil, moment)
        }
        return FleetMember.key(of: name, in: own).flatMap { seriesIndex(source, kind, key: $0, moment) }
    }

    /// Records a value of a series whose windows arrive as lines.
    @inline(__always)
    private mutating func keep(_ value: Double, in index: Int, at time: Timestamp, _ sequence: Int) {
        let clock = remote?.clock ?? time
        if case .full = series.record(value, in: index, at: time, sequence: sequence, now: clock) {
            series[index].ring.flush(now: clock) { _ in }
            _ = series.record(value, in: index, at: time, sequence: sequence, now: clock)
        }
    }

    @inline(__always)
    private mutating func append(_ line: UnsafeBufferPointer<UInt8>, _ sequence: Int, _ now: LoopInstant) {
        if sequence > log.nextSequence { log.skip(to: sequence) }
        log.append(atMost: line.count + 1, at: now) { _, start in
            var writer = start
            writer.raw(line)
            writer.byte(UInt8(ascii: "\n"))
            return writer
        }
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
