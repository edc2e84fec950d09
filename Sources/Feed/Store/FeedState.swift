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
        /// Bytes of memory for names of series as lines have them; those of further ones are encoded for each line.
        package var nameBytes = 4 << 20
        /// How many endpoints have statistics.
        package var endpoints = 10_000
        /// Data events after which no more are taken; nil for no limit.
        package var data: Int?

        package init() {}
    }

    package let limits: Limits
    package internal(set) var log: LineLog
    package var counts = StoreCounts()
    /// The outputs as the next `agent` line shows them; whoever keeps the readers keeps them.
    package var outputs: [OutputState] = []
    var encoder = LineEncoder()
    var sources: [Source] = []
    var series: [Series] = []
    var sourceIndices: [String: Int] = [:]
    var prefixes: PrefixArena
    let width: Int64
    private let mostData: Int
    var table: SeriesTable
    /// How the endpoints have answered, in the order they were first asked.
    package internal(set) var endpoints: [EndpointStatistics] = []
    var endpointIndices: [EndpointKey: Int] = [:]
    /// Series whose closed windows changed in the batch under way.
    var revised: [Int] = []
    /// When the next window closes, and when it began: what is older than that has closed.
    var boundary = Timestamp(microseconds: .min)
    var openSince = Timestamp(microseconds: .min)
    var lastWall = Timestamp(microseconds: .min)
    private var hasReportedSeries = false
    private var hasReportedEndpoints = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
        width = limits.interval.microseconds
        mostData = limits.data ?? .max
        log = LineLog(capacity: limits.logCapacity, history: limits.history)
        table = SeriesTable(limit: limits.series)
        prefixes = PrefixArena(limit: limits.nameBytes)
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
        if counts.refusedSeries > 0, !hasReportedSeries { reportSeries(wall, now) }
        if counts.refusedEndpoints > 0, !hasReportedEndpoints { reportEndpoints(wall, now) }
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

        // In bounds: `EventBatch.add` appended these bytes one behind the other.
        var next = record.offset
        func piece(_ length: Int32) -> UnsafeBufferPointer<UInt8>? {
            guard length >= 0 else { return nil }
            defer { next += Int(length) }
            return UnsafeBufferPointer(rebasing: bytes[next..<next + Int(length)])
        }
        let key = piece(record.keyLength)
        let text = piece(record.textLength)
        let data = piece(record.dataLength)
        let value = record.hasValue ? record.value : nil

        if let value, let index = seriesIndex(source, kind: .data, key: key) {
            self.record(value, in: index, at: time, wall, now)
            if !series[index].prefix.isEmpty { return encode(value, text, data, time, .whole(names(of: index)), now) }
        } else if value == nil, let index = table.find(source: place(source, .data), keyBytes: key.map { .init($0) }),
            !series[index].prefix.isEmpty
        {
            // Without a value it needs no windows, and so no series; but if there is one, its names are at hand.
            return encode(nil, text, data, time, .whole(names(of: index)), now)
        }
        let prefix = sources[source.index].prefix
        prefix.withUnsafeBufferPointer { prefix in
            let key = key.map { LineEncoder.cut($0, at: SeriesTable.longestKey) }
            encode(value, text, data, time, .parts(prefix, key: key), now)
        }
    }

    /// Whether an event is from more than a window ahead of the clock.
    @inline(__always)
    func isFuture(_ time: Timestamp, _ wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds &+ width
    }

    @inline(__always)
    private mutating func encode(
        _ value: Double?, _ text: UnsafeBufferPointer<UInt8>?, _ data: UnsafeBufferPointer<UInt8>?,
        _ time: Timestamp, _ names: LineEncoder.Names, _ now: LoopInstant
    ) {
        let most = LineEncoder.mostDatum(names: names.most, text: text?.count ?? 0, data: data?.count ?? 0)
        log.append(atMost: most, at: now) { sequence, writer in
            encoder.datum(
                value: value, text: text, data: data, sequence: sequence, time: time, names: names, to: writer)
        }
    }

    private mutating func reportSeries(_ wall: Timestamp, _ now: LoopInstant) {
        hasReportedSeries = true
        let reason =
            table.count < table.limit
            ? "a series' key is longer than \(SeriesTable.longestKey) bytes" : "more than \(limits.series) series"
        report("\(reason): events of further ones still flow, but have no windows", wall, now)
    }

    private mutating func reportEndpoints(_ wall: Timestamp, _ now: LoopInstant) {
        hasReportedEndpoints = true
        report("more than \(limits.endpoints) endpoints: further ones are asked, but have no statistics", wall, now)
    }

    private mutating func report(_ message: String, _ wall: Timestamp, _ now: LoopInstant) {
        let failure = Failure(.config, message)
        log.append(atMost: LineEncoder.most(message.utf8.count, 16), at: now) { sequence, writer in
            encoder.failure(failure, sequence: sequence, time: wall, source: "catwatch", to: writer)
        }
    }
}
