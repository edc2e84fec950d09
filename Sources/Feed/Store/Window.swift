package import Reactor

/// One window of a series: the last value by event time, and the number and spread of its values.
package struct Window: Sendable, Equatable {
    /// The window's number since the Unix epoch: k covers k to k + 1 widths; negative before 1970.
    package let index: Int64
    /// The value with the greatest event time; of several at that time the one with the greatest sequence number.
    package private(set) var last: Double
    /// The event time of `last`, in microseconds.
    private var lastMicroseconds: Int64
    /// The sequence number of `last`.
    package private(set) var lastSequence: Int
    /// The number of values, at least 1.
    package private(set) var count: Int
    package private(set) var minimum: Double
    package private(set) var maximum: Double
    /// The sum of all values in the order they were recorded; infinite where a Double cannot hold it.
    package private(set) var sum: Double
    /// The trend from the previous window; `none` before its line.
    package var trend = Trend.none
    /// Whether it is of an earlier run or another agent, and had its line there: it does not change.
    private(set) var isRestored = false

    /// Creates a window with one value, which must be finite.
    package init(index: Int64, value: Double, time: Timestamp, sequence: Int) {
        self.index = index
        last = value
        lastMicroseconds = time.microseconds
        lastSequence = sequence
        count = 1
        minimum = value
        maximum = value
        sum = value
    }

    /// Restores a closed window from a line.
    init(_ line: Line.Window, sequence: Int) {
        let width = line.width.microseconds
        self.init(
            index: Self.index(of: line.start, width: width), value: line.last,
            time: Timestamp(microseconds: line.start.microseconds.addingSaturated(width - 1)), sequence: sequence)
        (count, minimum, maximum, sum) = (line.count, line.min, line.max, line.mean * Double(line.count))
        isRestored = true
    }

    /// Creates a window with the one value that is known of it, and that had its line elsewhere.
    init(restored value: Double, index: Int64, time: Timestamp, sequence: Int) {
        self.init(index: index, value: value, time: time, sequence: sequence)
        isRestored = true
    }

    /// Whether `last` is in a better or a worse band than the previous window's.
    package enum Trend: UInt8, Sendable {
        case none, improving, deteriorating
    }

    /// The event time of `last`.
    package var lastTime: Timestamp { Timestamp(microseconds: lastMicroseconds) }

    /// The mean of all values; always finite, even if the sum is not.
    package var mean: Double { Swift.min(Swift.max(sum / Double(count), minimum), maximum) }

    /// Adds one more value, which must be finite; `time` in microseconds since the epoch.
    ///
    /// Uses plain integers, because most of its cost was calling `Timestamp`'s members across modules.
    @inline(__always)
    package mutating func add(_ value: Double, time: Int64, sequence: Int) {
        if time > lastMicroseconds || (time == lastMicroseconds && sequence >= lastSequence) {
            last = value
            lastMicroseconds = time
            lastSequence = sequence
        }
        count += 1
        if value < minimum { minimum = value }
        if value > maximum { maximum = value }
        sum += value
    }

    /// Its start, if it is `width` microseconds wide.
    package func start(width: Int64) -> Timestamp { Self.start(of: index, width: width) }

    /// The number of the window of `width` microseconds (more than 0) that holds `time`.
    package static func index(of time: Timestamp, width: Int64) -> Int64 {
        let (quotient, remainder) = time.microseconds.quotientAndRemainder(dividingBy: width)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The start of window `index` of `width` microseconds; clamped to the range of `Timestamp`.
    package static func start(of index: Int64, width: Int64) -> Timestamp {
        let (start, overflow) = index.multipliedReportingOverflow(by: width)
        return Timestamp(microseconds: overflow ? (index < 0 ? .min : .max) : start)
    }

    /// The end of window `index` of `width` microseconds, which is the first time outside it; clamped likewise.
    package static func end(of index: Int64, width: Int64) -> Timestamp {
        index == .max ? Timestamp(microseconds: .max) : start(of: index + 1, width: width)
    }
}

/// The series of one agent, us or one of a fleet, and the clock by which their windows close.
struct WindowClosings: Sendable {
    /// The indices of its series.
    private(set) var series: [Int] = []
    /// The agent's time as of its newest line, and the arrival of that line; nil before the first, and for ourselves.
    private var told: (time: Timestamp, heard: LoopInstant)?
    /// The end of the open window: earlier windows have closed.
    private var boundary = Timestamp(microseconds: .min)
    private var last = Timestamp(microseconds: .min)
    /// The first of `series` whose ended windows may lack a line; nil when all have theirs.
    private(set) var next: Int?
    /// Whether the clock has stepped back since, so that any window may have ended.
    private(set) var looksAtAll = false

    /// The agent's time now; the wall clock's before the first line.
    func time(at moment: Moment) -> Timestamp {
        guard let told else { return moment.wall }
        return MemberClock.time(told.time, after: told.heard.duration(to: moment.now))
    }

    /// The agent's time as of its newest line; `wall` before the first.
    @inline(__always) func told(or wall: Timestamp) -> Timestamp { told?.time ?? wall }

    /// Records the agent's time from a line that just arrived.
    mutating func hear(_ time: Timestamp, at now: LoopInstant) { told = (time, now) }

    mutating func add(series index: Int) { series.append(index) }

    /// Forgets series. The others have other places in `series` then: starts over, so that none is skipped.
    mutating func remove(where isGone: (Int) -> Bool) {
        series.removeAll(where: isGone)
        if next != nil { next = 0 }
    }

    /// Updates the boundary if windows have ended by `time`.
    ///
    /// - Parameter width: the width of a window, in microseconds.
    /// - Returns: whether windows have ended since the last call.
    mutating func notice(_ time: Timestamp, width: Int64) -> Bool {
        guard time >= boundary || time < last else { return false }
        looksAtAll = time < last || looksAtAll && next != nil
        last = time
        boundary = Window.end(of: Window.index(of: time, width: width), width: width)
        next = 0
        return true
    }

    /// Records that all series before this index have had their windows closed.
    mutating func close(before index: Int) { next = index < series.count ? index : nil }
}
