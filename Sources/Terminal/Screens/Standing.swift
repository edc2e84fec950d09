internal import Feed
internal import Reactor

/// A series' standing: its newest value or word, the band of that, and where it is going. The page has a twin,
/// standing.mjs.
struct Standing: Equatable {
    enum Direction: String {
        case up = "↑"
        case down = "↓"
    }

    enum Course: String {
        /// Into a better or a worse band.
        case better, worse
    }

    /// The word that the newest value stands for, and since when the series has it, if it has it still.
    private(set) var word: String?
    private var since: Timestamp?
    /// When a complete answer of its source no longer had it; nil while it is there.
    private var goneAt: Timestamp?
    /// The index of the band; nil when there are none, or only its name is known.
    private(set) var band: Int?
    private(set) var name = ""
    private(set) var letter: String?
    /// The band of the previous window, if that is another.
    private(set) var former: Int?
    /// The direction of the number, against the previous window.
    private(set) var direction: Direction?
    private(set) var course: Course?
    /// The difference from the previous window; nil without one.
    private(set) var change: Double?

    /// - Parameters:
    ///   - scale: the bands of the source's own values; latencies and memory have none.
    ///   - windows: the series' windows, ascending, of `width` microseconds.
    init(_ series: BoardSeries, _ scale: BandScale?, _ windows: [BoardWindow], width: Int64) {
        goneAt = series.goneAt
        guard let newest = series.newest else { return }
        // An unknown word has no value: the last one stays, as of an unknown time.
        (word, since) = (series.lastWord, series.event?.since)
        let index = Window.index(of: newest.time, width: width)
        let before = windows.last { Window.index(of: $0.start, width: width) < index }
        // The number of a word means nothing to a person.
        if let before, word == nil {
            let change = newest.value - before.last
            if change.isFinite { self.change = change }
            direction = newest.value > before.last ? .up : newest.value < before.last ? .down : nil
        }
        if let scale {
            let new = scale.index(of: newest.value)
            band = new
            name = scale.bands[new].name
            letter = String(scale.bands[new].letter)
            if let before {
                let old = scale.index(of: before.last)
                if old != new { (former, course) = (old, (new > old) == scale.higherIsBetter ? .better : .worse) }
            }
        } else if let said = series.windows.last, let name = said.band, let first = name.first {
            self.name = name
            letter = String(first).uppercased()
            course = said.trend == "improving" ? .better : said.trend == "deteriorating" ? .worse : nil
        }
    }

    /// How long the series has had its word: `for 4m12s`; empty without one.
    func held(at now: Timestamp) -> String { since.map { "for " + NumberText.age(now - $0) } ?? "" }

    /// When the series went: `gone 14:03`; empty while it is there.
    func gone(at now: Timestamp, offset: Int) -> String {
        goneAt.map { "gone " + NumberText.moment($0, now: now, offset: offset) } ?? ""
    }

    /// The change as shown behind `quantity`, the newest value; empty when it is too small to show.
    func changeText(_ quantity: Quantity, _ kind: SeriesKind, unit: String?) -> String {
        guard let change else { return "" }
        let amount = Quantity(change, kind, unit: unit)
        guard amount.text.utf8.contains(where: { 0x31...0x39 ~= $0 }) else { return "" }
        // Shows the unit's first letter if it differs from the value's.
        return (change > 0 ? "+" : "") + amount.text + (amount.unit == quantity.unit ? "" : amount.unit.prefix(1))
    }
}

extension BoardSeries {
    /// The word for a value of a series whose newest value has one.
    func word(for value: Double, _ scale: BandScale?) -> String? {
        guard lastWord != nil else { return nil }
        return scale.map { $0.bands[$0.index(of: value)].name } ?? (value != 0 ? "true" : "false")
    }

    /// The name's prefix, up to its key, and the rest.
    var nameParts: (prefix: String, rest: String) {
        let prefix = name.utf8.starts(with: (source + "/").utf8) ? source + "/" : kind.prefix
        return (prefix, String(Substring(name.utf8.dropFirst(prefix.utf8.count))))
    }
}
