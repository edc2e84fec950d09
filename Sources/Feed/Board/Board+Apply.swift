import Reactor

extension Board {
    /// Folds one line in; see `Board` for what it does.
    package mutating func apply(_ line: Line) {
        switch line.body {
        case .hello(let hello): begin(hello)
        case .stats(let stats): take(stats, at: line.time)
        case .gap(let gap): miss(from: gap.from, to: gap.to, reason: gap.reason ?? "", time: line.time)
        case .bye(let bye): self.bye = bye
        default: break
        }
        guard let sequence = line.seq else {
            clock = line.time
            return
        }
        guard advance(to: sequence, time: line.time) else { return }
        if case .data = line.body {
            clock = Swift.max(clock ?? line.time, line.time)
        } else {
            clock = line.time
        }
        fold(line, sequence: sequence)
        lines.append(BoardLine(line, sequence: sequence))
    }

    private mutating func fold(_ line: Line, sequence: Int) {
        let source = line.source ?? ""
        let time = line.time
        switch line.body {
        case .data(let data):
            if let series = take(data, source: source, time: time, sequence: sequence), let value = data.value {
                plot(value, time: time, sequence: sequence, in: series)
            }
            guard let index = sourceIndex(source, time: time) else { return }
            sources[index].enter(.ok, at: time)
            sources[index].events += 1
            sources[index].newest = time
        case .latency(let sample):
            let series = "latency:" + source
            if let series = seriesIndex(series, source: source) {
                plot(sample.ms, time: time, sequence: sequence, in: series)
            }
            self.time(sample, source: source, time: time, sequence: sequence)
            guard let index = sourceIndex(source, time: time) else { return }
            if sample.status == 304 { sources[index].enter(.ok, at: time) }
        case .memory(let sample):
            let series = "memory:" + source
            if let series = seriesIndex(series, source: source) {
                plot(Double(sample.resident), time: time, sequence: sequence, in: series)
            }
            memory.append(BoardMemory(time: time, source: source.cut(to: Self.longestText), sample: sample))
        case .window(let window):
            keep(BoardWindow(window), series: window.series, source: source)
        case .error(let failure):
            fail(failure, source: source, time: time, sequence: sequence)
        case .progress(let progress):
            guard let index = sourceIndex(source, time: time) else { return }
            sources[index].enter(.ok, at: time)
            sources[index].progress = progress
        case .agent(let agent):
            self.agent = agent
        case .hello, .stats, .gap, .bye, .resync, .refusal, .unknown:
            break
        }
    }

    /// Rules 6 and 7: the base of endpoints and sources, unless it is older than what is here.
    private mutating func take(_ stats: Line.Stats, at time: Timestamp) {
        guard stats.asOf >= lastSequence else { return }
        rebase(
            asOf: stats.asOf,
            stats.endpoints.map { (EndpointName($0.endpoint, source: $0.source ?? ""), LatencySummary($0)) })
        // Descriptions go as well, so that those of all sources together are never more than one line has room for.
        for index in sources.indices { sources[index].unlist() }
        for source in stats.sources {
            guard let state = BoardSource.State(rawValue: source.state),
                let index = sourceIndex(source.source, time: source.since ?? time)
            else { continue }
            sources[index].enter(state, at: source.since ?? time)
            sources[index].since = source.since ?? sources[index].since
            sources[index].isListed = true
            sources[index].type = source.type?.cut(to: Self.longestText)
            sources[index].unit = source.unit
            sources[index].bands = source.bands
        }
    }
}

extension LatencySummary {
    /// What a stats line says of one endpoint; what it does not say is 0.
    package init(_ endpoint: Line.Endpoint) {
        self.init()
        count = endpoint.count
        errors = endpoint.errors
        last = endpoint.last ?? 0
        mean = endpoint.mean ?? 0
        minimum = endpoint.min ?? 0
        p50 = endpoint.p50 ?? 0
        p90 = endpoint.p90 ?? 0
        p95 = endpoint.p95 ?? 0
        p99 = endpoint.p99 ?? 0
        maximum = endpoint.max ?? 0
    }
}

extension BoardWindow {
    init(_ window: Line.Window) {
        self.init(
            start: window.start, width: window.width.microseconds, last: window.last, count: window.count,
            minimum: window.min, maximum: window.max, mean: window.mean, revision: window.revision,
            band: window.band?.cut(to: Board.longestText), trend: window.trend?.cut(to: Board.longestText))
    }
}

extension BoardLine {
    init(_ line: Line, sequence: Int) {
        self.init(
            sequence: sequence, time: line.time, type: line.type.cut(to: Board.longestText),
            source: (line.source ?? "").cut(to: Board.longestText))
        switch line.body {
        case .data(let data):
            series = data.series
            value = data.value
            text = data.text
        case .latency(let sample):
            value = sample.ms
            text = sample.endpoint
        case .memory(let sample):
            value = Double(sample.resident)
        case .window(let window):
            series = window.series
            value = window.last
        case .error(let failure):
            text = failure.message
            code = failure.code.rawValue.cut(to: Board.longestText)
        case .progress(let progress):
            value = Double(progress.done)
        case .hello, .stats, .agent, .gap, .bye, .resync, .refusal, .unknown:
            break
        }
        series = series?.cut(to: Board.longestText)
        text = text?.cut(to: Board.longestText)
    }
}
