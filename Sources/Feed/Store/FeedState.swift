package import Reactor

/// What the store knows, without clock or suspension: sources, series with their windows, endpoints, and the log.
///
/// One struct, so that a batch of events costs one exclusive access and no reference counting of the parts.
package struct FeedState: Sendable {
    package struct Limits: Sendable {
        /// The width of a window.
        package var interval: Duration = .seconds(10)
        /// How far back windows and lines are kept.
        package var history: Duration = .seconds(120)
        /// Bytes of memory for recent lines.
        package var logCapacity = 8 << 20
        /// How many series have windows.
        package var series = 10_000
        /// How many endpoints have statistics.
        package var endpoints = 1_000
        /// Data events after which no more are taken; nil for no limit.
        package var data: Int?

        package init() {}
    }

    struct Source: Sendable {
        let name: String
        /// `"type":"…","source":"…","series":"…`, without the closing quote.
        let prefix: [UInt8]
        var status: SourceStatus
    }

    struct Series: Sendable {
        var ring: WindowRing
        /// `"type":"…","source":"…","series":"…"`
        let prefix: [UInt8]
        /// Where in `prefix` the `"source"` key begins, which is what a window line says of it.
        let namesStart: Int
    }

    package let limits: Limits
    package internal(set) var log: LineLog
    package var counts = StoreCounts()
    /// The outputs as the next `agent` line shows them; whoever keeps the readers keeps them.
    package var outputs: [OutputState] = []
    var encoder = LineEncoder()
    var sources: [Source] = []
    var series: [Series] = []
    private var table: SeriesTable
    var endpoints: [EndpointStatistics] = []
    var endpointIndices: [String: Int] = [:]
    /// Series whose closed windows changed in the batch under way.
    var revised: [Int] = []
    /// When the next window closes, and when it began: what is older than that has closed.
    private var boundary = Timestamp(microseconds: .min)
    private var openSince = Timestamp(microseconds: .min)
    private var lastWall = Timestamp(microseconds: .min)
    private var hasReportedRefusal = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
        log = LineLog(capacity: limits.logCapacity, history: limits.history)
        table = SeriesTable(limit: limits.series)
    }

    /// Adds a source. Its events have `type`; names are the caller's to keep apart.
    package mutating func register(name: String, type: String, at time: Timestamp) -> SourceID {
        sources.append(
            Source(
                name: name, prefix: Self.prefix(type: type, source: name, series: name),
                status: SourceStatus(source: name, state: .starting, since: time)))
        return SourceID(index: sources.count - 1)
    }

    /// Numbers the events, puts them into their windows and encodes their lines.
    ///
    /// - Parameters:
    ///   - wall: the wall clock now, which lateness is measured by.
    ///   - now: the loop's clock now, which the log's age is measured by.
    package mutating func publish(_ events: [Event], wall: Timestamp, now: LoopInstant) {
        advance(wall: wall, now: now)
        for event in events {
            switch event.body {
            case .data(let datum): publish(datum, event, wall, now)
            default: publishOther(event, wall, now)
            }
        }
        flushRevised(wall, now)
        counts.refusedSeries = table.refused
        if counts.refusedSeries > 0, !hasReportedRefusal { reportRefusal(wall, now) }
    }

    /// Closes the windows whose time has come; to be called when `nextBoundary` has come, at least.
    package mutating func advance(wall: Timestamp, now: LoopInstant) {
        guard wall >= boundary || wall < lastWall else { return }
        let steppedBack = wall < lastWall
        lastWall = wall
        boundary = nextBoundary(after: wall)
        openSince = boundary - limits.interval
        for index in series.indices {
            if !steppedBack {
                guard let due = series[index].ring.nextDue, due <= wall else { continue }
            }
            flush(index, wall, now)
        }
        log.expire(at: now)
    }

    /// When the window ends that holds `wall`.
    package func nextBoundary(after wall: Timestamp) -> Timestamp {
        let width = limits.interval.microseconds
        return Window.end(of: Window.index(of: wall, width: width), width: width)
    }

    @inline(__always)
    private mutating func publish(_ datum: Datum, _ event: Event, _ wall: Timestamp, _ now: LoopInstant) {
        if let limit = limits.data, counts.data >= limit { return }
        counts.data += 1
        markOK(event.source, wall)
        let width = limits.interval.microseconds
        let isFuture = event.time.microseconds > wall.microseconds &+ width
        let time = isFuture ? wall : event.time
        if isFuture { counts.future += 1 }
        var datum = datum
        if let value = datum.value, !value.isFinite { datum.value = nil }
        guard let index = seriesIndex(event.source, kind: 0, key: datum.key) else {
            return encodeUntabled(datum, event.source, time, now)
        }
        if let value = datum.value { record(value, in: index, at: time, wall, now) }
        // In two steps, since `log` and `encoder` lie side by side in `self`.
        let prefix = series[index].prefix
        prefix.withUnsafeBufferPointer { prefix in
            log.append(atMost: LineEncoder.mostDatum(datum, prefix: prefix.count), at: now) { sequence, writer in
                encoder.datum(datum, sequence: sequence, time: time, prefix: prefix, to: writer)
            }
        }
    }

    /// Puts a value into its window; the line it belongs to comes next in the log.
    @inline(__always)
    mutating func record(_ value: Double, in index: Int, at time: Timestamp, _ wall: Timestamp, _ now: LoopInstant) {
        let sequence = log.nextSequence
        switch series[index].ring.record(value, time: time, sequence: sequence, now: wall) {
        case .recorded, .future:
            // Its window may have closed already: then its line appears again, after the batch.
            if time < openSince, revised.last != index { revised.append(index) }
        case .late: counts.late += 1
        case .full:
            // Cannot happen right after a flush, which the ring's documentation promises.
            flush(index, wall, now)
            let place = log.nextSequence
            if case .late = series[index].ring.record(value, time: time, sequence: place, now: wall) {
                counts.late += 1
            }
        }
    }

    @inline(__always)
    private mutating func markOK(_ source: SourceID, _ wall: Timestamp) {
        if sources[source.index].status.state != .ok { setState(.ok, of: source, wall) }
    }

    mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        guard sources[source.index].status.state != state else { return }
        sources[source.index].status.state = state
        sources[source.index].status.since = wall
    }

    /// The series' index; made when it is new. `kind` is 0 for data, 1 for latency, 2 for memory.
    @inline(__always)
    mutating func seriesIndex(_ source: SourceID, kind: Int, key: Bytes?) -> Int? {
        guard let index = table.index(source: SourceID(index: source.index &* 3 &+ kind), key: key) else { return nil }
        if index == series.count { addSeries(source, kind: kind, key: key) }
        return index
    }

    @inline(never)
    private mutating func addSeries(_ source: SourceID, kind: Int, key: Bytes?) {
        let name = sources[source.index].name
        let prefix: [UInt8]
        switch kind {
        case 0: prefix = Self.closed(sources[source.index].prefix, key: key)
        case 1: prefix = Self.closed(Self.prefix(type: "latency", source: name, series: "latency:\(name)"), key: nil)
        default: prefix = Self.closed(Self.prefix(type: "memory", source: name, series: "memory:\(name)"), key: nil)
        }
        let marker = Array("\"source\":".utf8)
        let namesStart = prefix.indices.first { prefix[$0...].starts(with: marker) } ?? 0
        series.append(
            Series(
                ring: WindowRing(width: limits.interval, history: limits.history), prefix: prefix,
                namesStart: namesStart))
        counts.series = series.count
    }

    /// An event whose series has no place in the table still flows.
    private mutating func encodeUntabled(_ datum: Datum, _ source: SourceID, _ time: Timestamp, _ now: LoopInstant) {
        let key = datum.key.map { $0.prefix(SeriesTable.longestKey) }
        let prefix = Self.closed(sources[source.index].prefix, key: key)
        prefix.withUnsafeBufferPointer { prefix in
            log.append(atMost: LineEncoder.mostDatum(datum, prefix: prefix.count), at: now) { sequence, writer in
                encoder.datum(datum, sequence: sequence, time: time, prefix: prefix, to: writer)
            }
        }
    }

    private mutating func reportRefusal(_ wall: Timestamp, _ now: LoopInstant) {
        hasReportedRefusal = true
        let message =
            "more than \(limits.series) series: events of further ones still flow, but have no windows"
        let failure = Failure(.config, message)
        log.append(atMost: LineEncoder.most(message.utf8.count, 16), at: now) { sequence, writer in
            encoder.failure(failure, sequence: sequence, time: wall, source: "catwatch", to: writer)
        }
    }

    private mutating func flushRevised(_ wall: Timestamp, _ now: LoopInstant) {
        guard !revised.isEmpty else { return }
        for index in revised {
            if let due = series[index].ring.nextDue, due <= wall { flush(index, wall, now) }
        }
        revised.removeAll(keepingCapacity: true)
    }

    private mutating func flush(_ index: Int, _ wall: Timestamp, _ now: LoopInstant) {
        let width = limits.interval.microseconds
        let names = series[index].prefix[series[index].namesStart...]
        // The ring is taken out while it lends its windows, so that the log can be appended to meanwhile.
        var ring = series[index].ring
        ring.flush(now: wall) { window in
            names.withUnsafeBufferPointer { names in
                log.append(atMost: LineEncoder.most(names.count), at: now) { sequence, writer in
                    encoder.window(
                        window, width: width, sequence: sequence, time: wall, names: names, to: writer)
                }
            }
        }
        series[index].ring = ring
    }

    private static func prefix(type: String, source: String, series: String) -> [UInt8] {
        let most = 64 + LineWriter.mostEscaped(type.utf8.count + source.utf8.count + series.utf8.count)
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = LineWriter(start)
            writer.raw("\"type\":")
            writer.string(type)
            writer.raw(",\"source\":")
            writer.string(source)
            writer.raw(",\"series\":")
            writer.string(series)
            count = writer.next - start - 1
        }
    }

    /// Adds `/key` and the closing quote to a source's prefix.
    private static func closed(_ prefix: [UInt8], key: Bytes?) -> [UInt8] {
        guard let key else { return prefix + [UInt8(ascii: "\"")] }
        let escaped = [UInt8](unsafeUninitializedCapacity: 2 + LineWriter.mostEscaped(key.count)) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = LineWriter(start)
            writer.string(key)
            count = writer.next - start
        }
        return prefix + [UInt8(ascii: "/")] + escaped.dropFirst()
    }
}
