internal import Reactor

/// What plain lines come to in a board, kept back until somebody asks: of all lines of a series, the few that a board of all
/// of them would differ without.
struct PlainTally: Sendable {
    private struct Moment: Sendable {
        var sequence: Int
        var time: Timestamp
        var value: Double?
    }

    private struct Series: Sendable {
        let names: [UInt8]
        let type: String
        let source: String
        let series: String
        /// The first since the board had them, which may have brought the source back; the latest; and the last.
        var first: Moment?
        var latest: Moment
        var last: Moment
    }

    /// How many series it knows, and bytes of each one's names: lines of others are decoded one by one.
    private static let mostSeries = 4_096
    private static let longestNames = 1_024

    private var series: [Series] = []
    private var places: [UInt64: Int] = [:]
    private var touched: [Int] = []
    private var lastPlace = -1
    private let hash = KeyHash(seed: (.random(in: 0...(.max)), .random(in: 0...(.max))))

    var isEmpty: Bool { touched.isEmpty }

    /// Which series a line is of; nil when it is not known, and the line has to be decoded.
    @inline(__always)
    mutating func place(of line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
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
        guard case .data(let data) = decoded.body, let source = decoded.source, line.names.count <= Self.longestNames,
            series.count < Self.mostSeries
        else { return }
        let names = Array(bytes[line.names])
        let key = names.withUnsafeBytes { hash($0, source: 0) }
        guard places[key] == nil else { return }
        places[key] = series.count
        let moment = Moment(sequence: 0, time: Timestamp(microseconds: .min), value: nil)
        series.append(
            Series(
                names: names, type: decoded.type, source: source, series: data.series, latest: moment, last: moment))
    }

    /// Takes a line of a known series in.
    @inline(__always)
    mutating func add(_ line: PlainLine, at place: Int) {
        let moment = Moment(sequence: line.sequence, time: line.time, value: line.value)
        if series[place].first == nil {
            series[place].first = moment
            series[place].latest = moment
            touched.append(place)
        } else if line.value != nil, line.time >= series[place].latest.time || series[place].latest.value == nil {
            series[place].latest = moment
        }
        series[place].last = moment
    }

    /// Gives the lines back that the board has to be told, in their order, without what it is not asked for.
    mutating func settle() -> [Line] {
        var lines: [Line] = []
        for place in touched {
            let series = series[place]
            guard let first = series.first else { continue }
            var sequence = 0
            for moment in [first, series.latest, series.last] where moment.sequence > sequence {
                sequence = moment.sequence
                lines.append(
                    Line(
                        seq: sequence, time: moment.time, type: series.type, source: series.source,
                        body: .data(
                            Line.Data(
                                series: series.series, value: moment.value, text: nil, data: nil, truncated: false))
                    ))
            }
            self.series[place].first = nil
        }
        touched.removeAll(keepingCapacity: true)
        return lines.sorted { ($0.seq ?? 0) < ($1.seq ?? 0) }
    }
}
