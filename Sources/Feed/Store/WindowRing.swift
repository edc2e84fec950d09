package import Reactor

/// The windows of one series over the history: records values by event time, and emits each window once, when it has ended.
///
/// Windows are aligned to the Unix epoch. A window without a value is absent, not zero. Windows only go forward: a value for
/// an emitted window, or for an earlier one, is late. No recorded value is dropped without having been emitted: neither by
/// age, nor by a clock that steps in either direction.
///
/// The windows are in one array by ascending index; almost every value goes into the same window as the last one, whose
/// bounds are cached.
package struct WindowRing: Sendable {
    /// The result of recording a value.
    package enum Outcome: Sendable {
        /// It is in its window.
        case recorded
        /// It was more than a window's width ahead of the clock, and was recorded at the clock's time.
        case future
        /// Its window, or a later one, was emitted, or has ended and has values of an earlier run, or ended before the history
        /// begins; nothing was recorded.
        case late
        /// It would open one window more than `capacity`; nothing was recorded. Call `flush`, then record it again:
        /// right after a `flush` with the same `now` this never happens.
        case full
    }

    /// The width of a window in microseconds.
    package let width: Int64
    /// The period for which windows are kept, in microseconds.
    package let history: Int64

    /// Ascending by index from `head`; earlier ones were evicted, and are removed now and then.
    private var windows: [Window] = []
    private var head = 0
    /// The index of the newest window that was emitted; `Int64.min` before the first. Later windows have yet to be.
    private var emitted = Int64.min
    /// The end of the first window that has yet to be emitted; `Int64.max` when there is none.
    private var firstEnd = Int64.max

    /// The time when the first window leaves the history; `Int64.max` without windows.
    private var firstExpiry = Int64.max

    // The position of the last value: valid while `currentStart < currentEnd`.
    private var current = 0
    private var currentStart = Int64.max
    private var currentEnd = Int64.min

    /// `width` is at least 1 µs, sensibly 1 ms to 1 h; `history` is not negative.
    package init(width: Duration, history: Duration = .seconds(120)) {
        self.width = width.microseconds
        self.history = history.microseconds
        precondition(self.width > 0 && self.history >= 0, "a window needs a width and a history")
    }

    /// Creates the windows of a source.
    ///
    /// - Parameter newest: the newest window of before, which has another width.
    init(_ span: WindowSpan, after newest: Window? = nil) {
        self.init(width: span.width, history: span.history)
        past = newest
    }

    /// The windows held, by ascending index.
    package var held: ArraySlice<Window> { windows[head...] }

    /// The newest window that was dropped as it was past the history, or that has the newest value of an earlier run.
    private var past: Window?

    /// The window with the newest value, however old.
    package var newest: Window? {
        guard head < windows.count else { return past }
        let last = windows[windows.count - 1]
        return past.map { $0.lastTime > last.lastTime ? $0 : last } ?? last
    }

    /// Records the newest value of an earlier run, whose window has its line there.
    mutating func remember(_ window: Window) {
        if past.map({ $0.lastTime < window.lastTime }) ?? true { past = window }
    }

    /// Whether `complete` has a line to emit.
    var hasChanges: Bool { firstEnd < .max }

    // Bound: windows of a series | history / width + 8 | past the history dropped after their line
    /// The most windows held, which bounds the memory.
    package var capacity: Int { Int(clamping: history / width) + 8 }

    /// The time when `flush` next has a line to emit or a window to drop; nil for never, as without windows. It only
    /// looks at the ring itself, so that checking ten thousand of them often is cheap.
    ///
    /// It does not foresee a clock that steps back: then flush once in any case.
    package var nextDue: Timestamp? {
        let due = Swift.min(firstEnd, firstExpiry)
        return due == .max ? nil : Timestamp(microseconds: due)
    }

    /// The start of a window.
    package func start(of window: Window) -> Timestamp { window.start(width: width) }

    /// The end of a window.
    package func end(of window: Window) -> Timestamp { Window.end(of: window.index, width: width) }

    /// Whether a window has closed and the history still shows it.
    func isKept(_ window: Window, at now: Timestamp) -> Bool {
        let end = end(of: window)
        return end <= now && end.microseconds > now.microseconds.subtractingSaturated(history)
    }

    /// Records one finite value at its event time; `now` is the wall clock's.
    ///
    /// Of equal times, the greater `sequence` counts as later.
    @inline(__always)
    package mutating func record(_ value: Double, time: Timestamp, sequence: Int, now: Timestamp) -> Outcome {
        let now = now.microseconds
        let isFuture = time.microseconds > now.addingSaturated(width)
        let at = isFuture ? now : time.microseconds
        guard at >= currentStart, at < currentEnd, currentEnd > now.subtractingSaturated(history) else {
            return recordElsewhere(value, at: at, sequence: sequence, now: now, isFuture: isFuture)
        }
        windows[current].add(value, time: at, sequence: sequence)
        return isFuture ? .future : .recorded
    }

    /// Adds a window from before this ring, without a line, unless it is there already or there is no room.
    ///
    /// - Returns: whether it is added.
    mutating func restore(_ window: Window) -> Bool {
        let place = position(of: window.index)
        guard windows.count - head < capacity, place == windows.count || windows[place].index != window.index else {
            return false
        }
        windows.insert(window, at: place)
        if place == head { firstExpiry = end(of: window).microseconds.addingSaturated(history) }
        forgetCurrent()
        return true
    }

    /// Emits every window that has ended, by ascending index, and drops those outside the history.
    ///
    /// Dropped are windows that ended before the history begins and, since the clock may have stepped back, those that
    /// start more than a width from now; they are emitted first, unless they were before.
    ///
    /// - Parameter closing: the time by which windows have ended, if later than `now`.
    ///
    /// With a `scale`, the window's `trend` compares the bands of its `last` and that of the previous window, if still
    /// in the history.
    package mutating func flush(
        now: Timestamp, closing: Timestamp? = nil, scale: BandScale? = nil, emit: (Window) -> Void
    ) {
        let now = now.microseconds
        let closed = Swift.max(closing?.microseconds ?? now, now)
        if firstEnd <= closed { emitEnded(by: closed, now: now, scale, emit) }

        let oldest = now.subtractingSaturated(history)
        let newest = now.addingSaturated(width)
        var first = head
        var tail = windows.count
        while first < tail, end(of: windows[first]).microseconds <= oldest { first += 1 }
        while tail > first, start(of: windows[tail - 1]).microseconds > newest { tail -= 1 }
        // If the clock has stepped back, values for later windows may come again.
        let latest = Swift.min(emitted, Window.index(of: Timestamp(microseconds: newest), width: width))
        let isSame = first == head && tail == windows.count
        if tail < windows.count { evict(from: tail, now: now, scale, emit) }
        emitted = latest
        if isSame { return }
        if first > head { remember(windows[first - 1]) }
        head = first
        firstExpiry = head < tail ? end(of: windows[head]).microseconds.addingSaturated(history) : .max
        if head > 16, head * 2 >= windows.count {
            windows.removeFirst(head)
            head = 0
        }
        forgetCurrent()
    }

    /// Emits the windows that have not ended too, because no more values follow.
    package mutating func complete(now: Timestamp, scale: BandScale? = nil, emit: (Window) -> Void) {
        if hasChanges { emitEnded(by: .max, now: now.microseconds, scale, emit) }
    }

    /// The slow path of `record`: another window than last time, or a new one.
    @inline(never)
    private mutating func recordElsewhere(
        _ value: Double, at: Int64, sequence: Int, now: Int64, isFuture: Bool
    ) -> Outcome {
        let time = Timestamp(microseconds: at)
        let index = Window.index(of: time, width: width)
        let end = Window.end(of: index, width: width).microseconds
        guard end > now.subtractingSaturated(history) else { return .late }

        let position = position(of: index)
        if position < windows.count, windows[position].index == index {
            // A restored one does not change once it has ended.
            guard index > emitted, !windows[position].isRestored || end > now else { return .late }
            if windows[position].isRestored {
                begin(Window(index: index, value: value, time: time, sequence: sequence), at: position, replacing: true)
            } else {
                windows[position].add(value, time: at, sequence: sequence)
            }
        } else {
            guard index > emitted else { return .late }
            guard windows.count - head < capacity else { return .full }
            begin(Window(index: index, value: value, time: time, sequence: sequence), at: position, replacing: false)
        }
        current = position
        currentStart = Window.start(of: index, width: width).microseconds
        currentEnd = end
        return isFuture ? .future : .recorded
    }

    /// Adds the window of a value, or puts it in the place of a restored one.
    private mutating func begin(_ window: Window, at position: Int, replacing: Bool) {
        if replacing { windows[position] = window } else { windows.insert(window, at: position) }
        let end = end(of: window).microseconds
        if position == head { firstExpiry = end.addingSaturated(history) }
        firstEnd = Swift.min(firstEnd, end)
        // A value of this run is newer, whatever the clock was before.
        if past?.lastSequence == 0 { past = nil }
    }

    /// The index in `windows` of the window `index`, or the index at which to insert it.
    private func position(of index: Int64) -> Int {
        var low = head
        var high = windows.count
        // Most new windows are the newest.
        if high > low, windows[high - 1].index < index { return high }
        while low < high {
            let middle = (low + high) / 2
            if windows[middle].index < index { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func emitEnded(by limit: Int64, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        var position = emitted == .max ? windows.count : position(of: emitted == .min ? .min : emitted + 1)
        while position < windows.count, end(of: windows[position]).microseconds <= limit {
            emitLine(position, now, scale, emit)
            position += 1
        }
        firstEnd = firstEnd(from: position)
        forgetCurrent()
    }

    /// The end of the first window from a position on that is not restored; `Int64.max` when there is none.
    private func firstEnd(from position: Int) -> Int64 {
        windows[position...].first { !$0.isRestored }.map { end(of: $0).microseconds } ?? .max
    }

    /// Emits a window, unless it had its line elsewhere.
    @inline(__always)
    private mutating func emitLine(_ position: Int, _ now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        guard !windows[position].isRestored else { return }
        windows[position].trend = scale.map { trend(of: position, $0, now) } ?? .none
        emit(windows[position])
        emitted = windows[position].index
    }

    private func trend(of position: Int, _ scale: BandScale, _ now: Int64) -> Window.Trend {
        guard position > head, end(of: windows[position - 1]).microseconds > now.subtractingSaturated(history) else {
            return .none
        }
        let before = scale.index(of: windows[position - 1].last)
        let after = scale.index(of: windows[position].last)
        if after == before { return .none }
        return (after > before) == scale.higherIsBetter ? .improving : .deteriorating
    }

    /// Drops the windows from a position on, after emitting those that were not.
    private mutating func evict(from tail: Int, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        let before = emitted
        for position in tail..<windows.count where windows[position].index > emitted {
            emitLine(position, now, scale, emit)
        }
        windows.removeSubrange(tail...)
        emitted = before
        firstEnd =
            windows[head...].first { $0.index > emitted && !$0.isRestored }
            .map { end(of: $0).microseconds } ?? .max
    }

    private mutating func forgetCurrent() {
        current = 0
        currentStart = .max
        currentEnd = .min
    }
}
