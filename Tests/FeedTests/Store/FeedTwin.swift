import Reactor

@testable import Feed

/// `FeedState` once more in the most obvious way: all values of a window in a list, lines as text, everything looked at
/// after every batch.
struct FeedTwin {
    struct Source {
        var description: SourceDescription
        var isRetired = false
        var state = SourceStatus.State.starting
        var since: Timestamp
        var failure: SourceFailure?
        var answered: Timestamp?

        var name: String { description.name }
        var type: String { description.type }
        var status: SourceStatus {
            SourceStatus(
                source: name, state: state, since: since, failure: failure, answered: answered, type: type,
                unit: description.unit, bands: description.bands)
        }
    }

    private struct Value {
        let value: Double
        let time: Int64
        let sequence: Int
    }

    private struct Held {
        var values: [Value] = []

        var last: Value {
            values.sorted { ($0.time, $0.sequence) < ($1.time, $1.sequence) }[values.count - 1]
        }
    }

    private struct Series {
        let source: String
        let name: String
        let place: Int
        let hasBands: Bool
        var windows: [Int64: Held] = [:]
        /// The newest window with a line.
        var emitted = Int64.min
    }

    private let width: Int64
    private let history: Int64
    private let limits: FeedState.Limits
    private(set) var sources: [Source] = []
    private var series: [Series] = []
    /// When windows end next, and when some ended last.
    private var boundary = Int64.min
    private var lastEnd = Int64.min
    private(set) var counts = StoreCounts()
    /// Answers and errors.
    private(set) var endpoints: [String: (answers: Int, errors: Int)] = [:]
    /// Every line so far, its newline left out.
    private(set) var lines: [String] = []
    private var hasReportedRefusal = false
    private(set) var windowLines = 0
    private(set) var trends = 0
    /// The events of each series that were no older than those before, from the first word on.
    private var words: [String: [(time: Timestamp, word: String?)]] = [:]
    private(set) var rows = 0
    private(set) var lateWords = 0

    init(limits: FeedState.Limits) {
        self.limits = limits
        width = limits.interval.microseconds
        history = limits.history.microseconds
    }

    mutating func register(_ description: SourceDescription, at time: Timestamp) {
        let source = Source(description: description, since: time)
        if let index = sources.firstIndex(where: { $0.name == description.name }) {
            sources[index] = source
        } else {
            sources.append(source)
        }
    }

    mutating func retire(_ index: Int) { sources[index].isRetired = true }

    var statuses: [SourceStatus] { sources.filter { !$0.isRetired }.map(\.status) }

    mutating func complete(wall: Timestamp) {
        for place in series.indices {
            for index in series[place].windows.keys.sorted() { emit(index, place, wall) }
        }
    }

    mutating func publish(_ events: [Event], wall: Timestamp) {
        advance(wall: wall)
        for event in events { publish(event, wall) }
        if counts.refusedSeries > 0, !hasReportedRefusal {
            hasReportedRefusal = true
            let message = "more than \(limits.series) series: events of further ones still flow, but have no windows"
            if let own = sources.firstIndex(where: { $0.name == "catwatch" }) {
                setState(.failing, of: SourceID(index: own), wall)
                sources[own].failure = SourceFailure(Failure(.config, message), at: wall)
            }
            add(wall, #""type":"error","source":"catwatch","code":"config","message":\#(Self.quoted(message))"#)
        }
        counts.series = series.count
    }

    mutating func advance(wall: Timestamp) {
        guard wall.microseconds >= boundary || wall.microseconds < lastEnd else { return }
        (boundary, lastEnd) = ((window(of: wall.microseconds) + 1) * width, wall.microseconds)
        for index in series.indices { flush(index, wall) }
    }

    private mutating func publish(_ event: Event, _ wall: Timestamp) {
        var event = event
        if case .data = event.body { sources[event.source.index].answered = wall }
        if case .data = event.body, counts.data == limits.data { return }
        if event.time.microseconds > wall.microseconds + width {
            counts.future += 1
            event.time = wall
        }
        let source = sources[event.source.index].name
        func head(_ type: String) -> String { #""type":"\#(type)","source":"\#(source)""# }
        switch event.body {
        case .data(let datum):
            counts.data += 1
            setState(.ok, of: event.source, wall)
            let key = datum.key.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ""
            let value = datum.value.flatMap { $0.isFinite ? $0 : nil }
            let word = value == nil ? nil : datum.word.map { String(decoding: $0, as: UTF8.self) }
            var since = event.time
            if let value, let index = seriesIndex(event.source, source + key, hasBands: true) {
                record(value, in: index, event.time, wall)
                since = follow(word, source + key, event.time)
            } else if value == nil {
                _ = follow(nil, source + key, event.time)
            }
            var text = head(sources[event.source.index].type) + ",\"series\":" + Self.quoted(source + key)
            if let value { text += ",\"value\":" + Self.number(value) }
            if let word { text += ",\"word\":" + Self.quoted(word) + ",\"since\":" + Self.stamp(since) }
            if let words = datum.text { text += ",\"text\":" + Self.quoted(String(decoding: words, as: UTF8.self)) }
            if let data = datum.data { text += ",\"data\":" + String(decoding: data, as: UTF8.self) }
            add(event.time, text)
        case .latency(let sample):
            if sample.status == 304 {
                setState(.ok, of: event.source, wall)
                sources[event.source.index].answered = wall
            }
            endpoints[source + " " + sample.endpoint, default: (0, 0)].answers += 1
            if let index = seriesIndex(event.source, "latency:" + source) {
                record(sample.ms, in: index, event.time, wall)
            }
            add(
                event.time,
                head("latency") + ",\"endpoint\":" + Self.quoted(sample.endpoint)
                    + ",\"status\":\(sample.status),\"ms\":\(Self.number(sample.ms)),\"dns_ms\":0,\"connect_ms\":0,"
                    + "\"tls_ms\":0,\"wait_ms\":0,\"receive_ms\":0,\"bytes\":0,\"reused\":false,\"late_ms\":0")
        case .memory(let sample):
            if sources[event.source.index].state == .starting { setState(.ok, of: event.source, wall) }
            if let index = seriesIndex(event.source, "memory:" + source) {
                record(Double(sample.resident), in: index, event.time, wall)
            }
            add(
                event.time,
                head("memory") + ",\"rss_bytes\":\(sample.resident),\"peak_bytes\":\(sample.peak),\"private_bytes\":"
                    + "\(sample.privateBytes)")
        case .error(let failure):
            setState(.failing, of: event.source, wall)
            sources[event.source.index].failure = SourceFailure(failure, at: event.time)
            if failure.message.isEmpty { sources[event.source.index].failure?.message = nil }
            var text = head("error")
            if let endpoint = failure.endpoint {
                endpoints[source + " " + endpoint, default: (0, 0)].errors += 1
                text += ",\"endpoint\":" + Self.quoted(endpoint)
            }
            add(event.time, text + ",\"code\":\"\(failure.code.rawValue)\",\"message\":" + Self.quoted(failure.message))
        case .progress(let progress):
            setState(.ok, of: event.source, wall)
            sources[event.source.index].answered = wall
            add(event.time, head("progress") + ",\"done\":\(progress.done),\"page\":\(progress.page)")
        case .recovered(let recovery):
            setState(.ok, of: event.source, wall)
            let down = Self.number(Double(recovery.down.microseconds / 1_000) / 1_000)
            add(event.time, head("recovered") + ",\"down_s\":\(down),\"attempts\":\(recovery.attempts)")
        case .answer, .agent, .restart, .foreignAgent, .peer, .lost, .alert, .clock:
            preconditionFailure("not in this twin")
        }
    }

    private mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        if sources[source.index].state != state {
            sources[source.index].state = state
            sources[source.index].since = wall
        }
        if state != .failing { sources[source.index].failure = nil }
    }

    private mutating func seriesIndex(_ id: SourceID, _ name: String, hasBands: Bool = false) -> Int? {
        let source = sources[id.index].name
        if let index = series.firstIndex(where: { $0.source == source && $0.name == name }) { return index }
        guard series.count < limits.series else {
            counts.refusedSeries += 1
            return nil
        }
        series.append(Series(source: source, name: name, place: id.index, hasBands: hasBands))
        return series.count - 1
    }

    /// Since when a series has the word of its newest event.
    private mutating func follow(_ word: String?, _ name: String, _ time: Timestamp) -> Timestamp {
        let events = words[name] ?? []
        guard word != nil || !events.isEmpty else { return time }
        let isLate = events.last.map { time < $0.time } ?? false
        if isLate, word != nil { lateWords += 1 }
        let row = events.reversed().prefix { $0.word == word }.last
        if !isLate { words[name] = events + [(time, word)] }
        guard let row, row.time <= time else { return time }
        if row.time < time { rows += 1 }
        return row.time
    }

    private func window(of time: Int64) -> Int64 {
        var index = time / width
        if index * width > time { index -= 1 }
        return index
    }

    private mutating func record(_ value: Double, in place: Int, _ time: Timestamp, _ wall: Timestamp) {
        let index = window(of: time.microseconds)
        if (index + 1) * width <= wall.microseconds - history || index <= series[place].emitted {
            counts.late += 1
            return
        }
        series[place].windows[index, default: Held()].values.append(
            Value(value: value, time: time.microseconds, sequence: lines.count + 1))
    }

    private mutating func flush(_ place: Int, _ wall: Timestamp) {
        let ended = series[place].windows.keys.filter { ($0 + 1) * width <= wall.microseconds }.sorted()
        for index in ended { emit(index, place, wall) }
        let gone = series[place].windows.keys.filter {
            ($0 + 1) * width <= wall.microseconds - history || $0 * width > wall.microseconds + width
        }
        let emitted = series[place].emitted
        for index in gone.sorted() { emit(index, place, wall) }
        for index in gone { series[place].windows[index] = nil }
        series[place].emitted = min(emitted, window(of: wall.microseconds + width))
    }

    private func bands(_ place: Int) -> BandScale? {
        series[place].hasBands ? sources[series[place].place].description.bands : nil
    }

    /// How a window compares to the one before it, in the words of a line.
    private func trend(_ index: Int64, _ place: Int, _ wall: Timestamp) -> String {
        guard let scale = bands(place), let window = series[place].windows[index],
            let before = series[place].windows.keys.filter({ $0 < index }).max(),
            (before + 1) * width > wall.microseconds - history, let old = series[place].windows[before]
        else { return "" }
        let step = Self.band(window.last.value, scale) - Self.band(old.last.value, scale)
        if step == 0 { return "" }
        return step > 0 && scale.higherIsBetter || step < 0 && !scale.higherIsBetter ? "improving" : "deteriorating"
    }

    private static func band(_ value: Double, _ scale: BandScale) -> Int {
        scale.bands.dropLast().count { value > ($0.upTo ?? 0) }
    }

    private mutating func emit(_ index: Int64, _ place: Int, _ wall: Timestamp) {
        guard let window = series[place].windows[index], index > series[place].emitted else { return }
        let trend = trend(index, place, wall)
        if !trend.isEmpty { trends += 1 }
        let values = window.values
        let last = window.last
        let all = values.map(\.value)
        let mean = min(max(all.reduce(0, +) / Double(all.count), all.min() ?? 0), all.max() ?? 0)
        windowLines += 1
        var text = #""type":"window","source":"\#(series[place].source)","series":\#(Self.quoted(series[place].name))"#
        text += ",\"start\":" + Self.stamp(Timestamp(microseconds: index * width))
        text += ",\"seconds\":\(Self.number(Double(width) / 1_000_000)),\"last\":\(Self.number(last.value))"
        text += ",\"last_seq\":\(last.sequence),\"count\":\(all.count),\"min\":\(Self.number(all.min() ?? 0))"
        text += ",\"max\":\(Self.number(all.max() ?? 0)),\"mean\":\(Self.number(mean))"
        if let scale = bands(place) {
            text += ",\"band\":" + Self.quoted(scale.bands[Self.band(last.value, scale)].name)
        }
        if !trend.isEmpty { text += ",\"trend\":\"\(trend)\"" }
        add(wall, text)
        series[place].emitted = index
    }

    private mutating func add(_ time: Timestamp, _ rest: String) {
        lines.append("{\"seq\":\(lines.count + 1),\"time\":\(Self.stamp(time)),\(rest)}")
    }

    // MARK: Pieces, which have tests of their own

    private static func stamp(_ time: Timestamp) -> String {
        var text = TimestampText()
        return GuardedMemory.text(atMost: 29) { text.write(time, to: &$0) } ?? "?"
    }

    private static func quoted(_ text: String) -> String {
        GuardedMemory.text(atMost: 2 + LineWriter.mostEscaped(text.utf8.count)) { $0.string(text) } ?? "?"
    }

    private static func number(_ value: Double) -> String {
        GuardedMemory.text(atMost: LineWriter.mostNumber) { $0.number(value) } ?? "?"
    }
}
