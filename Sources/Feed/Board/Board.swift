package import Reactor

/// The state that every view shows: a fold over the lines of a feed, the same wherever it is computed.
///
/// A pure function of the lines, without a clock: two boards given the same lines are equal. The page's JavaScript has
/// a twin; Tests/Vectors/board tests both. The rules, in the order in which they apply to a line:
///
/// 1. **Runs.** A `hello` with another `run` than the previous one empties the board: of the old run only `runChanges`
///    stays, which goes up by one (not for the first run). With the same run, only `hello` is replaced. Either way
///    `bye` is cleared. A `bye` line keeps its reason and changes nothing else.
/// 2. **Numbers.** A numbered line whose sequence number is not above `lastSequence` is ignored entirely. Otherwise its
///    number becomes `lastSequence`; if it is not the first of its run, the reader is unfiltered, and the number skips
///    some, they become a gap with the reason `hole`. A `gap` line with a `to` above `lastSequence` is recorded from
///    its `from`, or from after `lastSequence` if that is higher, and `lastSequence` becomes `to`. Any other is
///    ignored.
/// 3. **Clock.** A line's time becomes `clock`, even if it is earlier, as the agent's clock may step. But a data line
///    has its event's time, and a line with an `agent` that agent's: these only move `clock` forward.
/// 4. **Events and points.** A data line is an event of its series, with or without a value; `event` is the latest one
///    by time, then number, with the line's `word` (1 to 64 bytes of UTF-8) and `since` if it has a value and both. Its
///    `data` is not kept if it has more than `dataPerEvent` bytes: the event `isCut` then, as it is when the line is
///    `truncated`, and `dataLeftOut` goes up by one. A data line with a value is also a point of its series, a latency
///    line one of `latency:SOURCE` (its `ms`), a memory line one of `memory:SOURCE` (its `rss_bytes`), a progress line
///    with `items` one of `count:SOURCE`. A progress line sets `goneAt` of the series that it names in `gone` (by the
///    key behind its source's name and a `/`) to its time; any data line of a series clears it. `lastWord` is the word
///    of the newest event with a value. A point that is not later than `clock` minus the history (the hello's, or 120
///    s; see rule 5) is not kept. A full ring, or one that needs more room than is left of `points`, drops its oldest
///    one, and the series `isTrimmed`. `newest` is the latest
///    point by time, then number, kept or not.
/// 5. **Window lines** replace the one with the same start. One of another width than
///    those kept for the series replaces them all. A new one removes those that ended no later than `clock` minus the
///    history, except the last. The history is the hello's; for a source with a period longer than the hello's interval
///    (10 s where there is none) it is that of `WindowSpan`, as of the newest `stats` line that counts. That holds for
///    points and errors too. Over `windowsPerSeries`, or if all series have more than `windows`, the series' window with the earliest start goes, which may be
///    the new one itself. `band` and `trend` are cut at 64 bytes of UTF-8.
/// 6. **Endpoints** are distinguished by source and name. A `stats` line with an `as_of` of at least `lastSequence`
///    replaces all endpoints: one with the same count and errors as before stays, any other starts as
///    `LatencyHistogram(summary)`, one not listed goes; newest phases stay. Latency lines with a higher number than the
///    last such `as_of` are added, and so are the errors of error lines that name an endpoint.
/// 7. **Sources.** The same `stats` lines set state and since, type (cut as texts are), unit (cut at 32 bytes of
///    UTF-8), bands, `valuePointer` (none if over 256 bytes) and rhythm, the last five to none where absent; a source
///    not listed has none of them either and is no longer `isListed`. A data line with a higher number than the last
///    `as_of` may set its source's `valuePointer` too. Entries with another state than these three are skipped. Bands
///    that break a rule of `BandScale` (1 to 64 of them, ascending ends that only the last one lacks, names of 1 to 64
///    bytes, letters of one character and at most 16 bytes, colours of `#` and six hexadecimal digits) count as none. A
///    data, progress or recovered line, and a latency line with status 304, make their source `ok`, and a memory line
///    does if the source is `starting`; an error line makes it `failing`, with its code, message, attempt and time of
///    retry (the line's time plus `retry_in_ms`). A failing source's entry in a `stats` line has these too. `answered`
///    is the `answered_at` of its entry, then the `clock` at its data and progress lines, at latency lines with status
///    304, and at the first latency line behind data. If the entry of a failing source has a code, or that of one that
///    is ok has `answered_at`, lines up to `as_of` do not change the source's state, failure and `answered`. A latency
///    line with status 304 also sets `confirmed`, a recovered line `outage`. `since` changes only when the state does.
///    A source starts as `starting` at its first line's time. `sourceOrder` has the sources as such a `stats` line
///    lists them, then those that it does not list, in the order of their first lines. The times, numbers and codes
///    (cut at 64 code points) of its errors are kept over the history as points are.
/// 8. **Agents.** A numbered line with an `agent` (1 to 63 ASCII letters, digits, `-`, `_`; any other is refused and
///    counted) is about that agent of a fleet. One that also has an `origin_seq` comes from that agent: `heard` becomes
///    `clock`, unless it is later already, and the line counts in the agent's current period of 10 s of `clock`. A
///    `peer` line sets the values that it gives, its texts cut at 256 bytes, and `heard` if it has one; the state
///    `forgotten` removes the agent. A `lost` line adds to the lost lines. A new agent comes after the others; when the
///    limit is reached, agents whose newest line was a day or more before `clock` go, and if there is none, the new one
///    is refused.
/// 9. **Kept lines.** A `kept` line of the hello's run, whose line has a number below the hello's `next_seq`, changes
///    only the series of that line, as by rule 4, its source's `newest` if that is earlier, and its alert (rule 10).
///    Kept windows replace none, and are passed over if the series has windows of another width.
/// 10. **Alerts.** An alert line says of a condition, what that is about, and the agent if it comes from one (rule 8)
///     whether it fires; all three are compared by their bytes. `firing` and `reminder` replace what was known; a new
///     alert comes after the others. `resolved` removes it, whatever its `id`. Kept lines count as live ones do, except
///     those with a number below that of the alert's newest line. Missing lines (rule 2) make all alerts doubtful until
///     their next line, but not those that kept lines have told before the first numbered line of the connection. A
///     `forgotten` agent's alerts go. An alert is refused and counted if condition or `about` has more than 2,048
///     bytes, if its agent has no valid name, or if there are `alerts`.
/// 11. Every numbered line is one of the newest `lines`, with the value and text that fit its type.
///
/// Texts are cut at 1,000 code points, and so are names that are only shown in `lines`; in `memory` they are cut at 64.
/// Names are compared by their bytes. A new name of a series, endpoint or source is refused and counted if it has more
/// than 2,048 bytes of UTF-8, or if the limit is reached; so is a series or endpoint of a source with such a name. An
/// agent line with an `agent` belongs to its source, all others to the feed itself; memory lines with an `agent` are
/// only points. Of an agent line's outputs, 64 are kept. Lines of an unknown type count as numbered lines if they have
/// a number; a data line is one of an unknown type with a `series`.
package struct Board: Sendable {
    /// The most that a board holds.
    package struct Limits: Sendable {
        // Bound: a board's series | 10,000, or `--max-series` | refused, counted in `refusedSeries`
        package var series = 10_000
        // Bound: a board's points | the history; 4,096 a series, 1,000,000 in all (38 MiB) | the series' oldest dropped, and it
        //   is marked as trimmed
        package var pointsPerSeries = 4_096
        package var points = 1_000_000
        // Bound: a board's windows | the history; 512 a series, 131,072 in all (16 MiB) | past the history dropped, then the
        //   series' earliest
        package var windowsPerSeries = 512
        package var windows = 131_072
        // Bound: a board's endpoints, with histograms | 4,096 (32 MiB) | refused, counted in `refusedEndpoints`
        package var endpoints = 4_096
        // Bound: a board's sources | 10,000 | refused, counted in `refusedSources`
        package var sources = 10_000
        // Bound: a board's names of series, endpoints, sources | 2,048 bytes each | refused and counted
        // Bound: a board's memory samples | 4,096 (1.3 MiB) | oldest dropped
        package var memory = 4_096
        // Bound: a board's newest lines | 500, five texts of 1,000 characters each (9.6 MiB) | oldest dropped
        package var lines = 500
        // Bound: a board's gaps | 100, reasons of 1,000 characters (391 KiB) | oldest dropped
        package var gaps = 100
        // Bound: a board's `data` of newest events | 4 KiB each | left out; the event says so, `dataLeftOut` counts
        /// Bytes of `data` that one event keeps.
        package var dataPerEvent = 4 << 10
        // Bound: a board's texts of newest events, messages of failing sources | 1,000 characters each | cut
        // Bound: a board's outputs of an `agent` line | 64, two texts of 4,096 bytes each (512 KiB) | left out
        package var outputs = 64
        // Bound: a board's errors | the history; 256 a source, 16,384 in all (4.5 MiB) | the source's oldest dropped
        package var errorsPerSource = 256
        package var errors = 16_384
        // Bound: a board's agents of a fleet | 10,000, seven texts of 256 bytes each (17 MiB) | those silent for a day
        //   dropped, else the new one refused and counted
        /// The same as in a store: a board with a lower limit would refuse lines of further agents one by one.
        package var agents = FeedState.Limits().members
        // Bound: a board's firing alerts | 10,000 | refused, counted in `alerts.refused`
        package var alerts = 10_000

        package init() {}

        package init(series: Int) { self.series = series }
    }

    static let longestText = 1_000
    static let longestName = 2_048
    private static let longestCode = 64
    private static let longestWord = 64

    /// A name, compared by its bytes as the agent does: a `String` treats two spellings of an é as equal.
    package struct Name: Sendable, Hashable {
        package let text: String

        package init(_ text: String) { self.text = text }

        package static func == (left: Name, right: Name) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

        package func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// An endpoint of one source: sources that poll the same endpoint have separate counts.
    private struct EndpointName: Sendable, Hashable {
        var endpoint: Name
        var source: Name

        init(_ endpoint: String, _ source: String) { (self.endpoint, self.source) = (Name(endpoint), Name(source)) }
    }

    package let limits: Limits

    /// The hello of the newest connection.
    package private(set) var hello: Line.Hello?
    /// The number of run changes since the board was created.
    package private(set) var runChanges = 0
    /// The agent's `bye` line; nil before it, and once the agent is back.
    package private(set) var bye: Line.Bye?
    /// The sequence number of the newest line applied or reported missing; 0 before the first.
    package private(set) var lastSequence = 0
    /// The agent's time, by its newest line.
    package private(set) var clock: Timestamp?

    /// In the order of their first line.
    package private(set) var series: [BoardSeries] = []
    private var points: [BoardRing<BoardPoint>] = []
    /// The number of events whose data was too long to keep.
    package private(set) var dataLeftOut = 0
    /// The number of events, points and window lines whose series was refused.
    package private(set) var refusedSeries = 0

    /// In the order of their first line, or of the newest stats line.
    package private(set) var endpoints: [BoardEndpoint] = []
    /// The last sequence number included in the newest stats line; 0 before there is one.
    package private(set) var statsAsOf = 0
    /// The number of lines whose endpoint was refused.
    package private(set) var refusedEndpoints = 0
    /// The number of further endpoints and sources that did not fit in the newest stats line.
    package private(set) var moreEndpoints = 0
    package private(set) var moreSources = 0
    /// In the order of their first line.
    package private(set) var sources: [BoardSource] = []
    /// Indices of the sources: those of the newest stats line in its order, then the others.
    package private(set) var sourceOrder: [Int] = []
    private var errors: [BoardRing<BoardError>] = []
    /// How many points and errors all rings may still grow by.
    private var pointRoom: Int
    private var errorRoom: Int
    /// The number of windows of all series.
    private var windowCount = 0
    /// The number of lines whose source was refused.
    package private(set) var refusedSources = 0

    private var shownAgents: ShownAgents
    /// The agents of a fleet, in the order of the first line about each.
    package var agents: [ShownAgent] { shownAgents.agents }
    /// The number of lines about a refused agent.
    package var refusedAgents: Int { shownAgents.refused }

    /// What fires.
    package private(set) var alerts: BoardAlerts

    package private(set) var memory: BoardRing<BoardMemory>
    /// The newest agent line.
    package private(set) var agent: Line.Agent?
    /// The newest numbered lines, the oldest first.
    package private(set) var lines: BoardRing<BoardLine>
    /// The newest gaps, the oldest first.
    package private(set) var gaps: BoardRing<BoardGap>
    /// The number of gaps in this run.
    package private(set) var gapCount = 0
    /// The number of lines missed in this run.
    package private(set) var missed = 0

    private var seriesByName: [Name: Int] = [:]
    private var endpointsByName: [EndpointName: Int] = [:]
    private var sourcesByName: [Name: Int] = [:]
    private var isRunning = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
        shownAgents = ShownAgents(limit: limits.agents)
        (pointRoom, errorRoom) = (limits.points, limits.errors)
        alerts = BoardAlerts(limit: limits.alerts)
        memory = BoardRing(capacity: limits.memory)
        lines = BoardRing(capacity: limits.lines)
        gaps = BoardRing(capacity: limits.gaps)
    }

    /// The index of the series with this name; nil when there is none.
    package func series(named name: String) -> Int? { seriesByName[Name(name)] }

    /// The index of a source's own series of this kind; nil when there is none.
    package func series(_ kind: SeriesKind, of source: String) -> Int? { series(named: kind.prefix + source) }

    /// The index of the source with this name; nil when there is none.
    package func source(named name: String) -> Int? { sourcesByName[Name(name)] }

    /// The agent of a fleet that a source belongs to; nil for the feed's own sources.
    package func agent(ofSource source: String) -> String? {
        guard let dot = source.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let name = String(source[..<dot])
        return shownAgents.hasAgent(named: name) ? name : nil
    }

    /// The points of a series, the oldest first.
    package func points(of series: Int) -> BoardRing<BoardPoint> { points[series] }

    /// The errors of a source within the history, the oldest first.
    package func errors(of source: Int) -> BoardRing<BoardError> { errors[source] }

    // MARK: The fold

    /// Applies one line; see `Board` for the rules.
    package mutating func apply(_ line: Line) {
        switch line.body {
        case .hello(let hello): begin(hello)
        case .stats(let stats): list(stats, at: line.time)
        case .gap(let gap): miss(from: gap.from, to: gap.to, reason: gap.reason ?? "", time: line.time)
        case .bye(let bye): self.bye = bye
        default: break
        }
        guard let sequence = line.seq else {
            clock = line.time
            if case .kept(let kept) = line.body { recall(kept) }
            return
        }
        guard advance(to: sequence, time: line.time) else { return }
        if case .data = line.body {
            clock = Swift.max(clock ?? line.time, line.time)
        } else if line.agent != nil {
            clock = Swift.max(clock ?? line.time, line.time)
        } else {
            clock = line.time
        }
        if let agent = line.agent { shownAgents.apply(line, of: agent, at: clock ?? line.time) }
        alerts.goOn()
        fold(line, sequence: sequence)
        lines.append(BoardLine(line, sequence: sequence))
    }

    private mutating func fold(_ line: Line, sequence: Int) {
        let source = line.source ?? ""
        let time = line.time
        switch line.body {
        case .data(let data):
            plot(data.value, time, sequence, in: add(data, source: source, time: time, sequence: sequence))
            guard let index = sourceIndex(source, time: time) else { return }
            answer(index, at: time, sequence)
            sources[index].hasNewData = true
            sources[index].events += 1
            sources[index].newest = time
            if sequence > statsAsOf, let pointer = data.valuePointer { sources[index].valuePointer = pointer }
        case .latency(let sample):
            plot(sample.ms, time, sequence, in: seriesIndex(SeriesKind.latency.prefix + source, source: source))
            self.time(sample, source: source, time: time, sequence: sequence)
            guard let index = sourceIndex(source, time: time) else { return }
            if sample.status == 304 { sources[index].confirmed = time }
            if sample.status == 304 || sources[index].hasNewData { answer(index, at: time, sequence) }
            sources[index].hasNewData = false
        case .memory(let sample):
            let series = seriesIndex(SeriesKind.memory.prefix + source, source: source)
            plot(Double(sample.resident), time, sequence, in: series)
            if let index = self.source(named: source), sources[index].state == .starting {
                enter(.ok, index, at: time, sequence)
            }
            guard line.agent == nil else { return }
            memory.append(BoardMemory(time: time, source: source.cut(to: Self.longestCode), sample: sample))
        case .window(let window):
            keep(window, source: source)
        case .error(let failure):
            fail(failure, source: source, time: time, sequence: sequence)
        case .progress(let progress):
            count(progress, time, sequence, of: source)
            for key in progress.gone {
                if let index = series(named: "\(source)/\(key)") { series[index].goneAt = time }
            }
            guard let index = sourceIndex(source, time: time) else { return }
            answer(index, at: time, sequence)
            sources[index].progress = progress
            sources[index].progress?.gone = []
        case .recovered(let recovery):
            guard let index = sourceIndex(source, time: time) else { return }
            enter(.ok, index, at: time, sequence)
            sources[index].outage = BoardOutage(end: time, recovery: recovery)
        case .agent(var agent):
            if agent.outputs.count > limits.outputs { agent.outputs = Array(agent.outputs.prefix(limits.outputs)) }
            if line.agent == nil {
                self.agent = agent
            } else if let index = sourceIndex(source, time: time) {
                sources[index].agent = agent
            }
        case .alert(let alert): apply(alert, line, sequence: sequence)
        case .peer(let peer):
            guard let agent = line.agent, peer.state == MemberState.Standing.forgotten.rawValue else { return }
            alerts.remove(of: agent)
        case .hello, .stats, .restart, .lost, .clock, .gap, .bye, .refusal, .kept, .unknown:
            break
        }
    }

    /// Rule 10: an alert line of the feed's own, or of an agent of a fleet.
    private mutating func apply(_ alert: Alert, _ line: Line, sequence: Int) {
        alerts.apply(alert, of: line.isForwarded ? line.agent : nil, sequence: sequence)
    }

    /// Rule 9: shows a line from before those that the reader gets.
    private mutating func recall(_ kept: Line.Kept) {
        let line = kept.line
        let source = line.source ?? ""
        guard let hello, kept.run == hello.run, let sequence = line.seq, sequence < hello.nextSeq else { return }
        switch line.body {
        case .data(let data):
            plot(data.value, line.time, sequence, in: add(data, source: source, time: line.time, sequence: sequence))
            guard let index = self.source(named: source) else { return }
            sources[index].newest = Swift.max(sources[index].newest ?? line.time, line.time)
        case .latency(let sample):
            plot(sample.ms, line.time, sequence, in: seriesIndex(SeriesKind.latency.prefix + source, source: source))
        case .memory(let sample):
            let series = seriesIndex(SeriesKind.memory.prefix + source, source: source)
            plot(Double(sample.resident), line.time, sequence, in: series)
        case .progress(let progress): count(progress, line.time, sequence, of: source)
        case .alert(let alert): apply(alert, line, sequence: sequence)
        case .window:
            for window in kept.windows { keep(window, source: source) }
        default: break
        }
    }

    /// Rules 6 and 7: sets the base of endpoints and sources, unless it is older than the board's state.
    private mutating func list(_ stats: Line.Stats, at time: Timestamp) {
        guard stats.asOf >= lastSequence else { return }
        rebase(asOf: stats.asOf, stats.endpoints)
        (moreEndpoints, moreSources) = (stats.moreEndpoints, stats.moreSources)
        // Bound: a board's types, units and bands | one `stats` line (1 MiB) | replaced by the next one
        // Clears all descriptions first, so that together they never exceed what fits in one line.
        for index in sources.indices { sources[index].list(as: nil) }
        var order: [Int] = []
        for status in stats.sources {
            let known = sources.count
            guard let index = sourceIndex(status.source, time: status.since ?? time) else { continue }
            if index >= known || !sources[index].isListed { order.append(index) }
            sources[index].list(as: status)
            enter(status.state, index, at: status.since ?? time, .max)
            if let failure = status.failure { keep(failure, of: index) }
            if status.isWhole { sources[index].asOf = stats.asOf }
            sources[index].answered = status.answered ?? sources[index].answered
            sources[index].since = status.since ?? sources[index].since
        }
        sourceOrder = order + sources.indices.filter { !sources[$0].isListed }
        for index in series.indices { series[index].span = span(of: series[index].source) }
    }

    /// Rule 5: how wide the windows of a source's series are, and for how long they and the points are kept.
    private func span(of source: String) -> WindowSpan {
        let rhythm = self.source(named: source).map { sources[$0].rhythm } ?? .stream
        return WindowSpan(rhythm, interval: interval, history: hello?.history ?? .seconds(120))
    }

    /// The width of the agent's windows, but for sources with a longer rhythm.
    package var interval: Duration { hello.map { $0.interval > .zero ? $0.interval : .seconds(10) } ?? .seconds(10) }

    /// Rule 1: starts a connection.
    private mutating func begin(_ new: Line.Hello) {
        if let old = hello, old.run != new.run {
            let changes = runChanges + 1
            self = Board(limits: limits)
            runChanges = changes
        }
        hello = new
        bye = nil
        alerts.greet()
    }

    /// Rule 2: sets the last sequence number; returns whether the line is new.
    private mutating func advance(to sequence: Int, time: Timestamp) -> Bool {
        guard sequence > lastSequence else { return false }
        if isRunning, hello?.filtered != true, sequence > lastSequence + 1 {
            addGap(from: lastSequence + 1, to: sequence - 1, reason: "hole", time: time)
        }
        isRunning = true
        lastSequence = sequence
        return true
    }

    /// Rule 2: applies a gap line.
    private mutating func miss(from: Int, to: Int, reason: String, time: Timestamp) {
        guard to > lastSequence else { return }
        let first = Swift.max(from, lastSequence + 1)
        if first <= to { addGap(from: first, to: to, reason: reason, time: time) }
        lastSequence = to
        isRunning = true
    }

    private mutating func addGap(from: Int, to: Int, reason: String, time: Timestamp) {
        gaps.append(BoardGap(from: from, to: to, reason: reason.cut(to: Self.longestText), time: time))
        gapCount += 1
        alerts.doubt()
        missed = missed.addingSaturated(to - from).addingSaturated(1)
    }

    /// Rule 4: adds an event to a series; returns the series' index, nil when it is refused.
    private mutating func add(_ data: Line.Data, source: String, time: Timestamp, sequence: Int) -> Int? {
        guard let index = seriesIndex(data.series, source: source) else { return nil }
        series[index].events += 1
        series[index].goneAt = nil
        let old = series[index].event
        if let old, (old.time, old.sequence) > (time, sequence) { return index }
        var event = BoardEvent(
            time: time, sequence: sequence, value: data.value, word: data.word, since: data.since,
            text: data.text?.cut(to: Self.longestText), isCut: data.truncated)
        if let bytes = data.data {
            if bytes.count <= limits.dataPerEvent {
                // A copy, because the slice would keep alive the whole chunk that contained the line.
                event.data = Array(bytes)
            } else {
                event.isCut = true
                dataLeftOut += 1
            }
        }
        series[index].event = event
        if data.value != nil { series[index].lastWord = data.word }
        return index
    }

    /// Rule 4: adds the number of items in a complete answer to its series.
    private mutating func count(_ progress: Progress, _ time: Timestamp, _ sequence: Int, of source: String) {
        guard let items = progress.items else { return }
        plot(Double(items), time, sequence, in: seriesIndex(SeriesKind.count.prefix + source, source: source))
    }

    /// Rule 4: adds a point to a series, if there is a value and a series.
    private mutating func plot(_ value: Double?, _ time: Timestamp, _ sequence: Int, in index: Int?) {
        guard let value, value.isFinite, let index else { return }
        let point = BoardPoint(time: time, value: value, sequence: sequence)
        series[index].count += 1
        if series[index].newest.map({ point.isLater(than: $0) }) ?? true { series[index].newest = point }
        let expiry = expiry(at: time, after: series[index].span.history)
        guard point.microseconds > expiry else { return }
        points[index].removeFirst(while: { $0.microseconds <= expiry })
        if points[index].append(point, sharing: &pointRoom) != nil { series[index].isTrimmed = true }
    }

    /// The time up to which everything is past a history, in microseconds; based on the line's `time` without a clock.
    private func expiry(at time: Timestamp, after history: Duration) -> Int64 {
        (clock ?? time).microseconds.subtractingSaturated(history.microseconds)
    }

    /// Rule 5: adds a window to a series.
    private mutating func keep(_ line: Line.Window, source: String) {
        var window = BoardWindow(line)
        guard window.width > 0, window.count > 0, let index = seriesIndex(line.series, source: source) else { return }
        let before = series[index].windows.count
        defer { windowCount += series[index].windows.count - before }
        window.band = window.band.map { LineEncoder.cut($0, at: Self.longestWord) }
        window.trend = window.trend.map { LineEncoder.cut($0, at: Self.longestWord) }
        if let first = series[index].windows.first, first.width != window.width {
            // A kept one says nothing new.
            if line.isKept { return }
            series[index].windows = []
        }
        var position = series[index].windows.endIndex
        while position > 0, series[index].windows[position - 1].start > window.start { position -= 1 }
        if position > 0, series[index].windows[position - 1].start == window.start {
            if !line.isKept { series[index].windows[position - 1] = window }
            return
        }
        series[index].windows.insert(window, at: position)
        let past = expiry(at: window.start, after: series[index].span.history)
        let expired = series[index].windows.dropLast().prefix {
            $0.start.microseconds.addingSaturated($0.width) <= past
        }.count
        // A new array, as one that had many keeps their memory.
        if expired > 0 { series[index].windows = Array(series[index].windows.dropFirst(expired)) }
        let count = series[index].windows.count
        if count > limits.windowsPerSeries || count > 1 && windowCount + count - before > limits.windows {
            series[index].windows.removeFirst()
        }
    }

    /// Rule 7: sets a source's state, unless line `sequence` is included in its current one.
    private mutating func enter(_ state: SourceStatus.State, _ index: Int, at time: Timestamp, _ sequence: Int) {
        guard sequence > sources[index].asOf else { return }
        sources[index].enter(state, at: time)
    }

    /// Rule 7: records a good answer of a source.
    private mutating func answer(_ index: Int, at time: Timestamp, _ sequence: Int) {
        enter(.ok, index, at: time, sequence)
        if sequence > sources[index].asOf { sources[index].answered = clock }
    }

    /// Rule 7: keeps a source's newest failure.
    private mutating func keep(_ failure: SourceFailure, of index: Int) {
        var failure = failure
        failure.code = failure.code.cut(to: Self.longestText)
        failure.message = failure.message?.cut(to: Self.longestText)
        sources[index].failure = failure
    }

    /// Rule 6: replaces the base of all endpoints.
    private mutating func rebase(asOf sequence: Int, _ said: [Line.Endpoint]) {
        let known = endpoints
        let indices = endpointsByName
        endpoints = []
        endpointsByName = [:]
        statsAsOf = sequence
        for endpoint in said {
            let name = EndpointName(endpoint.endpoint, endpoint.source)
            guard endpointsByName[name] == nil, let index = endpointIndex(name) else { continue }
            let summary = endpoint.summary
            if let old = indices[name].map({ known[$0] }) {
                endpoints[index].newest = old.newest
                endpoints[index].newestTime = old.newestTime
                if old.histogram.count == summary.count, old.histogram.errors == summary.errors {
                    endpoints[index].histogram = old.histogram
                    continue
                }
            }
            endpoints[index].histogram = LatencyHistogram(summary)
        }
    }

    /// Rule 6: counts one answered request.
    private mutating func time(_ sample: LatencySample, source: String, time: Timestamp, sequence: Int) {
        guard let index = endpointIndex(EndpointName(sample.endpoint, source)) else { return }
        endpoints[index].newest = sample
        endpoints[index].newestTime = time
        if sequence > statsAsOf { endpoints[index].histogram.record(sample.ms) }
    }

    /// Rules 6 and 7: counts an error.
    private mutating func fail(_ failure: Failure, source name: String, time: Timestamp, sequence: Int) {
        if sequence > statsAsOf, let endpoint = failure.endpoint,
            let index = endpointIndex(EndpointName(endpoint, name))
        {
            endpoints[index].histogram.recordErrors()
        }
        guard let index = sourceIndex(name, time: time) else { return }
        enter(.failing, index, at: time, sequence)
        sources[index].errors += 1
        let error = BoardError(
            microseconds: time.microseconds, sequence: sequence, code: failure.code.rawValue.cut(to: Self.longestCode))
        let expiry = expiry(at: time, after: span(of: name).history)
        if error.microseconds > expiry {
            errors[index].removeFirst(while: { $0.microseconds <= expiry })
            errors[index].append(error, sharing: &errorRoom)
        }
        if sequence > sources[index].asOf { keep(SourceFailure(failure, at: time), of: index) }
    }

    // MARK: Names

    private mutating func seriesIndex(_ name: String, source: String) -> Int? {
        if let index = seriesByName[Name(name)] { return index }
        guard series.count < limits.series, Self.areNames(name, source) else {
            refusedSeries += 1
            return nil
        }
        series.append(BoardSeries(name: name, source: source, span: span(of: source)))
        points.append(BoardRing(capacity: limits.pointsPerSeries))
        seriesByName[Name(name)] = series.count - 1
        return series.count - 1
    }

    private mutating func endpointIndex(_ name: EndpointName) -> Int? {
        if let index = endpointsByName[name] { return index }
        guard endpoints.count < limits.endpoints, Self.areNames(name.endpoint.text, name.source.text) else {
            refusedEndpoints += 1
            return nil
        }
        endpoints.append(BoardEndpoint(name: name.endpoint.text, source: name.source.text))
        endpointsByName[name] = endpoints.count - 1
        return endpoints.count - 1
    }

    private mutating func sourceIndex(_ name: String, time: Timestamp) -> Int? {
        if let index = sourcesByName[Name(name)] { return index }
        guard sources.count < limits.sources, Self.areNames(name) else {
            refusedSources += 1
            return nil
        }
        sources.append(BoardSource(name: name, since: time))
        errors.append(BoardRing(capacity: limits.errorsPerSource))
        sourcesByName[Name(name)] = sources.count - 1
        sourceOrder.append(sources.count - 1)
        return sources.count - 1
    }

    private static func areNames(_ names: String...) -> Bool { names.allSatisfy { $0.utf8.count <= longestName } }
}

extension String {
    /// Returns at most the first `limit` code points.
    func cut(to limit: Int) -> String {
        utf8.count <= limit ? self : String(unicodeScalars.prefix(limit))
    }
}
