internal import Reactor

/// What lines come to in a board, kept back until somebody asks: of all plain lines of a series, the few that a board of all
/// of them would differ without. Nothing of windows: whoever passes lines on is not asked for those.
struct PlainTally: Sendable {
    private struct Moment: Sendable {
        var sequence: Int
        var time: Timestamp
        var value: Double?
        /// What the board's clock shows before the line.
        var clock: Timestamp?
    }

    private struct Series: Sendable {
        let names: [UInt8]
        /// One of its lines.
        let line: Line
        /// Where the board has its endpoint, of an answer, and by which list of those.
        var endpoint: (place: Int, list: Int)?
        /// The first since the board had them, which may have brought the source back; the latest; and the last.
        var first: Moment?
        var latest: Moment
        var last: Moment

        func line(_ moment: Moment) -> Line {
            var line = line
            line.seq = moment.sequence
            line.time = moment.time
            switch line.body {
            case .latency(var sample):
                sample.ms = moment.value ?? 0
                line.body = .latency(sample)
            case .data(var data):
                data.value = moment.value
                line.body = .data(data)
            default: break  // there are no others
            }
            return line
        }
    }

    /// The place of lines that come to nothing but their number and their time.
    static let nowhere = -1

    /// How many series it knows, and bytes of each one's names: lines of others are decoded one by one.
    private static let mostSeries = 4_096
    private static let longestNames = 1_024

    private var series: [Series] = []
    private var places: [UInt64: Int] = [:]
    private var touched: [Int] = []
    private var lastPlace = -1
    private let hash = KeyHash(seed: (.random(in: 0...(.max)), .random(in: 0...(.max))))
    /// Lines that are not plain, and what the clock shows before each.
    private var others: [(line: Line, clock: Timestamp?)] = []
    /// How many of those there may be.
    private static let mostOthers = 64
    /// The last line's number, and what a board's clock shows behind it; nil when there are none.
    private var newest: (sequence: Int, clock: Timestamp)?

    var isEmpty: Bool { newest == nil }

    /// Which series a line is of, or `nowhere`; nil when it is not known, and the line has to be decoded.
    @inline(__always)
    mutating func place(of line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        if line.kind == .window { return Self.nowhere }
        let names = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[line.names]))
        if lastPlace >= 0, isSeries(lastPlace, named: names) { return lastPlace }
        guard names.count <= Self.longestNames, let place = places[hash(names, source: 0)],
            isSeries(place, named: names)
        else { return nil }
        lastPlace = place
        return place
    }

    @inline(__always)
    private func isSeries(_ place: Int, named names: UnsafeRawBufferPointer) -> Bool {
        guard series[place].names.count == names.count else { return false }
        return series[place].names.withUnsafeBytes { KeyHash.areEqual($0, names) }
    }

    /// Gets to know a line's series, by what the decoder says.
    mutating func learn(_ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, _ decoded: Line) {
        guard line.names.count <= Self.longestNames, series.count < Self.mostSeries else { return }
        var known = decoded
        switch decoded.body {
        case .data(let data):
            known.body = .data(Line.Data(series: data.series, value: nil, text: nil, data: nil, truncated: false))
        case .latency: break
        default: return
        }
        let names = Array(bytes[line.names])
        let key = names.withUnsafeBytes { hash($0, source: 0) }
        guard places[key] == nil else { return }
        places[key] = series.count
        let moment = Moment(sequence: 0, time: Timestamp(microseconds: .min))
        series.append(Series(names: names, line: known, latest: moment, last: moment))
    }

    /// Where the board has the endpoint of answers of a known series; nil when `list` is another than it was then.
    @inline(__always)
    func endpoint(at place: Int, in list: Int) -> Int? {
        series[place].endpoint.flatMap { $0.list == list ? $0.place : nil }
    }

    /// Gets to know that, from where the board has the endpoint of this name.
    mutating func findEndpoint(
        at place: Int, in list: Int, _ find: (_ endpoint: String, _ source: String) -> Int?
    ) -> Int? {
        guard case .latency(let sample) = series[place].line.body,
            let found = find(sample.endpoint, series[place].line.source ?? "")
        else { return nil }
        series[place].endpoint = (found, list)
        return found
    }

    /// Takes a line of a known series in, or one that is of nowhere.
    ///
    /// - Parameter clock: what the board's clock shows.
    @inline(__always)
    mutating func add(_ line: PlainLine, at place: Int, clock: Timestamp?) {
        let before = newest?.clock ?? clock
        newest = (line.sequence, line.kind == .data ? max(before ?? line.time, line.time) : line.time)
        guard place != Self.nowhere else { return }
        let moment = Moment(sequence: line.sequence, time: line.time, value: line.value, clock: before)
        if series[place].first == nil {
            series[place].first = moment
            series[place].latest = moment
            touched.append(place)
        } else if line.value != nil, line.time >= series[place].latest.time || series[place].latest.value == nil {
            series[place].latest = moment
        }
        series[place].last = moment
    }

    /// Takes another line in, if it can be kept back: of those that say how agents are only the newest is held, as they may
    /// be long, and what fails changes too much.
    mutating func add(_ line: Line, clock: Timestamp?) -> Bool {
        guard let sequence = line.seq, others.count < Self.mostOthers else { return false }
        switch line.body {
        case .memory, .progress, .recovered: break
        case .agent: others.removeAll { if case .agent = $0.line.body { true } else { false } }
        default: return false
        }
        others.append((line, newest?.clock ?? clock))
        newest = (sequence, line.time)
        return true
    }

    /// Tells a board what it has to know, in the lines' order, without what it is not asked for.
    mutating func settle(into board: inout Board) {
        guard let newest else { return }
        var told = others
        others.removeAll(keepingCapacity: true)
        for place in touched {
            var sequence = 0
            // It has a first one, or it would not have been touched.
            for moment in [series[place].first, series[place].latest, series[place].last].compactMap({ $0 })
            where moment.sequence > sequence {
                sequence = moment.sequence
                told.append((series[place].line(moment), moment.clock))
            }
            series[place].first = nil
        }
        touched.removeAll(keepingCapacity: true)
        for (line, clock) in told.sorted(by: { ($0.line.seq ?? 0) < ($1.line.seq ?? 0) }) {
            if let clock, let sequence = line.seq { board.pass(through: sequence - 1, clock: clock) }
            board.apply(line, isTimed: true)
        }
        board.pass(through: newest.sequence, clock: newest.clock)
        self.newest = nil
    }
}
