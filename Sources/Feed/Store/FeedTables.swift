internal import Reactor

/// The tables of a feed, ours or a relayed one: log, sources, series and endpoints.
///
/// One struct, so that a batch of events costs one exclusive access and no reference counting of the parts.
package struct FeedTables: ~Copyable, Sendable {
    let limits: FeedState.Limits
    /// Whether the lines are another agent's.
    let isRelay: Bool
    /// The width of a window of the feed, and the period for which it keeps lines.
    var interval: Duration
    var history: Duration
    package var log: LineLog
    /// The sequence numbers of the newest line to report to a person (an error, progress, or a recovery), and of the
    /// newest answer.
    package var newestReport = 0
    package var newestAnswer = 0
    /// The sequence number of the newest line with a value pointer.
    var newestPointer = 0
    package var counts = StoreCounts()
    /// The newest sample of each kind.
    package var memory: MemorySample?
    package var agent: AgentSample?
    var sources = SourceTable()
    var series: SeriesTable
    var endpointTable: EndpointTable
    /// The width of a window of our own feed, in microseconds.
    let width: Int64

    /// - Parameter age: the period for which lines are kept.
    init(limits: FeedState.Limits, keepingLinesFor age: Duration, isRelay: Bool) {
        (self.limits, self.isRelay) = (limits, isRelay)
        (interval, history) = (limits.interval, limits.history)
        width = limits.interval.microseconds
        log = LineLog(capacity: limits.logCapacity, history: age, keptCapacity: limits.keptCapacity)
        series = SeriesTable(limit: limits.series)
        endpointTable = EndpointTable(limit: limits.endpoints)
    }

    /// Drops everything, for another run of a relayed feed.
    ///
    /// - Parameter first: the number of its first line.
    mutating func restart(at first: Int) {
        (interval, history) = (limits.interval, limits.history)
        sources = SourceTable()
        series = SeriesTable(limit: limits.series)
        endpointTable = EndpointTable(limit: limits.endpoints)
        (memory, agent) = (nil, nil)
        log.restart(at: first)
    }

    /// The statistics of the endpoints, in the order of their first request.
    package var endpoints: [EndpointStatistics] { endpointTable.statistics }

    /// The states of the sources that are not retired, in the order they were first registered.
    package var statuses: [SourceStatus] { sources.statuses }

    /// Series that have made room for others: see `takeRemovedTexts`.
    private(set) var removedTexts: [Int] = []

    /// Whether an event is more than a window ahead of the clock.
    @inline(__always)
    func isFuture(_ time: Timestamp, _ wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds &+ width
    }

    // MARK: Sources

    /// Adds a source, or replaces the description of the one with its name.
    mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        sources.register(description, at: time)
    }

    /// Returns the source of a relayed feed with this name, added if it is new; nil when the limit is reached.
    ///
    /// - Parameter isListed: false for a source that only an endpoint names.
    mutating func remoteSource(_ name: String?, isListed: Bool = true, at time: Timestamp) -> SourceID? {
        sources.find(name ?? "", isListed: isListed, at: time, atMost: limits.remoteSources)
    }

    /// Replaces the sources and endpoints by those that the relayed agent lists.
    ///
    /// - Parameter clock: the agent's time.
    /// - Returns: whether a description has changed, and the number of sources without room.
    mutating func list(_ stats: Line.Stats, at time: Timestamp, clock: Timestamp?) -> (isNews: Bool, refused: Int) {
        let news = sources.list(
            stats.sources, asOf: stats.asOf, heard: clock, at: time, atMost: limits.remoteSources)
        var endpoints: [(Line.Endpoint, source: Int, name: String)] = []
        for endpoint in stats.endpoints {
            guard let source = remoteSource(endpoint.source, isListed: false, at: time) else { continue }
            endpoints.append((endpoint, source.index, sources.name(of: source.index)))
        }
        endpointTable.list(endpoints)
        return news
    }

    /// The source of the feed with this name that is listed, and not an agent's of our fleet.
    func listedSource(named name: String) -> SourceID? {
        sources.source(named: name).flatMap { sources.isRetired($0) || sources.owner(of: $0.index) >= 0 ? nil : $0 }
    }

    /// Updates an endpoint's histogram; false when there is no room for it, which is counted.
    ///
    /// - Parameter owner: the agent of a fleet whose source it is, by index; −1 for our own.
    @discardableResult
    mutating func updateEndpoint(
        _ endpoint: String, of source: SourceID, owner: Int32 = -1, _ change: (inout LatencyHistogram) -> Void
    ) -> Bool {
        let isUpdated = endpointTable.update(
            endpoint, of: source.index, named: sources.name(of: source.index), owner: owner,
            atMost: owner < 0 ? .max : limits.memberEndpoints, change)
        if !isUpdated { counts.refusedEndpoints += 1 }
        return isUpdated
    }

    // MARK: Series

    /// The index of a series, added if it is new; nil when it cannot be added.
    ///
    /// - Parameter name: its name in a line; nil for a name that is no series of the source.
    mutating func seriesIndex(_ source: SourceID, _ kind: SeriesKind, _ name: SeriesName?) -> Int? {
        name?.withKey { key in
            series.find(source, kind, key: key.map { .init($0) }) ?? addSeries(source, kind, key: key)
        }
    }

    /// Adds a new series; nil when there is no room for it.
    ///
    /// - Parameter owner: the agent of a fleet whose source it is, by index; −1 for our own.
    mutating func addSeries(
        _ source: SourceID, _ kind: SeriesKind, key: UnsafeBufferPointer<UInt8>?, owner: Int32 = -1
    ) -> Int? {
        if !kind.hasValues {
            let isShareUsed = owner >= 0 && series.texts(of: owner) >= limits.memberSeries
            // Alerts that fire make no room for others.
            let isFull = series.isFull(of: kind) && (kind == .text || series.hasResolvedAlerts)
            if isShareUsed || isFull { removeTexts(for: owner, isShareUsed: isShareUsed) }
        }
        guard
            let index = series.add(
                source, kind, key: key.map { .init($0) }, owner: owner,
                ring: WindowRing(span(of: source.index)))
        else { return nil }
        log.kept.setOwner(owner, of: index)
        counts.series = series.count
        return index
    }

    /// Makes room for series without values, as the texts of a source may have other keys with each answer: those whose
    /// lines are gone, and texts with the oldest lines, of the agent that has the most; of one that has used its share, alerts too.
    ///
    /// - Parameters:
    ///   - current: the owner of the new one.
    ///   - isShareUsed: whether that has as many as it may have: then only its own make room.
    private mutating func removeTexts(for current: Int32, isShareUsed: Bool) {
        let most = max(1, (isShareUsed ? limits.memberSeries : limits.series) / 8)
        let owner = isShareUsed ? current : series.mostTexts(preferring: current)
        func makesRoom(_ index: Int) -> Bool {
            series[index].source >= 0 && !series[index].kind.hasValues && (!isShareUsed || series[index].owner == owner)
        }
        var gone = Set(
            series.indices.filter {
                makesRoom($0) && log.newestLine(of: $0) == nil && (isShareUsed || !series.firing.contains($0))
            })
        if gone.count < most {
            gone.formUnion(
                log.kept.oldest(atMost: most) {
                    makesRoom($0) && series[$0].owner == owner && (isShareUsed || series[$0].kind == .text)
                })
        }
        removeSeries(gone.sorted())
        removedTexts += gone
    }

    /// Removes and returns the indices of series that have made room for others, which may have them now.
    mutating func takeRemovedTexts() -> [Int] {
        defer { removedTexts = [] }
        return removedTexts
    }

    /// Removes some series, with their kept lines.
    mutating func removeSeries(_ gone: [Int]) {
        for index in gone { log.kept.remove(index) }
        series.remove(gone)
        counts.series = series.count
    }

    /// The windows that are held of a source. Those of a relayed feed arrive as lines: of a source whose windows are not
    /// kept longer than lines, only the newest value is needed.
    func span(of source: Int) -> WindowSpan {
        let span = WindowSpan(sources.rhythm(of: source), interval: interval, history: history)
        if !isRelay || span.width > interval { return span }
        return WindowSpan(.stream, interval: max(.seconds(1), history), history: history)
    }

    /// Whether the windows of a source are kept longer than lines.
    func hasLongWindows(_ source: Int) -> Bool {
        WindowSpan(sources.rhythm(of: source), interval: interval, history: history).width > interval
    }

    /// `"source":"…","series":"…"`, for the lines of a series' windows.
    func windowNames(of index: Int) -> [UInt8] {
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

    /// The `kept` line of the closed windows of a series that are kept longer than lines; nil when there are none.
    ///
    /// - Parameter tail: returns the last members of lines about an agent.
    func windowsLine(
        of index: Int, in run: String, at moment: (wall: Timestamp, feed: Timestamp), tail: (Int32) -> [UInt8]
    ) -> [UInt8]? {
        guard series.indices.contains(index), series[index].source >= 0, series[index].kind.hasValues,
            hasLongWindows(series[index].source), isCurrent(index, at: moment.feed)
        else { return nil }
        let ring = series[index].ring
        let windows = ring.held.filter { ring.isKept($0, at: moment.feed) }
        if windows.isEmpty { return nil }
        return ControlLine.kept(
            time: moment.wall, run: run, windows: windows, width: ring.width,
            names: windowNames(of: index) + tail(series[index].owner))
    }

    // MARK: Gone series

    /// Marks the series of a source with this key as gone, because a line says so.
    mutating func markGone(_ key: String, of source: SourceID, by sequence: Int) {
        var indices = series.both(of: source, key: key)
        // Of a feed that is relayed or recorded, lines of an earlier run may come later.
        if indices.isEmpty, isRelay, let index = seriesIndex(source, .text, SeriesName(key: key[...])) {
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
        guard let source = line.source.flatMap({ sources.source(named: $0) }),
            let key = SeriesName(name, of: sources.name(of: source.index))?.key
        else { return false }
        let both = series.both(of: source, key: key)
        return (both.first { series[$0].kind == kind } ?? both.first).map { series.isGone($0) } ?? false
    }

    /// Marks a series as gone in a recorded feed whose earlier run said so, unless a later one has a line of it.
    mutating func recall(_ gone: GoneSeries) {
        guard let source = sources.source(named: gone.source) else { return }
        let isThere = series.both(of: source, key: gone.key).contains {
            series[$0].newest > 0 || log.newestLine(of: $0) != nil
        }
        if !isThere { markGone(gone.key, of: source, by: max(1, log.nextSequence - 1)) }
    }

    // MARK: Alerts

    /// Keeps the line that comes next as the newest of its alert, or none if that is resolved.
    ///
    /// - Parameters:
    ///   - agent: the agent of a fleet that it is from; nil for the feed's own.
    ///   - owner: that agent's index if it is of our fleet; otherwise −1.
    mutating func mark(_ alert: Alert, of source: SourceID, agent: String?, owner: Int32 = -1, by sequence: Int) {
        guard let index = alertIndex(alert, of: source, agent: agent, owner: owner) else { return }
        if alert.state.isOver {
            series.resolve(index, sequence: sequence)
            log.kept.remove(index)
        } else {
            series.setAlert(
                index, alert.condition, isFiring: alert.state.isFiring, agent: agent, sequence: sequence)
            log.kept.mark(index, sequence: sequence)
        }
    }

    /// The place of an alert among the series; nil when there is no room for it.
    mutating func alertIndex(_ alert: Alert, of source: SourceID, agent: String?, owner: Int32 = -1) -> Int? {
        // A fleet has alerts of its own about its agents' sources.
        let key = agent == nil ? alert.key : [1] + alert.key
        return key.withUnsafeBytes { key in
            if let known = series.find(source, .alert, key: key) { return known }
            return addSeries(source, .alert, key: key.assumingMemoryBound(to: UInt8.self), owner: owner)
        }
    }

    // MARK: Kept lines

    /// Whether a line that is its series' newest still says something: the series is not gone, and the log has the line, or it
    /// is no older than its source's `keep`. Without that, it is less than a day old if the source gives no complete answers.
    ///
    /// - Parameters:
    ///   - now: by the clock of the agent that the feed belongs to.
    ///   - time: returns the line's time.
    private func isCurrent(_ index: Int, _ sequence: Int, at now: Timestamp, _ time: () -> Timestamp?) -> Bool {
        guard !series.isGone(index) else { return false }
        // A relayed agent knows its sources' answers, and has chosen.
        guard !isRelay, series[index].kind == .data || series[index].kind == .text else { return true }
        if let keep = sources.keep(series[index].source) {
            return sequence >= log.firstSequence || time().map { now - $0 < keep } ?? false
        }
        if sequence >= log.firstSequence || sources.givesWholeAnswers(series[index].source) { return true }
        let longest = max(Self.longestKept, lookback(of: SourceID(index: series[index].source)))
        return time().map { now - $0 < longest } ?? false
    }

    /// Whether the newest value of a series still says something.
    func isCurrent(_ index: Int, at now: Timestamp) -> Bool {
        isCurrent(index, log.kept.newest(of: index), at: now) { series[index].ring.newest?.lastTime }
    }

    /// Whether a line that is its series' newest still says something.
    func isCurrent(_ index: Int, _ sequence: Int, at now: Timestamp, of line: [UInt8]) -> Bool {
        isCurrent(index, sequence, at: now) { line.withUnsafeBytes { LineHead($0)?.time } }
    }

    /// The number of the newest of the lines below `end` that readers get as kept ones; nil for none.
    func newestKept(before end: Int, at now: Timestamp) -> Int? {
        log.kept.newest(before: end) { series, sequence in
            isCurrent(series, sequence, at: now) { log.newestTime(of: series) }
        }
    }

    /// Whether there is a line of an event, in the log or kept, but of an earlier run of our own.
    var hasEvents: Bool {
        series.indices.contains { index in
            guard series[index].kind == .data || series[index].kind == .text else { return false }
            let isForeign = isRelay || series[index].owner >= 0
            return log.kept.newest(of: index) > 0 || isForeign && log.kept.line(of: index) != nil
        }
    }

    // Age of newest lines of sources without complete answers: a day, or three periods; left out.
    private static let longestKept = Duration.seconds(86_400)

    /// Whether a series may still be there because it was in an earlier run: it is not gone, nor missing in a complete answer
    /// that came first. The next one says then that it is gone.
    func mayRecall(_ index: Int) -> Bool {
        guard !series.isGone(index) else { return false }
        if series[index].kind == .alert { return true }
        let isTold = !isRelay && series.key(of: index) != nil && sources.givesWholeAnswers(series[index].source)
        return !isTold || series.isHeard(index)
    }

    /// Whether a line of an earlier run is recent enough to be kept. The clock may have been ahead then.
    func isRecent(_ time: Timestamp, of source: SourceID, at now: Timestamp) -> Bool {
        !isFuture(time, now) && now - time < lookback(of: source)
    }

    /// How old the lines of a source in earlier runs may be.
    private func lookback(of source: SourceID) -> Duration {
        max(
            WindowSpan.lookback(for: sources.rhythm(of: source.index), history: limits.history),
            sources.keep(source.index) ?? .zero)
    }

    // MARK: Metrics

    /// All sources, unlisted ones included.
    ///
    /// - Parameter time: now, by the clock used for `SourceTable.hear`.
    func sourceNumbers(at time: Timestamp) -> [SourceNumbers] { sources.numbers(at: time, window: interval) }

    /// The alerts that fire, in the order in which they began to.
    var firingAlerts: [FiringAlert] {
        series.firing.all.map { index, agent in
            FiringAlert(agent: agent, line: log.newestLine(of: index).flatMap { LineMending.nestable($0) })
        }
    }

    /// For how many series each condition fires.
    ///
    /// - Parameter own: the names of our own conditions, which come first and may fire for nothing. Without them, all that fired
    ///   once have a count.
    func alertCounts(own: [String]?) -> [AlertCount] {
        let known = (own ?? []).map { series.firing.count(of: $0) }
        // Ours are among the known ones, but for those that a reload removed.
        return known + series.firing.counts.filter { own == nil || $0.agent != nil }
    }

    /// The series that have a value which still says something.
    func seriesNumbers(at time: Timestamp) -> [SeriesNumbers] {
        series.indices.compactMap { index -> SeriesNumbers? in
            guard series[index].source >= 0, let window = series[index].ring.newest, isCurrent(index, at: time) else {
                return nil
            }
            return SeriesNumbers(
                source: sources.name(of: series[index].source), kind: series[index].kind, key: series.key(of: index),
                value: window.last, time: window.lastTime, word: series.word(of: index)?[...])
        }
    }
}
