import Reactor

// One function for each kind of line, told in plain values what the line says; `Board.apply` calls them.
extension Board {
    static let longestText = 1_000
    static let longestName = 2_048
    static let longestCode = 64
    static let defaultHistory: Int64 = 120_000_000

    /// Sources that ask the same endpoint have it counted for each.
    struct EndpointName: Sendable, Hashable {
        var endpoint: String
        var source: String

        init(_ endpoint: String, source: String) {
            self.endpoint = endpoint
            self.source = source
        }
    }

    /// Rule 1: a connection begins.
    mutating func begin(_ new: Line.Hello) {
        if let old = hello, old.run != new.run {
            let changes = runChanges + 1
            self = Board(limits: limits)
            runChanges = changes
        }
        hello = new
        bye = nil
    }

    /// Rule 2: whether a numbered line is new; if so its number is the last one now.
    mutating func advance(to sequence: Int, time: Timestamp) -> Bool {
        guard sequence > lastSequence else { return false }
        if isRunning, hello?.filtered != true, sequence > lastSequence + 1 {
            note(from: lastSequence + 1, to: sequence - 1, reason: "hole", time: time)
        }
        isRunning = true
        lastSequence = sequence
        return true
    }

    /// Rule 2: a gap line.
    mutating func miss(from: Int, to: Int, reason: String, time: Timestamp) {
        guard to > lastSequence else { return }
        let first = Swift.max(from, lastSequence + 1)
        if first <= to { note(from: first, to: to, reason: reason, time: time) }
        lastSequence = to
        isRunning = true
    }

    private mutating func note(from: Int, to: Int, reason: String, time: Timestamp) {
        gaps.append(BoardGap(from: from, to: to, reason: reason.cut(to: Self.longestText), time: time))
        gapCount += 1
        // Both are positive, so that only the sum could overflow.
        missed = missed.addingReportingOverflow(to - from + 1).overflow ? .max : missed + (to - from + 1)
    }

    /// Rule 4: an event of a series; gives the series' index, nil when it is refused one.
    mutating func take(_ data: Line.Data, source: String, time: Timestamp, sequence: Int) -> Int? {
        guard let index = seriesIndex(data.series, source: source) else { return nil }
        series[index].events += 1
        let old = series[index].event
        if let old, (old.time, old.sequence) > (time, sequence) { return index }
        var event = BoardEvent(
            time: time, sequence: sequence, value: data.value, text: data.text?.cut(to: Self.longestText),
            isCut: data.truncated)
        if let bytes = data.data {
            if bytes.count <= limits.dataPerEvent {
                // A copy, as the slice keeps the whole chunk alive that the line came in.
                event.data = Array(bytes)
            } else {
                event.isCut = true
                dataLeftOut += 1
            }
        }
        series[index].event = event
        eventData.replace(index, old: old?.data?.count ?? 0, by: event.data?.count, sequence: sequence)
        while let oldest = eventData.removeOldest(above: limits.data) {
            series[oldest].event?.data = nil
            series[oldest].event?.isCut = true
            dataLeftOut += 1
        }
        return index
    }

    /// Rule 4: a value of a series.
    mutating func plot(_ value: Double, time: Timestamp, sequence: Int, in index: Int) {
        guard value.isFinite else { return }
        let point = BoardPoint(time: time, value: value, sequence: sequence)
        series[index].count += 1
        if series[index].newest.map({ point.isLater(than: $0) }) ?? true { series[index].newest = point }
        let expiry = expiry(at: time)
        if point.microseconds > expiry { points.append(point, to: index, expiry: expiry) }
    }

    /// What is not later than this is past the history, in microseconds; `time` is the line's, for want of a clock.
    private func expiry(at time: Timestamp) -> Int64 {
        let history = hello?.history.microseconds ?? Self.defaultHistory
        let (oldest, overflow) = (clock ?? time).microseconds.subtractingReportingOverflow(history)
        return overflow ? .min : oldest
    }

    /// Rule 5: a window of a series.
    mutating func keep(_ window: BoardWindow, series name: String, source: String) {
        guard window.width > 0, window.count > 0, let index = seriesIndex(name, source: source) else { return }
        if let first = series[index].windows.first, first.width != window.width {
            windowCount -= series[index].windows.count
            series[index].windows = []
        }
        var place = series[index].windows.endIndex
        while place > 0, series[index].windows[place - 1].start > window.start { place -= 1 }
        if place > 0, series[index].windows[place - 1].start == window.start {
            if series[index].windows[place - 1].revision <= window.revision {
                series[index].windows[place - 1] = window
            }
            return
        }
        series[index].windows.insert(window, at: place)
        windowCount += 1
        if series[index].windows.count > limits.windowsPerSeries || windowCount > limits.windows {
            series[index].windows.removeFirst()
            windowCount -= 1
        }
    }

    /// Rule 6: the base of all endpoints.
    mutating func rebase(asOf sequence: Int, _ summaries: [(name: EndpointName, summary: LatencySummary)]) {
        let known = endpoints
        let places = endpointsByName
        endpoints = []
        endpointsByName = [:]
        statsAsOf = sequence
        for (name, summary) in summaries where endpointsByName[name] == nil {
            guard let index = endpointIndex(name) else { continue }
            if let old = places[name].map({ known[$0] }) {
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

    /// Rule 6: one answered request.
    mutating func time(_ sample: LatencySample, source: String, time: Timestamp, sequence: Int) {
        guard let index = endpointIndex(EndpointName(sample.endpoint, source: source)) else { return }
        endpoints[index].newest = sample
        endpoints[index].newestTime = time
        if sequence > statsAsOf { endpoints[index].histogram.record(sample.ms) }
    }

    /// Rules 6 and 7: an error.
    mutating func fail(_ failure: Failure, source name: String, time: Timestamp, sequence: Int) {
        if sequence > statsAsOf, let endpoint = failure.endpoint,
            let index = endpointIndex(EndpointName(endpoint, source: name))
        {
            endpoints[index].histogram.recordErrors()
        }
        guard let index = sourceIndex(name, time: time) else { return }
        sources[index].enter(.failing, at: time)
        sources[index].errors += 1
        let error = BoardError(
            microseconds: time.microseconds, sequence: sequence, code: failure.code.rawValue.cut(to: Self.longestCode))
        let expiry = expiry(at: time)
        if error.microseconds > expiry { errors.append(error, to: index, expiry: expiry) }
        sources[index].code = failure.code.rawValue.cut(to: Self.longestText)
        sources[index].message = failure.message.cut(to: Self.longestText)
        sources[index].attempt = failure.attempt
        sources[index].retryAt = failure.retryIn.map { time.adding($0.microseconds) }
    }

    // MARK: Names

    mutating func seriesIndex(_ name: String, source: String) -> Int? {
        if let index = seriesByName[name] { return index }
        guard series.count < limits.series, Self.isShort(name), Self.isShort(source) else {
            refusedSeries += 1
            return nil
        }
        series.append(BoardSeries(name: name, source: source))
        seriesByName[name] = series.count - 1
        return series.count - 1
    }

    mutating func endpointIndex(_ name: EndpointName) -> Int? {
        if let index = endpointsByName[name] { return index }
        guard endpoints.count < limits.endpoints, Self.isShort(name.endpoint), Self.isShort(name.source) else {
            refusedEndpoints += 1
            return nil
        }
        endpoints.append(BoardEndpoint(name: name.endpoint, source: name.source))
        endpointsByName[name] = endpoints.count - 1
        return endpoints.count - 1
    }

    mutating func sourceIndex(_ name: String, time: Timestamp) -> Int? {
        if let index = sourcesByName[name] { return index }
        guard sources.count < limits.sources, Self.isShort(name) else {
            refusedSources += 1
            return nil
        }
        sources.append(BoardSource(name: name, since: time))
        sourcesByName[name] = sources.count - 1
        return sources.count - 1
    }

    private static func isShort(_ name: String) -> Bool { name.utf8.count <= longestName }
}

extension String {
    /// At most `limit` code points from the start.
    func cut(to limit: Int) -> String {
        utf8.count <= limit ? self : String(unicodeScalars.prefix(limit))
    }
}

extension Timestamp {
    /// The time `microseconds` later, limited to what a `Timestamp` can say.
    fileprivate func adding(_ microseconds: Int64) -> Timestamp {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return Timestamp(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }
}
