package import Reactor

/// The state of one series on a board; its points are in `Board.points(of:)`.
package struct BoardSeries: Sendable, Equatable {
    /// `source`, `source/key`, `latency:SOURCE`, `memory:SOURCE` or `count:SOURCE`.
    package let name: String
    package let source: String
    package let kind: SeriesKind
    /// The latest point by event time, also when it is past the history.
    package internal(set) var newest: BoardPoint?
    /// The newest data line, with or without a value; nil for series of latencies, memory and counts.
    package internal(set) var event: BoardEvent?
    /// The word of its newest event that has a value; nil if that has none.
    package internal(set) var lastWord: String?
    /// When a complete answer of its source came that no longer had it; nil again by the next data line.
    package internal(set) var goneAt: Timestamp?
    /// The number of its data lines in this run, with or without a value.
    package internal(set) var events = 0
    /// The number of its points in this run.
    package internal(set) var count = 0
    /// The agent's own windows, ascending by start, all of the width of the newest window line.
    package internal(set) var windows: [BoardWindow] = []
    /// Whether points within the history were dropped.
    package internal(set) var isTrimmed = false
    /// How wide its windows are, and for how long they and its points are kept.
    package internal(set) var span: WindowSpan

    init(name: String, source: String, span: WindowSpan) {
        (self.name, self.source, self.span) = (name, source, span)
        kind = SeriesKind(of: name)
    }

    /// The newest event's text.
    package var text: String? { event?.text }
}

/// One window of a series, from the agent's window line or made by a board from points.
package struct BoardWindow: Sendable, Equatable {
    package var start: Timestamp
    /// In microseconds, at least 1.
    package var width: Int64
    package var last: Double
    package var count: Int
    package var minimum: Double
    package var maximum: Double
    package var mean: Double
    /// The band that the agent assigned to the value, if any.
    package var band: String?
    /// The trend that the agent saw in the values, if any.
    package var trend: String?

    package init(
        start: Timestamp, width: Int64, last: Double, count: Int, minimum: Double, maximum: Double, mean: Double,
        band: String? = nil, trend: String? = nil
    ) {
        (self.start, self.width, self.last, self.count) = (start, width, last, count)
        (self.minimum, self.maximum, self.mean) = (minimum, maximum, mean)
        (self.band, self.trend) = (band, trend)
    }
}

extension BoardWindow {
    /// A window from the agent's window line.
    init(_ window: Line.Window) {
        self.init(
            start: window.start, width: window.width.microseconds, last: window.last, count: window.count,
            minimum: window.min, maximum: window.max, mean: window.mean, band: window.band, trend: window.trend)
    }

    /// A window made from points.
    package init(_ window: Window, width: Int64) {
        self.init(
            start: Window.start(of: window.index, width: width), width: width, last: window.last, count: window.count,
            minimum: window.minimum, maximum: window.maximum, mean: window.mean)
    }

    /// Merges windows of one width, ascending, into wider ones; empty if the widths do not match.
    package static func widened(_ lines: [BoardWindow], to width: Int64) -> [BoardWindow] {
        guard let narrow = lines.first?.width, width.isMultiple(of: narrow) else { return [] }
        if width == narrow { return lines }
        var windows: [BoardWindow] = []
        for line in lines {
            let start = Window.start(of: Window.index(of: line.start, width: width), width: width)
            if windows.last?.start == start {
                windows[windows.count - 1].absorb(line)
            } else {
                var window = line
                window.start = start
                window.width = width
                window.band = nil
                window.trend = nil
                windows.append(window)
            }
        }
        return windows
    }

    /// Merges a window that is within the same wider one and starts no earlier.
    package mutating func absorb(_ later: BoardWindow) {
        // A weighted mean, not a sum, so that nothing overflows; clamped to the extremes in case of rounding.
        let weight = Double(later.count) / (Double(count) + Double(later.count))
        minimum = Swift.min(minimum, later.minimum)
        maximum = Swift.max(maximum, later.maximum)
        mean = Swift.min(Swift.max(mean * (1 - weight) + later.mean * weight, minimum), maximum)
        count = count.addingSaturated(later.count)
        last = later.last
    }
}
