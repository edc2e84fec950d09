package import Feed
package import Reactor

/// `WindowRing` once more in the most obvious way: a dictionary of full event lists, everything computed anew each time.
///
/// Times are computed in 128 bits, so that nothing has to saturate.
package struct WindowTwin {
    package struct Value {
        let value: Double
        let time: Int128
        let sequence: Int
    }

    /// A window as the twin sees it, to be compared with the ring's.
    package struct Snapshot: Equatable {
        package let index: Int128
        package let last: Double
        let lastTime: Int128
        let lastSequence: Int
        package let count: Int
        package let minimum: Double
        package let maximum: Double
        let sum: Double
    }

    private let width: Int128
    private let history: Int128
    private var held: [Int128: [Value]] = [:]
    /// The newest window with a line.
    private var emitted: Int128?

    package init(width: Duration, history: Duration) {
        self.width = Int128(width.microseconds)
        self.history = Int128(history.microseconds)
    }

    private func index(of time: Int128) -> Int128 {
        var index = time / width
        if index * width > time { index -= 1 }
        return index
    }

    /// The end, which a `Timestamp` cannot say beyond the end of time.
    private func end(_ index: Int128) -> Int128 { min((index + 1) * width, Int128(Int64.max)) }

    private func snapshot(_ index: Int128, _ values: [Value]) -> Snapshot {
        let newest = values.sorted { ($0.time, $0.sequence) < ($1.time, $1.sequence) }[values.count - 1]
        return Snapshot(
            index: index, last: newest.value, lastTime: newest.time, lastSequence: newest.sequence,
            count: values.count, minimum: values.map(\.value).min() ?? .nan,
            maximum: values.map(\.value).max() ?? .nan, sum: values.map(\.value).reduce(0, +))
    }

    package mutating func record(
        _ value: Double, time: Timestamp, sequence: Int, now: Timestamp
    ) -> WindowRing.Outcome {
        let now = Int128(now.microseconds)
        var time = Int128(time.microseconds)
        var outcome = WindowRing.Outcome.recorded
        if time > now + width {
            time = now
            outcome = .future
        }
        let index = index(of: time)
        if end(index) <= now - history || !isPending(index) { return .late }
        if held[index] == nil, held.count >= Int(history / width) + 8 { return .full }
        held[index, default: []].append(Value(value: value, time: time, sequence: sequence))
        return outcome
    }

    private func isPending(_ index: Int128) -> Bool { emitted.map { index > $0 } ?? true }

    package mutating func flush(now: Timestamp) -> [Snapshot] {
        let now = Int128(now.microseconds)
        var lines: [Snapshot] = []
        for (index, values) in held.sorted(by: { $0.key < $1.key }) where isPending(index) && end(index) <= now {
            lines.append(snapshot(index, values))
            emitted = index
        }
        for (index, values) in held.sorted(by: { $0.key < $1.key }) {
            if end(index) <= now - history || index * width > now + width {
                if isPending(index) { lines.append(snapshot(index, values)) }
                held[index] = nil
            }
        }
        emitted = emitted.map { min($0, self.index(of: min(now + width, Int128(Int64.max)))) }
        return lines
    }

    package var snapshots: [Snapshot] {
        held.sorted { $0.key < $1.key }.map { snapshot($0.key, $0.value) }
    }

    /// What `WindowRing.nextDue` must be.
    package var nextDue: Timestamp? {
        let ends = held.keys.filter { isPending($0) }.map { end($0) }
        let expiry = held.keys.map { end($0) + history }
        guard let due = (ends + expiry).min(), due < Int128(Int64.max) else { return nil }
        return Timestamp(microseconds: Int64(due))
    }
}

extension WindowTwin.Snapshot {
    /// The ring's window in the twin's form.
    package init(_ window: Window) {
        self.init(
            index: Int128(window.index), last: window.last, lastTime: Int128(window.lastTime.microseconds),
            lastSequence: window.lastSequence, count: window.count, minimum: window.minimum, maximum: window.maximum,
            sum: window.sum)
    }
}
