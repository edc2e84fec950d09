/// A measured figure of a scenario, with all its runs.
struct Figure {
    /// The required range, from the issue that asked for it.
    enum Limit {
        case atMost(Double)
        case atLeast(Double)
    }

    /// The statistic of the runs that is compared with the limit.
    enum Statistic: String {
        case median, p90, p99, least, most
    }

    let name: String
    let unit: String
    var runs: [Double]
    var statistic = Statistic.median
    var limit: Limit?
    /// The reason why there is no figure, or a remark about it.
    var note: String?

    /// The statistic's value; nil without a run.
    var value: Double? {
        guard !runs.isEmpty else { return nil }
        switch statistic {
        case .median: return runs.median
        case .p90: return runs.percentile(90)
        case .p99: return runs.percentile(99)
        case .least: return runs.min()
        case .most: return runs.max()
        }
    }

    /// Whether the limit is met; nil when there is no limit or no value.
    var isMet: Bool? {
        guard let value, let limit else { return nil }
        switch limit {
        case .atMost(let most): return value <= most
        case .atLeast(let least): return value >= least
        }
    }

    /// A row for something that could not be measured.
    static func missing(_ name: String, _ note: String) -> Figure {
        Figure(name: name, unit: "", runs: [], note: note)
    }

    /// A row for a comparison with a program that is not installed.
    static func noPeer(_ name: String) -> Figure {
        missing(name, "peer not installed: examples/setup.sh bench")
    }
}

extension [Double] {
    /// The middle one, or the mean of the two in the middle; 0 when the array is empty.
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// By nearest rank: the smallest value that `percent` percent do not exceed; 0 when the array is empty.
    func percentile(_ percent: Double) -> Double {
        guard !isEmpty else { return 0 }
        let rank = (percent / 100 * Double(count)).rounded(.up)
        return sorted()[Swift.min(Swift.max(Int(rank), 1), count) - 1]
    }

    var mean: Double { isEmpty ? 0 : reduce(0, +) / Double(count) }
}
