internal import Feed
internal import Reactor

/// Windows as a row of blocks: one or more blocks per window; a window without a value is a dot.
struct Sparkline {
    /// One slot of the row.
    enum Slot: Equatable {
        /// Before the first known window.
        case before
        /// A window without a value.
        case missing
        /// From 0, the lowest, to 7.
        case level(Int, value: Double)
    }

    var slots: [Slot]

    /// The height of a word's block, from the first band to the last, so that it can be told without colours.
    static func level(ofBand place: Int, of count: Int) -> Int { count > 1 ? 3 + place * 4 / (count - 1) : 7 }

    static let blocks: [Unicode.Scalar] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// - Parameters:
    ///   - windows: the windows to show, ascending.
    ///   - width: the width of a window, in microseconds.
    ///   - last: the index of the window in the last slot, since the epoch.
    init(_ windows: [BoardWindow], width: Int64, last: Int64, count: Int) {
        slots = [Slot](repeating: .before, count: max(count, 0))
        var values = [Double?](repeating: nil, count: slots.count)
        var first = slots.count
        for window in windows {
            let index = Int64(slots.count - 1) - (last - Window.index(of: window.start, width: width))
            guard index < slots.count else { continue }
            // A window before the first slot shows that empty slots are missing values.
            first = min(first, max(Int(clamping: index), 0))
            if index >= 0 { values[Int(index)] = window.last }
        }
        var low = Double.infinity
        var high = -Double.infinity
        for case let value? in values {
            low = min(low, value)
            high = max(high, value)
        }
        for index in first..<max(slots.count, first) where index < slots.count {
            guard let value = values[index] else {
                // The last window is still open.
                slots[index] = index == slots.count - 1 ? .before : .missing
                continue
            }
            // Halved first, or the difference of two large numbers might be infinite.
            let span = high / 2 - low / 2
            let share = span > 0 ? (value / 2 - low / 2) / span : 0.5
            slots[index] = .level(span > 0 ? min(max(Int(share * 7 + 0.5), 0), 7) : 3, value: value)
        }
    }
}
