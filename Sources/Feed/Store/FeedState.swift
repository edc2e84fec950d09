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
    private var series: [Series] = []
    private var prefixes: PrefixArena
    /// The number of bytes of `prefixes` that are names of removed series.
    private var wastedNames = 0
    private let width: Int64
    private let mostData: Int
    private var table: SeriesTable
    private var endpointTable: EndpointTable
    /// Series with changes to closed windows in the current batch.
    private var revised: [Int] = []
    /// The agents whose feeds are sources.
    var fleet = Fleet()
    /// The agent whose events are being published; −1 for our own.
    private var currentMember: Int32 = -1
    /// The number of times that a series was refused because its agent is at its limit.
    private var refusedForeignSeries = 0
    /// The errors to report of agents at a limit.
    private var refusals: [(owner: Int32, message: String)] = []
    /// The number of values in the current batch that arrived after the line of their window.
    private var revisions = 0
    private var seriesShortage = Shortage()
    private var endpointShortage = Shortage()
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
        log = LineLog(capacity: limits.logCapacity, history: age ?? limits.history)
        table = SeriesTable(limit: limits.series)
        prefixes = PrefixArena(limit: limits.nameBytes)
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

    /// The bytes in use for names of series, for tests of their limit.
    var nameBytes: Int { prefixes.buffer.count }

    /// Whether the number of data events in `Limits.data` has arrived.
    package var hasEnoughData: Bool { counts.data >= mostData }

    // MARK: Sources

    /// Adds a source; a known name returns that source, with its series and their history.
    ///
    /// Cuts its name and type at 1,024 bytes, its unit at 32. A new type applies to all its further lines, new bands to
    /// its windows from the next line. Its state is `starting` again.
    package mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        lastGeneration += 1
        let (source, isRenamed) = sources.register(description, at: time, generation: lastGeneration)
        if isRenamed { renewPrefixes() }
        return source
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
    mutating func noteEnd(of source: SourceID) { sources.noteEnd(of: source) }

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
        let owners = Set(gone.map { sources.owner(of: $0) })
        for index in series.indices where gone.contains(series[index].source) {
            flush(index, moment, isComplete: true)
            wastedNames += series[index].prefix.count
            series[index] = Series(ring: newRing, source: -1, kind: .data, generation: 0, prefix: 0..<0, namesOffset: 0)
        }
        table.remove { gone.contains($0.index / 3) }
        counts.series = table.count
        endpointTable.remove(gone)
        sources.remove(gone)
        for owner in owners { fleet[closings: owner].remove { series[$0].source < 0 } }
        if wastedNames > prefixes.buffer.count / 2 { movePrefixes() }
        return true
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
        let start = log.totalCost
        revisions = 0
        var next = first
        // Checked once for many events, because those of a batch are nearly always of one source.
        var source: Int32 = -1
        let isForeign = !batch.origins.isEmpty
        batch.bytes.withUnsafeBufferPointer { bytes in
            while next < batch.records.count {
                let record = batch.records[next]
                if isForeign { listen(to: batch.origins[next], at: record.time, moment) }
                next += 1
                if record.other >= 0 {
                    publishOther(batch.others[Int(record.other)], moment)
                } else {
                    let pointer = batch.valuePointers.isEmpty ? nil : batch.valuePointers[next - 1]
                    publish(record, bytes, isForeign ? batch.origins[next - 1].type : nil, pointer, moment)
                    if record.source != source {
                        source = record.source
                        sources.hear(from: SourceID(index: Int(source)), at: moment.now.timestamp)
                    }
                }
                // A revision is a line too, and follows the events.
                if log.totalCost - start + revisions * LineEncoder.fixed >= growth { break }
            }
        }
        flushRevised(moment)
        if isForeign { stopListening(moment) }
        counts.refusedSeries = table.refused + refusedForeignSeries
        if seriesShortage.note(table.refused, at: moment.now) { reportSeries(moment) }
        if endpointTable.isFull, endpointShortage.note(counts.refusedEndpoints, at: moment.now) {
            reportEndpoints(moment)
        }
        return next
    }

    // Bound: lines published at once, of an input that can wait or of windows that end | a quarter of the log, or one
    //   event | we wait for the lossless outputs first
    /// The growth of the log, in bytes, after which to wait for lossless outputs: the chunk begun then adds as much.
    package var slice: Int { log.capacity / 8 }

    @inline(__always)
    private mutating func publish(
        _ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>, _ type: String?, _ pointer: String?,
        _ moment: Moment
    ) {
        guard counts.data < mostData else { return }
        counts.data += 1
        let source = SourceID(index: Int(record.source))
        let isFuture = isFuture(record.time, moment.wall)
        let time = isFuture ? moment.wall : record.time
        if isFuture { counts.future += 1 }
        if sources.state(of: source) != .ok {
            sources.setState(.ok, of: source, currentMember < 0 ? moment.wall : time)
        }

        // In bounds: `EventBatch` has these bytes where its records say.
        func lend(_ piece: EventBatch.Piece) -> UnsafeBufferPointer<UInt8>? {
            guard piece.length >= 0 else { return nil }
            let start = record.offset + Int(piece.start)
            return UnsafeBufferPointer(rebasing: bytes[start..<start + Int(piece.length)])
        }
        let key = lend(record.key)
        let text = lend(record.text)
        let data = lend(record.data)
        let value = record.value.isNaN ? nil : record.value
        if let pointer { sources.setValuePointer(pointer, of: source) }

        if let value, let index = seriesIndex(source, kind: .data, key: key, moment) {
            self.record(value, in: index, at: time, moment)
            if !series[index].prefix.isEmpty, type == nil {
                return encode(value, text, data, record.flaws, pointer, time, .whole(names(of: index)), moment.now)
            }
        } else if value == nil, let index = table.find(source: place(source, .data), keyBytes: key.map { .init($0) }),
            !series[index].prefix.isEmpty, type == nil
        {
            // Without a value it needs no windows, and so no series; but if there is one, its names are at hand.
            return encode(nil, text, data, record.flaws, pointer, time, .whole(names(of: index)), moment.now)
        }
        let prefix =
            type.map { type in
                let name = sources.name(of: source.index)
                return SourceTable.prefix(type: type, source: name, series: name)
            } ?? sources.prefix(of: source.index)
        prefix.withUnsafeBufferPointer { prefix in
            let key = key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) }
            encode(value, text, data, record.flaws, pointer, time, .parts(prefix, key: key), moment.now)
        }
    }

    /// Whether an event is more than a window ahead of the clock.
    @inline(__always)
    private func isFuture(_ time: Timestamp, _ wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds &+ width
    }

    @inline(__always)
    private mutating func encode(
        _ value: Double?, _ text: UnsafeBufferPointer<UInt8>?, _ data: UnsafeBufferPointer<UInt8>?,
        _ flaws: JSONFlaws, _ pointer: String?, _ time: Timestamp, _ names: LineEncoder.Names, _ now: LoopInstant
    ) {
        if let pointer { return encode(value, text, data, flaws, saying: pointer, time, names, now) }
        let most = encoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
        log.append(atMost: most, at: now) { sequence, writer in
            encoder.datum(
                value: value, text: text, data: data, flaws: flaws, sequence: sequence, time: time, names: names,
                to: writer)
        }
    }

    /// Encodes a line with its value pointer.
    @inline(never)
    private mutating func encode(
        _ value: Double?, _ text: UnsafeBufferPointer<UInt8>?, _ data: UnsafeBufferPointer<UInt8>?,
        _ flaws: JSONFlaws, saying pointer: String, _ time: Timestamp, _ names: LineEncoder.Names, _ now: LoopInstant
    ) {
        let tail = encoder.tail
        encoder.setTail(LineEncoder.tail(valuePointer: pointer) + tail)
        encode(value, text, data, flaws, nil, time, names, now)
        encoder.setTail(tail)
        newestPointer = log.nextSequence - 1
        newestReport = newestPointer
    }

    private mutating func reportSeries(_ moment: Moment) {
        let reason =
            table.count < table.limit
            ? "a series' key is longer than \(SeriesTable.longestKey) bytes" : "more than \(limits.series) series"
        let failure = Failure(.config, "\(reason): events of further ones still flow, but have no windows")
        sayOfItself(.error(failure), about: "series", at: moment)
    }

    private mutating func reportEndpoints(_ moment: Moment) {
        let text = "more than \(limits.endpoints) endpoints: further ones are asked, but have no statistics"
        sayOfItself(.error(Failure(.config, text)), about: "endpoints", at: moment)
    }

    /// Says that there is room again when nothing was refused for as long as the history.
    private mutating func reportRoom(_ moment: Moment) {
        if let recovery = seriesShortage.end(at: moment.now, after: limits.history) {
            sayOfItself(.recovered(recovery), about: "series", at: moment)
        }
        if let recovery = endpointShortage.end(at: moment.now, after: limits.history) {
            sayOfItself(.recovered(recovery), about: "endpoints", at: moment)
        }
    }

    /// A limit that is reached, so that further items are refused.
    private struct Shortage: Sendable {
        private var count = 0
        private var last = LoopInstant(nanoseconds: 0)
        private var outage = Outage<Bool>()

        /// - Parameter count: the number of refusals so far.
        /// - Returns: whether to report them.
        mutating func note(_ count: Int, at now: LoopInstant) -> Bool {
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

    /// Says what an agent has too much of.
    private mutating func report(_ message: String, of owner: Int32, _ moment: Moment) {
        let member = fleet[MemberID(index: Int(owner))]
        let failure = Failure(.config, "\(member.name) \(message)")
        newestReport = log.nextSequence
        let name = member.ownName
        if let own = source(named: name) { sources.countError(failure.code.rawValue, of: own) }
        encoder.setTail(member.tail)
        defer { encoder.setTail([]) }
        append(failure, about: name, at: moment.wall, moment.now)
    }

    /// Publishes anything but data: too rare to need optimisation.
    @inline(never)
    private mutating func publishOther(_ event: Event, _ moment: Moment) {
        defer {
            // Windows may precede it in the log.
            let sequence = log.nextSequence - 1
            switch event.body {
            case .latency: newestAnswer = sequence
            case .error, .progress, .recovered: newestReport = sequence
            default: break
            }
        }
        let source = sources.name(of: event.source.index)
        let isFuture = isFuture(event.time, moment.wall)
        let time = isFuture ? moment.wall : event.time
        if isFuture { counts.future += 1 }
        switch event.body {
        case .data: break  // handled by the caller, which is the hot path
        case .latency(let sample):
            var sample = sample
            sample.endpoint = LineEncoder.cut(sample.endpoint)
            // Counts the value as the line gives it, so that a reader that adds up lines gets the same result.
            sample.ms = LineWriter.readBack(milliseconds: sample.ms)
            // Before the window, which names the line that comes next: others' windows may have to come before it.
            updateEndpoint(sample.endpoint, of: event.source, moment) { _ = $0.record(sample.ms) }
            if let index = seriesIndex(event.source, kind: .latency, key: nil, moment) {
                record(sample.ms, in: index, at: time, moment)
            }
            sources.countAnswer(sample.status, from: event.source)
            if sample.status == 304 { hear(from: event.source, time, moment) }
            append(sample, about: source, at: time, moment.now)
        case .memory(let sample):
            if currentMember < 0 { memory = sample }
            if sources.state(of: event.source) == .starting {
                sources.setState(.ok, of: event.source, currentMember < 0 ? moment.wall : time)
            }
            sources.hear(from: event.source, at: moment.now.timestamp)
            if let index = seriesIndex(event.source, kind: .memory, key: nil, moment) {
                record(Double(sample.resident), in: index, at: time, moment)
            }
            append(sample, about: source, at: time, moment.now)
        case .error(let failure):
            sources.fail(event.source, by: failure.code.rawValue, at: currentMember < 0 ? moment.wall : time)
            sources.countError(failure.code.rawValue, of: event.source)
            var failure = failure
            failure.endpoint = failure.endpoint.map { LineEncoder.cut($0) }
            failure.message = LineEncoder.message(failure.message)
            if let endpoint = failure.endpoint {
                updateEndpoint(endpoint, of: event.source, moment) { $0.recordErrors() }
            }
            append(failure, about: source, at: time, moment.now)
        case .progress(let progress):
            hear(from: event.source, time, moment)  // a page was complete, also one with nothing on it
            append(progress, about: source, at: time, moment.now)
        case .recovered(let recovery):
            hear(from: event.source, time, moment)
            append(recovery, about: source, at: time, moment.now)
        case .restart(var restart):
            restart.lastRun = restart.lastRun.map { LineEncoder.cut($0) }
            restart.ended = restart.ended.map { LineEncoder.cut($0) }
            append(restart, about: source, at: time, moment.now)
        case .agent(let sample):
            agent = sample
            let line = Line.Agent(sample, counts, events: log.nextSequence - 1, outputs: outputs)
            append(line, about: source, at: time, moment.now)
        case .foreignAgent(var agent):
            agent.outputs = agent.outputs.prefix(64).map { output in
                var output = output
                output.output = LineEncoder.cut(output.output, at: Line.Output.longest)
                output.state = LineEncoder.cut(output.state, at: Line.Output.longest)
                return output
            }
            append(agent, about: source, at: time, moment.now)
        case .peer(let peer): append(peer, about: source, at: time, moment.now)
        case .lost(let lost): append(lost, about: source, at: time, moment.now)
        }
    }

    /// Adds a line to the log.
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
    mutating func noteAnswer(from source: SourceID, at moment: Moment) -> Bool {
        sources.hear(from: source, at: moment.now.timestamp)
        guard sources.state(of: source) == .starting else { return false }
        sources.setState(.ok, of: source, moment.wall)
        return true
    }

    /// Records a source's success other than data.
    private mutating func hear(
        from source: SourceID, _ time: Timestamp, _ moment: Moment
    ) {
        sources.setState(.ok, of: source, currentMember < 0 ? moment.wall : time)
        sources.hear(from: source, at: moment.now.timestamp)
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
            refuse(.endpoints, "has more than \(share) endpoints: further ones have no statistics")
        }
    }

    /// Refuses something beyond an agent's limit, and reports that once.
    private mutating func refuse(_ refusal: FleetMember.Refusal, _ message: String) {
        if fleet[MemberID(index: Int(currentMember))].isFirst(refusal) { refusals.append((currentMember, message)) }
    }

    // MARK: Series

    private struct Series: Sendable {
        var ring: WindowRing
        /// An index into `sources`.
        let source: Int
        let kind: SeriesKind
        /// Its agent, by index; −1 for our own.
        var member: Int32 = -1
        /// A sequential number from when it was added, for walks.
        let generation: Int
        /// The range in `prefixes` of `"type":"…","source":"…","series":"…"`; empty when there was no room.
        var prefix: Range<Int>
        /// The offset in that of `"source":"…","series":"…"`, which a window line uses.
        var namesOffset: Int
    }

    /// The key in `table` for a source and kind.
    @inline(__always)
    private func place(_ source: SourceID, _ kind: SeriesKind) -> SourceID {
        SourceID(index: source.index &* 3 &+ kind.rawValue)
    }

    /// The encoded names of a series whose `prefix` is not empty; valid until something is appended to `prefixes`.
    @inline(__always)
    private func names(of index: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: prefixes.buffer[series[index].prefix])
    }

    /// The series' index, added if it is new; nil when it cannot be added.
    @inline(__always)
    private mutating func seriesIndex(
        _ source: SourceID, kind: SeriesKind, key: UnsafeBufferPointer<UInt8>?, _ moment: Moment
    ) -> Int? {
        let place = place(source, kind)
        if let index = table.find(source: place, keyBytes: key.map { .init($0) }) { return index }
        return addSeries(source, kind, place, key, moment)
    }

    /// Adds a new series; released sources make room for it if necessary.
    @inline(never)
    private mutating func addSeries(
        _ source: SourceID, _ kind: SeriesKind, _ place: SourceID, _ key: UnsafeBufferPointer<UInt8>?,
        _ moment: Moment
    ) -> Int? {
        if currentMember >= 0, fleet[closings: currentMember].series.count >= limits.memberSeries {
            refusedForeignSeries += 1
            refuse(
                .windows,
                "has more than \(limits.memberSeries) series: events of further ones still flow, but have no windows")
            return nil
        }
        if table.count == table.limit {
            forget(Set(sources.released()), moment)
            // Not looked for again, to find that there is no room: every event of such a series comes here.
            if table.count == table.limit { return table.refuse() }
        }
        let added = key.map { table.index(source: place, keyBytes: .init($0)) } ?? table.index(source: place, key: nil)
        guard let index = added else { return nil }
        lastGeneration += 1
        let new = Series(
            ring: newRing, source: source.index, kind: kind, member: currentMember, generation: lastGeneration,
            prefix: 0..<0,
            namesOffset: 0)
        fleet[closings: currentMember].add(series: index)
        if index < series.count { series[index] = new } else { series.append(new) }
        // Relayed lines are not encoded here.
        if remote == nil { keepPrefix(of: index) }
        counts.series = table.count
        return index
    }

    /// Windows of a relayed feed arrive as lines: only the newest value of a series is needed.
    private var newRing: WindowRing {
        let width = remote == nil ? limits.interval : max(.seconds(1), history)
        return WindowRing(width: width, history: history)
    }

    private mutating func keepPrefix(of index: Int) {
        let prefix = encodedPrefix(of: index)
        series[index].prefix = prefixes.append(prefix) ?? 0..<0
        series[index].namesOffset = Self.namesOffset(in: prefix)
    }

    /// Encodes the names of all series again after a source's type has changed; in new memory, because the arena frees
    /// nothing.
    private mutating func renewPrefixes() {
        prefixes = PrefixArena(limit: limits.nameBytes)
        wastedNames = 0
        for index in series.indices where series[index].source >= 0 { keepPrefix(of: index) }
    }

    /// Moves the names of the remaining series to new memory, and adds those that had no room before.
    private mutating func movePrefixes() {
        let old = prefixes
        prefixes = PrefixArena(limit: limits.nameBytes)
        wastedNames = 0
        for index in series.indices where series[index].source >= 0 {
            let range = series[index].prefix
            if range.isEmpty {
                keepPrefix(of: index)
            } else {
                series[index].prefix = prefixes.append(UnsafeBufferPointer(rebasing: old.buffer[range])) ?? 0..<0
            }
        }
    }

    /// `"type":"…","source":"…","series":"…"`
    private func encodedPrefix(of index: Int) -> [UInt8] {
        let source = series[index].source
        let (name, prefix) = (sources.name(of: source), sources.prefix(of: source))
        switch series[index].kind {
        case .data:
            guard let key = table.key(of: index) else { return prefix + [UInt8(ascii: "\"")] }
            let escaped = LineWriter.bytes(atMost: 3 + LineWriter.mostEscaped(key.count)) { writer in
                writer.byte(UInt8(ascii: "/"))
                key.withUnsafeBufferPointer { key in
                    if let start = key.baseAddress { writer.escape(start, key.count) }
                }
                writer.byte(UInt8(ascii: "\""))
            }
            return prefix + escaped
        case .latency, .memory:
            let kind = series[index].kind.prefix
            return SourceTable.prefix(type: String(kind.dropLast()), source: name, series: kind + name)
                + [UInt8(ascii: "\"")]
        }
    }

    private static func namesOffset(in prefix: [UInt8]) -> Int {
        prefix.range(of: "\"source\":")?.lowerBound ?? 0
    }

    /// Lends the `"source":"…","series":"…"` of a series, from the arena if it is there; nothing may be appended to
    /// that meanwhile.
    private mutating func withWindowNames(
        of index: Int, _ body: (inout FeedState, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        let range = series[index].prefix
        let offset = series[index].namesOffset
        if range.isEmpty {
            let prefix = encodedPrefix(of: index)
            prefix.withUnsafeBufferPointer { body(&self, UnsafeBufferPointer(rebasing: $0[offset...])) }
        } else {
            // Keeps the arena alive, because it owns the bytes.
            let arena = prefixes
            withExtendedLifetime(arena) {
                body(&self, UnsafeBufferPointer(rebasing: arena.buffer[range.lowerBound + offset..<range.upperBound]))
            }
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

    /// Returns the next series of a walk that has a value within the history.
    func nextSeries(_ walk: inout FeedWalk, at time: Timestamp) -> SeriesNumbers? {
        let past = time - history
        while walk.place < series.count {
            let index = walk.place
            walk.place += 1
            guard series[index].source >= 0, series[index].generation < walk.limit,
                let window = series[index].ring.newest,
                window.lastTime > past
            else { continue }
            let source = sources.name(of: series[index].source)
            return SeriesNumbers(
                source: source, kind: series[index].kind, name: source, key: table.key(of: index), value: window.last,
                time: window.lastTime)
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
        let count = some?.count ?? series.count
        // Starts over each time, because its series may have moved when others of the agent were forgotten: completed
        // ones have nothing left to emit.
        var place = some == nil ? first : 0
        while place < count, place == first || log.totalCost - start < growth {
            let index = some?[place] ?? place
            if source == nil || series[index].source == source?.index { flush(index, moment, isComplete: true) }
            place += 1
        }
        return place < count ? place : nil
    }

    /// Records a value in its window; its own line must be the next one in the log.
    @inline(__always)
    private mutating func record(
        _ value: Double, in index: Int, at time: Timestamp, _ moment: Moment
    ) {
        // By the clock of the agent that the event is from.
        let (clock, openSince) = fleet.times(of: currentMember, or: moment.wall)
        var outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: clock)
        if case .full = outcome {
            // Cannot happen again right after a flush, which the ring's documentation promises.
            flush(index, moment)
            outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: clock)
        }
        if case .late = outcome {
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
            let end = fleet[closings: series[index].member].time(at: moment)
            if let due = series[index].ring.nextDue, due <= end { flush(index, moment) }
        }
        revised.removeAll(keepingCapacity: true)
    }

    private mutating func flush(_ index: Int, _ moment: Moment, isComplete: Bool = false) {
        // Its place is free, or its windows come as lines, or nothing is left to emit.
        guard series[index].source >= 0, remote == nil, !isComplete || series[index].ring.hasChanges else { return }
        // Takes the ring out while it lends its windows, so that the log can be appended to; another ring replaces it,
        // or its memory would be shared and copied.
        var ring = newRing
        swap(&ring, &series[index].ring)
        let owner = series[index].member
        let time = fleet[closings: owner].time(at: moment)
        let clock = fleet[closings: owner].told(or: moment.wall)
        // It may stand in the middle of what comes from another agent.
        let tail = encoder.tail
        encoder.setTail(fleet.tail(of: owner))
        defer { encoder.setTail(tail) }
        let scale = series[index].kind == .data ? sources.bands(of: series[index].source) : nil
        withWindowNames(of: index) { state, names in
            func emit(_ window: Window) {
                let band = scale.map { $0.labels[$0.scale.index(of: window.last)] }
                let most =
                    LineEncoder.mostWindow(names: names.count, band: band?.count ?? 0) + state.encoder.tailCount
                let width = state.width
                state.log.append(atMost: most, at: moment.now) { sequence, writer in
                    state.encoder.window(
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
        description.type = LineEncoder.cut(description.type, at: 1_024)
        if let known {
            if sources.isDescribed(known, as: description) { return (known, false) }
            if sources.describe(known, as: description, at: time) { renewPrefixes(of: known) }
            return (known, true)
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
        sources.setState(status.state, of: source, status.since ?? time)
    }

    /// Encodes the names of one source's series again.
    private mutating func renewPrefixes(of source: SourceID) {
        for index in fleet[closings: sources.owner(of: source.index)].series where series[index].source == source.index
        {
            wastedNames += series[index].prefix.count
            keepPrefix(of: index)
        }
        if wastedNames > prefixes.buffer.count / 2 { movePrefixes() }
    }

    /// What comes now is from there.
    private mutating func listen(to origin: LineOrigin, at time: Timestamp, _ moment: Moment) {
        let member = Int32(origin.member.index)
        if let clock = origin.clock {
            fleet[closings: member].hear(clock, at: moment.now)
            closeMemberWindows(of: member, until: log.totalCost.addingSaturated(slice), moment)
        }
        currentMember = member
        encoder.setTail(
            origin.line.map {
                LineEncoder.tail(
                    agent: fleet[origin.member].name, $0, stream: origin.stream,
                    time: isFuture(time, moment.wall) ? time : nil)
            } ?? fleet.tail(of: member))
    }

    private mutating func stopListening(_ moment: Moment) {
        currentMember = -1
        encoder.setTail([])
        for (owner, message) in refusals { report(message, of: owner, moment) }
        refusals = []
    }

    // MARK: Lines

    /// Keeps lines from this sequence number, however old they are.
    mutating func hold(from sequence: Int) { log.heldFrom = sequence }

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
        series = []
        table = SeriesTable(limit: limits.series)
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
                stats.sources, heard: clock, at: line.time, generation: &lastGeneration, atMost: limits.remoteSources)
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
        case .latency: newestAnswer = sequence
        case .error, .progress, .recovered: newestReport = sequence
        case .memory(let sample): return apply(sample, line, sequence, moment)
        case .agent(let said):
            if line.agent == nil { agent = AgentSample(loopLag: said.loopLag, cpu: said.cpu) }
            return nil
        // These say nothing of a source of the agent's: none is added for them.
        default: return nil
        }
        guard let source = remoteSource(line.source, at: time) else { return nil }
        switch line.body {
        case .data(let data):
            var meaning = PlainNames.Meaning(source: source)
            if data.value != nil {
                meaning.series = remoteSeries(of: source, .data, data.series, moment)
                meaning.isRefused = meaning.series == nil
            }
            apply(data.value, .data, meaning, time, sequence)
            if isCounted, let pointer = data.valuePointer { sources.setValuePointer(pointer, of: source) }
            return meaning
        case .latency(let sample):
            let endpoint = LineEncoder.cut(sample.endpoint)
            updateEndpoint(endpoint, of: source, moment) { _ in }
            let series = remoteSeries(of: source, .latency, nil, moment)
            let meaning = PlainNames.Meaning(
                source: source, series: series, endpoint: endpointTable.index(of: endpoint, source: source.index),
                isConfirmation: sample.status == 304, isRefused: series == nil)
            apply(sample.ms, .latency, meaning, time, sequence)
            return meaning
        case .error(let failure):
            if isCounted, let endpoint = failure.endpoint {
                updateEndpoint(LineEncoder.cut(endpoint), of: source, moment) { $0.recordErrors() }
            }
            sources.fail(source, by: failure.code.rawValue, at: time)
        default: confirm(source, at: time)  // progress, or an end of failing
        }
        return nil
    }

    /// Applies a memory sample, which adds no source.
    private mutating func apply(
        _ sample: MemorySample, _ line: Line, _ sequence: Int, _ moment: Moment
    ) -> PlainNames.Meaning? {
        if line.agent == nil { memory = sample }
        guard let source = line.source.flatMap({ sources.source(named: $0) }) else { return nil }
        if let index = remoteSeries(of: source, .memory, nil, moment) {
            keep(Double(sample.resident), in: index, at: line.time, sequence)
        }
        if sources.state(of: source) == .starting { confirm(source, at: line.time) }
        return nil
    }

    /// Adds a plain line whose names are known; false when it needs decoding.
    @inline(__always)
    mutating func relay(_ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, at now: LoopInstant) -> Bool {
        guard line.sequence >= log.nextSequence else { return true }
        if line.kind == .window {
            remote?.advance(to: line.time, onlyForward: false)
        } else {
            let names = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[line.names]))
            guard let meaning = remote?.names.meaning(of: names),
                line.value == nil || meaning.series != nil || meaning.isRefused
            else { return false }
            remote?.advance(to: line.time, onlyForward: line.kind == .data)
            if line.kind == .data { counts.data += 1 } else { newestAnswer = line.sequence }
            apply(line.value, line.kind, meaning, line.time, line.sequence)
        }
        remote?.lastSequence = line.sequence
        append(bytes, line.sequence, now)
        return true
    }

    /// Applies an event or an answer.
    @inline(__always)
    private mutating func apply(
        _ value: Double?, _ kind: PlainLine.Kind, _ meaning: PlainNames.Meaning, _ time: Timestamp, _ sequence: Int
    ) {
        if let value, let index = meaning.series { keep(value, in: index, at: time, sequence) }
        if let value, let index = meaning.endpoint, sequence > remote?.asOf ?? 0 {
            endpointTable.record(value, at: index)
        }
        if kind == .data || meaning.isConfirmation { confirm(meaning.source, at: time) }
    }

    /// The source of the relayed feed with this name, added if it is new; nil when the limit is reached.
    private mutating func remoteSource(_ name: String?, isListed: Bool = true, at time: Timestamp) -> SourceID? {
        sources.find(
            name ?? "", isListed: isListed, at: time, generation: &lastGeneration, atMost: limits.remoteSources)
    }

    /// Records a success of a source of the relayed feed.
    @inline(__always)
    private mutating func confirm(_ source: SourceID, at time: Timestamp) {
        sources.setState(.ok, of: source, time)
        sources.hear(from: source, at: remote?.clock ?? time)
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
        guard let key = FleetMember.key(of: name, in: own) else { return nil }
        return Array(key.utf8).withUnsafeBufferPointer { seriesIndex(source, kind: kind, key: $0, moment) }
    }

    /// Records a value of a series whose windows arrive as lines.
    @inline(__always)
    private mutating func keep(_ value: Double, in index: Int, at time: Timestamp, _ sequence: Int) {
        let clock = remote?.clock ?? time
        if case .full = series[index].ring.record(value, time: time, sequence: sequence, now: clock) {
            series[index].ring.flush(now: clock) { _ in }
            _ = series[index].ring.record(value, time: time, sequence: sequence, now: clock)
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
