package import Reactor

/// What the store knows, without clock or suspension: sources, series with their windows, endpoints, and the log.
///
/// One struct, so that a batch of events costs one exclusive access and no reference counting of the parts.
package struct FeedState: ~Copyable, Sendable {
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
        /// Where `prefixes` has `"type":"…","source":"…","series":"…"`.
        let prefix: Range<Int>
        /// Where it has `"source":"…","series":"…"`, which is what a window line says.
        let names: Range<Int>
    }

    /// What lines reserve for names depends on this; real ones are far shorter.
    private static let longestName = 1_024

    /// How the sources are doing, in the order they were registered.
    package var statuses: [SourceStatus] { sources.map(\.status) }

    package let limits: Limits
    package internal(set) var log: LineLog
    package var counts = StoreCounts()
    /// The outputs as the next `agent` line shows them; whoever keeps the readers keeps them.
    package var outputs: [OutputState] = []
    var encoder = LineEncoder()
    var sources: [Source] = []
    var series: [Series] = []
    private var prefixes = PrefixArena()
    private let width: Int64
    private let mostData: Int
    private var table: SeriesTable
    /// How the endpoints have answered, in the order they were first asked.
    package internal(set) var endpoints: [EndpointStatistics] = []
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
        width = limits.interval.microseconds
        mostData = limits.data ?? .max
        log = LineLog(capacity: limits.logCapacity, history: limits.history)
        table = SeriesTable(limit: limits.series)
    }

    /// Adds a source. Its name and type are cut at 1,024 bytes, and the names are the caller's to keep apart.
    package mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        let name = LineEncoder.cut(description.name, at: Self.longestName)
        let type = LineEncoder.cut(description.type, at: Self.longestName)
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
    package mutating func publish(_ batch: EventBatch, wall: Timestamp, now: LoopInstant) {
        advance(wall: wall, now: now)
        batch.bytes.withUnsafeBufferPointer { bytes in
            for record in batch.records {
                if record.other >= 0 {
                    publishOther(batch.others[Int(record.other)], wall, now)
                } else {
                    publish(record, bytes, wall, now)
                }
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
        return Window.end(of: Window.index(of: wall, width: width), width: width)
    }

    @inline(__always)
    private mutating func publish(
        _ record: EventBatch.Record, _ bytes: UnsafeBufferPointer<UInt8>, _ wall: Timestamp, _ now: LoopInstant
    ) {
        guard counts.data < mostData else { return }
        counts.data += 1
        let source = SourceID(index: Int(record.source))
        if sources[source.index].status.state != .ok { setState(.ok, of: source, wall) }
        let isFuture = isFuture(record.time, wall)
        let time = isFuture ? wall : record.time
        if isFuture { counts.future += 1 }

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

        guard let index = seriesIndex(source, kind: 0, key: key) else {
            let key = key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) }
            let prefix = Self.closed(sources[source.index].prefix, key: key)
            return prefix.withUnsafeBufferPointer { encode(value, text, data, time, $0, now) }
        }
        if let value { self.record(value, in: index, at: time, wall, now) }
        let range = series[index].prefix
        let prefix = UnsafeBufferPointer(rebasing: prefixes.buffer[range])
        encode(value, text, data, time, prefix, now)
    }

    /// Whether an event is from more than a window ahead of the clock.
    @inline(__always)
    func isFuture(_ time: Timestamp, _ wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds &+ width
    }

    @inline(__always)
    private mutating func encode(
        _ value: Double?, _ text: UnsafeBufferPointer<UInt8>?, _ data: UnsafeBufferPointer<UInt8>?,
        _ time: Timestamp, _ prefix: UnsafeBufferPointer<UInt8>, _ now: LoopInstant
    ) {
        let most = LineEncoder.mostDatum(prefix: prefix.count, text: text?.count ?? 0, data: data?.count ?? 0)
        log.append(atMost: most, at: now) { sequence, writer in
            encoder.datum(
                value: value, text: text, data: data, sequence: sequence, time: time, prefix: prefix, to: writer)
        }
    }

    /// Puts a value into its window; the line it belongs to comes next in the log.
    @inline(__always)
    mutating func record(_ value: Double, in index: Int, at time: Timestamp, _ wall: Timestamp, _ now: LoopInstant) {
        var outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: wall)
        if case .full = outcome {
            // Cannot happen again right after a flush, which the ring's documentation promises.
            flush(index, wall, now)
            outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: wall)
        }
        if case .late = outcome {
            counts.late += 1
        } else if time < openSince, revised.last != index {
            // Its window has closed already: its line appears again, after the batch.
            revised.append(index)
        }
    }

    mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        guard sources[source.index].status.state != state else { return }
        sources[source.index].status.state = state
        sources[source.index].status.since = wall
    }

    /// The series' index; made when it is new. `kind` is 0 for data, 1 for latency, 2 for memory.
    @inline(__always)
    mutating func seriesIndex(_ source: SourceID, kind: Int, key: UnsafeBufferPointer<UInt8>?) -> Int? {
        let place = SourceID(index: source.index &* 3 &+ kind)
        let found: Int?
        if let key {
            found = table.index(source: place, keyBytes: UnsafeRawBufferPointer(key))
        } else {
            found = table.index(source: place, key: nil)
        }
        guard let index = found else { return nil }
        if index == series.count { addSeries(source, kind: kind, key: key) }
        return index
    }

    @inline(never)
    private mutating func addSeries(_ source: SourceID, kind: Int, key: UnsafeBufferPointer<UInt8>?) {
        let name = sources[source.index].name
        let prefix: [UInt8]
        switch kind {
        case 0: prefix = Self.closed(sources[source.index].prefix, key: key)
        case 1: prefix = Self.closed(Self.prefix(type: "latency", source: name, series: "latency:\(name)"), key: nil)
        default: prefix = Self.closed(Self.prefix(type: "memory", source: name, series: "memory:\(name)"), key: nil)
        }
        let marker = Array("\"source\":".utf8)
        let namesStart = prefix.indices.first { prefix[$0...].starts(with: marker) } ?? 0
        let range = prefixes.append(prefix)
        series.append(
            Series(
                ring: WindowRing(width: limits.interval, history: limits.history), prefix: range,
                names: range.lowerBound + namesStart..<range.upperBound))
        counts.series = series.count
    }

    private mutating func reportRefusal(_ wall: Timestamp, _ now: LoopInstant) {
        hasReportedRefusal = true
        let reason =
            table.count < table.limit
            ? "a series' key is longer than \(SeriesTable.longestKey) bytes" : "more than \(limits.series) series"
        let message = "\(reason): events of further ones still flow, but have no windows"
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
        // The ring is taken out while it lends its windows, so that the log can be appended to meanwhile; another is put
        // in its place, or its memory would be shared and copied.
        var ring = WindowRing(width: limits.interval, history: limits.history)
        swap(&ring, &series[index].ring)
        let names = UnsafeBufferPointer(rebasing: prefixes.buffer[series[index].names])
        ring.flush(now: wall) { window in
            log.append(atMost: LineEncoder.mostWindow(names: names.count), at: now) { sequence, writer in
                encoder.window(window, width: width, sequence: sequence, time: wall, names: names, to: writer)
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
    private static func closed(_ prefix: [UInt8], key: UnsafeBufferPointer<UInt8>?) -> [UInt8] {
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
