package import Reactor

/// The windows of one series over the history: records values by event time, and emits each changed window once closed.
///
/// Windows are aligned to the Unix epoch. A window without a value is absent, not zero. A late value within the history
/// reopens its window's line, with the next `revision`. No recorded value is dropped without having been emitted:
/// neither by age, nor by a clock that steps in either direction.
///
/// The windows are in one array by ascending index; almost every value goes into the same window as the last one, whose
/// bounds are cached. A late value that opens a window moves those after it.
package struct WindowRing: Sendable {
    /// The result of recording a value.
    package enum Outcome: Sendable {
        /// It is in its window.
        case recorded
        /// It was more than a window's width ahead of the clock, and was recorded at the clock's time.
        case future
        /// Its window ended before the history begins; nothing was recorded.
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
    /// The indices of all dirty windows, in the order in which they became dirty.
    private var dirty: [Int64] = []
    /// The smallest end of a dirty window; `Int64.max` when none is dirty.
    private var firstDirtyEnd = Int64.max

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
    var hasChanges: Bool { !dirty.isEmpty }

    // Bound: windows of a series | history / width + 8 | past the history dropped after their line
    /// The most windows held, which bounds the memory.
    package var capacity: Int { Int(clamping: history / width) + 8 }

    /// The time when `flush` next has a line to emit or a window to drop; nil for never, as without windows. It only
    /// looks at the ring itself, so that checking ten thousand of them often is cheap.
    ///
    /// It does not foresee a clock that steps back: then flush once in any case.
    package var nextDue: Timestamp? {
        let due = Swift.min(firstDirtyEnd, firstExpiry)
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
        if !windows[current].isDirty { markDirty(current) }
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

    /// A value of this run is newer, whatever the clock was before.
    private mutating func forgetEarlierRun() {
        if past?.lastSequence == 0 { past = nil }
    }

    /// Emits a line for every changed window that has ended, by ascending index, and drops those outside the history.
    ///
    /// `emit` gets the window as it is; its `revision` is the number of its earlier lines. Dropped are windows that
    /// ended before the history begins and, since the clock may have stepped back, those that start more than a width
    /// from now; any change since their last line is emitted first.
    ///
    /// - Parameter closing: the time by which windows have ended, if later than `now`.
    ///
    /// With a `scale`, the window's `trend` compares the bands of its `last` and that of the previous window, if still
    /// in the history. If a line changes the trend that the next window's line stated, that one is emitted again too.
    package mutating func flush(
        now: Timestamp, closing: Timestamp? = nil, scale: BandScale? = nil, emit: (Window) -> Void
    ) {
        let now = now.microseconds
        let closed = Swift.max(closing?.microseconds ?? now, now)
        if firstDirtyEnd <= closed { emitDirty(until: closed, now: now, scale, emit) }

        let oldest = now.subtractingSaturated(history)
        let newest = now.addingSaturated(width)
        var first = head
        var tail = windows.count
        while first < tail, end(of: windows[first]).microseconds <= oldest { first += 1 }
        while tail > first, start(of: windows[tail - 1]).microseconds > newest { tail -= 1 }
        if first == head, tail == windows.count { return }

        if tail < windows.count { evict(from: tail, now: now, scale, emit) }
        if first > head { remember(windows[first - 1]) }
        head = first
        firstExpiry = head < tail ? end(of: windows[head]).microseconds.addingSaturated(history) : .max
        if head > 16, head * 2 >= windows.count {
            windows.removeFirst(head)
            head = 0
        }
        forgetCurrent()
    }

    /// Emits a line for every changed window, even those that have not ended, because no more values follow.
    package mutating func complete(now: Timestamp, scale: BandScale? = nil, emit: (Window) -> Void) {
        if !dirty.isEmpty { emitDirty(until: .max, now: now.microseconds, scale, emit) }
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
            switch windows[position].restored {
            case .otherAgent: return .recorded
            // A window line counts the values of its own run.
            case .earlierRun:
                windows[position] = Window(index: index, value: value, time: time, sequence: sequence)
                forgetEarlierRun()
                markDirty(position)
            case nil:
                windows[position].add(value, time: at, sequence: sequence)
                if !windows[position].isDirty { markDirty(position) }
            }
        } else {
            guard windows.count - head < capacity else { return .full }
            windows.insert(Window(index: index, value: value, time: time, sequence: sequence), at: position)
            if position == head { firstExpiry = end.addingSaturated(history) }
            forgetEarlierRun()
            markDirty(position)
        }
        current = position
        currentStart = Window.start(of: index, width: width).microseconds
        currentEnd = end
        return isFuture ? .future : .recorded
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

    private mutating func markDirty(_ position: Int) {
        windows[position].isDirty = true
        dirty.append(windows[position].index)
        firstDirtyEnd = Swift.min(firstDirtyEnd, end(of: windows[position]).microseconds)
    }

    private mutating func emitDirty(until limit: Int64, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        dirty.sort()
        var done = 0
        while done < dirty.count, Window.end(of: dirty[done], width: width).microseconds <= limit {
            let position = position(of: dirty[done])
            emitLine(position, now, scale, emit)
            emitSuccessor(of: position, now, scale, emit)
            done += 1
        }
        dirty.removeFirst(done)
        firstDirtyEnd = dirty.first.map { Window.end(of: $0, width: width).microseconds } ?? .max
    }

    @inline(__always)
    private mutating func emitLine(_ position: Int, _ now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        windows[position].trend = scale.map { trend(of: position, $0, now) } ?? .none
        emit(windows[position])
        windows[position].revision &+= 1
        windows[position].isDirty = false
    }

    /// Emits the window after `position` again if its line stated another trend than it has now. It goes no further,
    /// because that window's own value has not changed.
    @inline(__always)
    private mutating func emitSuccessor(of position: Int, _ now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        // A dirty one is emitted in its turn, at the latest when it has ended.
        // A restored one had its line elsewhere.
        guard let scale, position + 1 < windows.count, !windows[position + 1].isDirty,
            windows[position + 1].restored == nil,
            windows[position + 1].trend != trend(of: position + 1, scale, now)
        else { return }
        emitLine(position + 1, now, scale, emit)
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

    private mutating func evict(from tail: Int, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        let index = windows[tail].index
        for position in tail..<windows.count where windows[position].isDirty {
            emitLine(position, now, scale, emit)
            emitSuccessor(of: position, now, scale, emit)
        }
        windows.removeSubrange(tail...)
        dirty.removeAll { $0 >= index }
        firstDirtyEnd = dirty.min().map { Window.end(of: $0, width: width).microseconds } ?? .max
    }

    private mutating func forgetCurrent() {
        current = 0
        currentStart = .max
        currentEnd = .min
    }
}
