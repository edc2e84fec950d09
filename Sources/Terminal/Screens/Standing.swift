internal import Feed

/// Where a series stands: which band its newest value is in, and where it is going. The page has a twin, standing.mjs.
struct Standing: Equatable {
    enum Course: String {
        /// Into a better or a worse band.
        case better, worse
        /// Nobody says which of these is better.
        case up, down
    }

    /// The place of the band; nil where there are none, or nothing but its name is known.
    private(set) var band: Int?
    private(set) var name = ""
    private(set) var letter: String?
    private(set) var course: Course?
    /// Against the window before; nil where there is none.
    private(set) var change: Double?

    /// - Parameters:
    ///   - scale: of the source's own values; latencies and memory have none.
    ///   - windows: of the series, ascending, of `width` microseconds.
    init(_ series: BoardSeries, _ scale: BandScale?, _ windows: [BoardWindow], width: Int64) {
        guard let newest = series.newest else { return }
        let index = Window.index(of: newest.time, width: width)
        let before = windows.last { Window.index(of: $0.start, width: width) < index }
        if let before {
            let change = newest.value - before.last
            if change.isFinite { self.change = change }
        }
        if let scale {
            let place = scale.index(of: newest.value)
            band = place
            name = scale.bands[place].name
            letter = String(scale.bands[place].letter)
            if let before {
                let old = scale.index(of: before.last)
                if old != place { course = (place > old) == scale.higherIsBetter ? .better : .worse }
            }
        } else if let said = series.windows.last, let name = said.band, let first = name.first {
            self.name = name
            letter = String(first).uppercased()
            course = said.trend == "improving" ? .better : said.trend == "deteriorating" ? .worse : nil
        } else if let change, change != 0 {
            course = change > 0 ? .up : .down
        }
    }

    /// The change as it is shown behind `quantity`, the newest value; empty for less than can be shown.
    func changeText(_ quantity: Quantity, _ kind: SeriesKind, unit: String?) -> String {
        guard let change else { return "" }
        let amount = Quantity(change, kind, unit: unit)
        guard amount.text.utf8.contains(where: { 0x31...0x39 ~= $0 }) else { return "" }
        // Another unit than the value's is said.
        return (change > 0 ? "+" : "") + amount.text + (amount.unit == quantity.unit ? "" : amount.unit.prefix(1))
    }
}

extension BoardSeries {
    /// What its name begins with, up to its key, and the rest.
    var nameParts: (prefix: String, rest: String) {
        let prefix = name.utf8.starts(with: (source + "/").utf8) ? source + "/" : kind.prefix
        return (prefix, String(Substring(name.utf8.dropFirst(prefix.utf8.count))))
    }
}
