import Feed
import Reactor

/// The windows of one run in the most obvious way, made from nothing but the lines of its values and the wall clock: every
/// `window` line must say what they come to, and none that is over may be without one for long.
struct WindowWitness {
    private struct Held {
        var values: [(value: Double, time: Int64, sequence: Int)] = []
        var isTold = false
        /// Whether it must have a line. False if it was over when this run had its first value, and an earlier run had one.
        var isOwed = true
        var overSince: LoopInstant?
    }

    private let width: Int64
    private let history: Int64
    private var held: [String: [Int64: Held]] = [:]
    /// The newest window of each series that has a line.
    private var newest: [String: Int64] = [:]
    /// What is past, and has still to be told.
    private var departing: [String: [Int64: Held]] = [:]
    /// Windows of which it is not known whether a clock that was stepped back has had them forgotten.
    private var blurred: [ClosedRange<Int64>] = []
    private var lastIndex = Int64.min
    private var lastNow = Int64.min
    private(set) var told = 0
    private(set) var late = 0
    /// The windows of which this run or an earlier one had a value, by series.
    private var everHeld: [String: Set<Int64>]
    /// The same of earlier runs alone.
    private let heldBefore: [String: Set<Int64>]

    /// - Parameter earlier: the witness of the run before.
    init(width: Duration, after earlier: WindowWitness? = nil) {
        (self.width, history) = (width.microseconds, 4 * width.microseconds)
        heldBefore = earlier?.everHeld ?? [:]
        everHeld = heldBefore
    }

    private func index(of time: Int64) -> Int64 {
        var index = time / width
        if index * width > time { index -= 1 }
        return index
    }

    /// A value's line has come.
    mutating func record(_ value: Double, of series: String, at time: Timestamp, _ sequence: Int, now: Timestamp) {
        evict(now.microseconds)
        let index = index(of: time.microseconds)
        guard (index + 1) * width > now.microseconds - history, newest[series].map({ index > $0 }) ?? true else {
            late += 1
            return
        }
        let isOwed = (index + 1) * width > now.microseconds || heldBefore[series]?.contains(index) != true
        held[series, default: [:]][index, default: Held(isOwed: isOwed)].values
            .append((value, time.microseconds, sequence))
        everHeld[series, default: []].insert(index)
    }

    /// The clock is about to be stepped. What was past by then may have been forgotten or not: no line says so.
    ///
    /// - Parameter isSeen: whether a value follows at once; else nobody may look before the next step.
    mutating func step(from now: Timestamp, by step: Duration, isSeen: Bool) {
        guard lastNow > .min else { return }
        let (before, after) = (index(of: lastNow - history) - 1, index(of: now.microseconds - history))
        if before <= after { blurred.append(before...after) }
        if isSeen { return }
        let then = now.microseconds + step.microseconds
        if then > now.microseconds {
            blurred.append(after...index(of: then - history))
        } else {
            blurred.append(index(of: then + width) + 1...index(of: now.microseconds + width) + 1)
        }
    }

    /// Lets go of what is past, and of what is further ahead than an event may be, as the clock was stepped back.
    private mutating func evict(_ now: Int64) {
        guard index(of: now) != lastIndex || now < lastNow else { return }
        if now < lastNow {
            let first = index(of: now + width) + 1
            newest = newest.mapValues { min($0, first - 1) }
            blurred.append(first...(first + 4_000_000 / width))
        }
        (lastIndex, lastNow) = (index(of: now), now)
        for (series, windows) in held {
            for (index, window) in windows
            where (index + 1) * width <= now - history || index * width > now + width {
                held[series]?[index] = nil
                if !window.isTold { departing[series, default: [:]][index] = window }
            }
        }
    }

    /// A window's line has come.
    ///
    /// - Returns: what is wrong with it.
    mutating func tell(_ line: LineScan) -> String? {
        guard let series = line.text("\"series\":\""), let start = line.time("\"start\":\""),
            let time = line.time("\"time\":\"")
        else { return "names no series, start or time" }
        let index = index(of: start.microseconds)
        told += 1
        guard index * width == start.microseconds else { return "does not start where one does" }
        let isDeparting = departing[series]?[index] != nil
        guard let window = departing[series]?[index] ?? held[series]?[index] else {
            return isBlurred(index) ? nil : "holds nothing that came"
        }
        if isDeparting {
            departing[series]?[index] = nil
        } else {
            held[series]?[index]?.isTold = true
            // One that is told as the clock was stepped back may come again, and so may those before it.
            if index * width <= time.microseconds + width { newest[series] = max(newest[series] ?? index, index) }
        }
        if isBlurred(index) { return nil }
        if window.isTold { return "is told again" }
        let values = window.values
        guard var last = values.first else { return "is empty" }
        for value in values where (value.time, value.sequence) >= (last.time, last.sequence) { last = value }
        let all = values.map(\.value)
        let (least, most) = (all.min() ?? 0, all.max() ?? 0)
        let mean = min(max(all.reduce(0, +) / Double(all.count), least), most)
        let facts: [(StaticString, Double)] = [
            ("\"last\":", last.value), ("\"last_seq\":", Double(last.sequence)), ("\"count\":", Double(all.count)),
            ("\"min\":", least), ("\"max\":", most), ("\"mean\":", mean),
        ]
        for (key, value) in facts where line.number(key) != value { return "says another \(key) than \(value)" }
        return nil
    }

    private func isBlurred(_ index: Int64) -> Bool { blurred.contains { $0.contains(index) } }

    /// How many values each window of a series has that is over, and will be shown for some time, by its start.
    func closed(of series: String, at now: Timestamp) -> [Int64: Int] {
        var closed: [Int64: Int] = [:]
        for (index, window) in held[series] ?? [:] where !isBlurred(index) {
            let end = (index + 1) * width
            if end <= now.microseconds, end > now.microseconds - history + 1_000_000 {
                closed[index * width] = window.values.count
            }
        }
        return closed
    }

    /// What is over for longer than `patience` and has no line.
    mutating func overdue(now: Timestamp, at instant: LoopInstant, patience: Duration) -> String? {
        func isOverdue(_ since: inout LoopInstant?) -> Bool {
            let began = since ?? instant
            since = began
            return began.duration(to: instant) > patience
        }
        for series in held.keys.sorted() {
            for index in held[series]?.keys.sorted() ?? [] {
                guard var window = held[series]?[index], !window.isTold, window.isOwed,
                    (index + 1) * width <= now.microseconds, !isBlurred(index)
                else { continue }
                if isOverdue(&window.overSince) { return "\(series) from \(index * width) is over and was not told" }
                held[series]?[index] = window
            }
        }
        for series in departing.keys.sorted() {
            for index in departing[series]?.keys.sorted() ?? [] where !isBlurred(index) {
                guard var window = departing[series]?[index], window.isOwed else { continue }
                if isOverdue(&window.overSince) { return "\(series) from \(index * width) is past and was not told" }
                departing[series]?[index] = window
            }
        }
        return nil
    }
}
