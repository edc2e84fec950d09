import Feed
import Reactor
import TestSupport

/// Random batches and clock steps, given to a `FeedState` and to its twin.
struct FeedScenario {
    struct Report {
        /// The first difference.
        var mismatch: String?
        var events = 0
        var counts = StoreCounts()
        var windowLines = 0
        var steps = 0
        var trends = 0
        var registrations = 0
        /// Words of a row, and words that came late.
        var rows = 0
        var lateWords = 0
    }

    let seed: UInt64
    let limits: FeedState.Limits

    init(seed: UInt64, interval: Duration, history: Duration, series: Int) {
        self.seed = seed
        var limits = FeedState.Limits()
        limits.interval = interval
        limits.history = history
        limits.series = series
        self.limits = limits
    }

    private static let names = ["fact", "dogs", "catwatch"]
    private static let keys = ["a", "b", "Zürich", "\"x\\y\"", "\u{1}", "", "🐈", "k/l"]
    private static let endpoints = ["GET http://a/b", "GET http://a/c"]

    func run(events: Int) -> Report {
        var random = SeededGenerator(seed: seed)
        var state = FeedState(limits: limits)
        var twin = FeedTwin(limits: limits)
        var report = Report()
        var wall = Timestamp(microseconds: Int64(1_700_000_000_000_000 + random.next() % 100_000_000))
        var now = LoopInstant(nanoseconds: 5)
        var cursor = 1
        for name in Self.names {
            let description = Self.description(name, &random)
            _ = state.register(description, at: wall)
            twin.register(description, at: wall)
        }
        while report.events < events, report.mismatch == nil {
            wall = advance(wall, &random, &report)
            now = now.advanced(by: .microseconds(Int64(random.next() % 1_000)))
            if random.next() % 40 == 0 { change(&state, &twin, wall, now, &random, &report) }
            if random.next() % 10 == 0 {
                state.advance(at: Moment(wall: wall, now: now))
                twin.advance(wall: wall)
            } else {
                let batch = (0..<random.next() % 16).map { _ in event(wall, &random) }
                report.events += batch.count
                state.publish(EventBatch(batch), at: Moment(wall: wall, now: now))
                twin.publish(batch, wall: wall)
            }
            report.mismatch = compareLines(state, twin, &cursor) ?? compareRest(state, twin)
        }
        report.mismatch = report.mismatch.map { "\($0), seed \(seed), after \(report.events) events" }
        report.counts = state.counts
        report.windowLines = twin.windowLines
        report.trends = twin.trends
        (report.rows, report.lateWords) = (twin.rows, twin.lateWords)
        return report
    }

    /// What a reload or the end of an input does.
    private func change(
        _ state: inout FeedState, _ twin: inout FeedTwin, _ wall: Timestamp, _ now: LoopInstant,
        _ random: inout SeededGenerator, _ report: inout Report
    ) {
        let index = Int(random.next() % UInt64(Self.names.count))
        switch random.next() % 4 {
        case 0:
            var next: Int? = 0
            while let first = next { next = state.complete(from: first, atMost: 2, at: Moment(wall: wall, now: now)) }
            twin.complete(wall: wall)
        case 1:
            state.retire(SourceID(index: index))
            twin.retire(index)
        default:
            report.registrations += 1
            let description = Self.description(Self.names[index], &random)
            if state.register(description, at: wall).index != index { report.mismatch = "registered as another" }
            twin.register(description, at: wall)
        }
    }

    private static func description(_ name: String, _ random: inout SeededGenerator) -> SourceDescription {
        var description = SourceDescription(name: name, type: name + (random.next() % 3 == 0 ? ".y" : ".x"))
        if random.next() % 2 == 0 { description.unit = "µg" }
        if random.next() % 4 > 0 {
            let ends = [-100.0, 0, 30, 60].prefix(Int(random.next() % 5)).map { Optional($0) } + [nil]
            let bands = ends.enumerated().map { index, end in
                Band(name: "b\"\(index)", letter: "b", color: .init(red: 1, green: 2, blue: 3), upTo: end)
            }
            description.bands = BandScale(bands, higherIsBetter: random.next() % 2 == 0)
        }
        return description
    }

    private func compareLines(_ state: borrowing FeedState, _ twin: FeedTwin, _ cursor: inout Int) -> String? {
        while case .lines(let span) = state.log.read(from: cursor) {
            let bytes = span.withUnsafeBytes { [UInt8]($0) }
            for line in bytes.split(separator: 0x0A) {
                let text = String(decoding: line, as: UTF8.self)
                let expected = cursor <= twin.lines.count ? twin.lines[cursor - 1] : "nothing"
                guard text == expected else { return "\(text)\nand not\n\(expected)" }
                do {
                    let decoded = try LineDecoder.decode(line)
                    if decoded.seq != cursor { return "\(text) does not have the number \(cursor)" }
                } catch { return "\(text): \(error)" }
                cursor += 1
            }
            if cursor != span.sequences.upperBound + 1 { return "\(span.sequences) ends before \(cursor)" }
        }
        return cursor == twin.lines.count + 1 ? nil : "\(twin.lines[cursor - 1]) is missing"
    }

    private func compareRest(_ state: borrowing FeedState, _ twin: FeedTwin) -> String? {
        if state.counts != twin.counts { return "\(state.counts) and not \(twin.counts)" }
        if state.tables.statuses != twin.statuses { return "\(state.tables.statuses) and not \(twin.statuses)" }
        for endpoint in state.tables.endpoints {
            let (answers, errors) = twin.endpoints[endpoint.source + " " + endpoint.endpoint] ?? (0, 0)
            if endpoint.histogram.count != answers || endpoint.histogram.errors != errors {
                return "\(endpoint.endpoint): \(endpoint.histogram.count), \(endpoint.histogram.errors)"
            }
        }
        return state.tables.endpoints.count == twin.endpoints.count ? nil : "endpoints are missing"
    }

    private func advance(_ wall: Timestamp, _ random: inout SeededGenerator, _ report: inout Report) -> Timestamp {
        let width = limits.interval.microseconds
        let span = limits.history.microseconds + 3 * width
        func moved(_ range: ClosedRange<Int64>) -> Timestamp {
            Timestamp(microseconds: wall.microseconds + Int64.random(in: range, using: &random))
        }
        switch random.next() % 128 {
        case 0:
            report.steps += 1
            return moved(-span...span)
        case 1...2:
            report.steps += 1
            return moved(-2 * width...2 * width)
        case 3...8:
            // To the very edge of a window, where off-by-one errors live.
            let edge = wall.microseconds / width * width + width
            return Timestamp(microseconds: edge + Int64.random(in: -1...1, using: &random))
        case 9...40: return wall
        default: return moved(0...width / 4)
        }
    }

    private func time(_ wall: Timestamp, _ random: inout SeededGenerator) -> Timestamp {
        let width = limits.interval.microseconds
        let history = limits.history.microseconds
        let shift: Int64
        switch random.next() % 32 {
        case 0...2: shift = -Int64.random(in: 0...history + 2 * width, using: &random)
        case 3: shift = Int64.random(in: 0...3 * width, using: &random)
        case 4: shift = width + Int64.random(in: -1...1, using: &random)
        case 5: shift = -history + Int64.random(in: -1...1, using: &random)
        case 6...10: shift = 0
        default: shift = -Int64.random(in: 0...width / 4, using: &random)
        }
        return Timestamp(microseconds: wall.microseconds + shift)
    }

    private func event(_ wall: Timestamp, _ random: inout SeededGenerator) -> Event {
        let source = SourceID(index: Int(random.next() % UInt64(Self.names.count)))
        return Event(time: time(wall, &random), source: source, body: body(&random))
    }

    private func body(_ random: inout SeededGenerator) -> Event.Body {
        let endpoint = Self.endpoints[Int(random.next() % 2)]
        switch random.next() % 16 {
        case 0, 1:
            let status = random.next() % 3 == 0 ? 304 : 200
            return .latency(
                LatencySample(endpoint: endpoint, status: status, ms: Double(random.next() % 1_000_000) / 1_000))
        case 2:
            return .memory(
                MemorySample(resident: Int(random.next() % 1_000_000_000), peak: 1 << 40, privateBytes: 7))
        case 3:
            let message = Self.keys[Int(random.next() % 8)]
            return .error(Failure(.timeout, message, endpoint: random.next() % 2 == 0 ? endpoint : nil))
        case 4: return .progress(Progress(done: Int(random.next() % 100), total: nil, page: 1))
        case 5:
            return .recovered(
                Recovery(down: .milliseconds(random.next() % 100_000), attempts: 1 + Int(random.next() % 9)))
        default: return .data(datum(&random))
        }
    }

    private func datum(_ random: inout SeededGenerator) -> Datum {
        var datum = Datum()
        if random.next() % 3 > 0 { datum.key = Bytes(Self.keys[Int(random.next() % 8)].utf8) }
        switch random.next() % 8 {
        case 0: datum.value = nil
        case 1: datum.value = .nan
        case 2: datum.value = Double(bitPattern: random.next())
        case 3...5: datum.value = Double(random.next() % 100)
        default: datum.value = Double(random.next() % 100_000) / 100 - 300
        }
        if datum.value != nil, random.next() % 4 > 0 {
            datum.word = Bytes(["up", "down", "Zürich \"x\""][Int(random.next() % 8) / 3].utf8)
        }
        if random.next() % 2 == 0 { datum.text = Bytes("Cats \(Self.keys[Int(random.next() % 8)])".utf8) }
        if random.next() % 2 == 0 { datum.data = Bytes("{\"length\":\(random.next() % 1_000)}".utf8) }
        return datum
    }
}
