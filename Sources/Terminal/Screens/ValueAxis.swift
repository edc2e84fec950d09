internal import Glibc

/// The value axis of a graph: its range, its marks, and their labels.
struct ValueAxis: Equatable {
    /// Finite; `low` is less than `high`. On a logarithmic axis, the base-10 logarithms.
    private(set) var low: Double
    private(set) var high: Double
    let isLog: Bool
    /// The position for values of 0 and below on a logarithmic axis; nil without such values, or on a linear one.
    private(set) var floor: Double?
    /// Ascending.
    private(set) var marks: [Double] = []
    private var decimals = 0

    /// - Parameters:
    ///   - values: the values to show; only finite ones count.
    ///   - fixed: the range to use instead of that of the values.
    ///   - count: the most marks.
    ///
    /// The floor of a logarithmic axis is a tenth of the largest power of ten that does not exceed the smallest
    /// positive value; 0.1 if there is none.
    init(_ values: some Sequence<Double>, fixed: ClosedRange<Double>? = nil, isLog: Bool, count: Int) {
        self.isLog = isLog
        var low = Double.infinity
        var high = -Double.infinity
        var positive = Double.infinity
        for value in values where value.isFinite {
            low = min(low, value)
            high = max(high, value)
            if value > 0 { positive = min(positive, value) }
        }
        if let fixed {
            (low, high) = (fixed.lowerBound, fixed.upperBound)
            if low > 0 { positive = min(positive, low) }
        }
        if low > high { (low, high) = (0, 1) }
        guard isLog else {
            // Beyond these, differences may be infinite.
            (self.low, self.high) = (min(max(low, -1e300), 1e300), min(max(high, -1e300), 1e300))
            setMarks(count: max(count, 2), isFixed: fixed != nil)
            return
        }
        // Below this, values have no power of ten below them.
        positive = max(positive, 1e-300)
        if low > 0 { low = max(low, 1e-300) }
        if low <= 0 {
            let base = positive.isFinite ? Glibc.log10(positive).rounded(.down) : 0
            floor = Self.power(base - 1)
            low = floor ?? low
            high = max(high, low)
        } else {
            high = max(high, low)
        }
        self.low = Glibc.log10(low)
        self.high = Glibc.log10(high)
        if fixed == nil || self.high - self.low < 1e-9 {
            self.low = self.low.rounded(.down)
            self.high = max(self.high.rounded(.up), self.low + 1)
        }
        let step = max(1, ((self.high - self.low) / Double(max(count - 1, 1))).rounded(.up))
        var mark = self.low.rounded(.up)
        while mark <= self.high + 1e-9, marks.count < 64 {
            marks.append(Self.power(mark))
            mark += step
        }
    }

    private mutating func setMarks(count: Int, isFixed: Bool) {
        // A smaller step would be lost to rounding.
        if high - low <= max(abs(low), abs(high), 1e-290) * 1e-9 {
            let room = max(abs(high) * 0.05, 0.5)
            low -= room
            high += room
        }
        let rough = (high - low) / Double(max(count - 1, 1))
        let power = Glibc.log10(rough).rounded(.down)
        let unit = Self.power(power)
        let factor = [1.0, 2, 5, 10].first { $0 * unit >= rough * 0.999 } ?? 10
        let step = factor * unit
        decimals = Int(max(0, min(9, -(factor == 10 ? power + 1 : power))))
        if !isFixed {
            low = (low / step).rounded(.down) * step
            high = (high / step).rounded(.up) * step
        }
        let first = (low / step - 1e-9).rounded(.up)
        for number in 0..<64 {
            let mark = (first + Double(number)) * step
            if mark > high + step * 1e-9 { break }
            marks.append(mark)
        }
    }

    /// The position of a value: 0 at the bottom to 1 at the top; outside, less or more by at most 1.
    func position(of value: Double) -> Double {
        let value = isLog ? Glibc.log10(max(value, floor ?? Self.power(low - 1))) : value
        let position = (value - low) / (high - low)
        return position.isFinite ? min(max(position, -1), 2) : value > high ? 2 : -1
    }

    /// The label of a mark.
    func label(_ mark: Double) -> String {
        if isLog { return (floor.map { abs($0 - mark) < $0 * 1e-6 } ?? false ? "≤" : "") + NumberText.short(mark) }
        return max(abs(low), abs(high)) >= 1e6 ? NumberText.short(mark) : NumberText.fixed(mark, decimals)
    }

    /// A power of ten; exact for integer exponents if a Double can represent it.
    private static func power(_ exponent: Double) -> Double { Glibc.pow(10, exponent) }
}
