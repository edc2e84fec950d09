package import Reactor

/// The windows of one series over the history: values go in by event time, each window that changed comes out once closed.
///
/// Windows are aligned to the Unix epoch. A window without a value is absent, not zero. A late value that still falls
/// into the history opens its window's line again, with the next `revision`. Nothing that was recorded is dropped
/// without having been emitted: not by age, not by a clock that steps in either direction.
///
/// The windows lie in one array by ascending index; almost always a value goes into the one the last value went into,
/// whose bounds are kept at hand. Late values that open a window cost a move of what lies behind it.
package struct WindowRing: Sendable {
    /// What became of a value.
    package enum Outcome: Sendable {
        /// It is in its window.
        case recorded
        /// It came from more than a window's width ahead of the clock, and was recorded at the clock's time.
        case future
        /// Its window ended before the history begins; nothing was recorded.
        case late
        /// It would open one window more than `capacity`; nothing was recorded. Call `flush`, then record it again:
        /// right after a `flush` with the same `now` this never happens.
        case full
    }

    /// The width of a window in microseconds.
    package let width: Int64
    /// How far back windows are kept, in microseconds.
    package let history: Int64

    /// Ascending by index from `head` on; what lies before was evicted and is cut off now and then.
    private var windows: [Window] = []
    private var head = 0
    /// The indices of all dirty windows, in the order they became it.
    private var dirty: [Int64] = []
    /// The smallest end of a dirty window; the end of time when none is dirty.
    private var firstDirtyEnd = Int64.max

    /// When the first window held is past the history; the end of time when none is held.
    private var firstExpiry = Int64.max

    // Where the last value went: valid while `currentStart < currentEnd`.
    private var current = 0
    private var currentStart = Int64.max
    private var currentEnd = Int64.min

    /// `width` at least 1 µs, sensibly 1 ms to 1 h; `history` not negative.
    package init(width: Duration, history: Duration = .seconds(120)) {
        self.width = width.microseconds
        self.history = history.microseconds
        precondition(self.width > 0 && self.history >= 0, "a window needs a width and a history")
    }

    /// The windows held, by ascending index.
    package var held: ArraySlice<Window> { windows[head...] }

    /// The newest window held.
    package var newest: Window? { head < windows.count ? windows[windows.count - 1] : nil }

    /// How many windows are held at the most, which bounds the memory: the history's and eight.
    package var capacity: Int { Int(clamping: history / width) + 8 }

    /// When `flush` next has a line to emit or a window to let go; nil if not before the end of time, as while nothing
    /// is held. Looks at nothing but the ring itself, so that ten thousand of them can be asked often.
    ///
    /// A clock that stepped back is not foreseen: flush once then, whatever this says.
    package var nextDue: Timestamp? {
        let due = Swift.min(firstDirtyEnd, firstExpiry)
        return due == .max ? nil : Timestamp(microseconds: due)
    }

    /// When window `index` starts.
    package func start(of window: Window) -> Timestamp { Window.start(of: window.index, width: width) }

    /// When window `index` ends.
    package func end(of window: Window) -> Timestamp { Window.end(of: window.index, width: width) }

    /// Takes one finite value at its event time; `now` is the wall clock's.
    ///
    /// Of equal times the greater `sequence` counts as the later value.
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

    /// Emits a line for every window that changed and has ended, by ascending index, and lets go of what is past.
    ///
    /// `emit` gets the window as it is, its `revision` being the number of lines it had before. Past is what ended
    /// before the history begins, and, as the clock may have stepped back, what starts more than a width from now;
    /// whatever of that changed since its last line is emitted first.
    ///
    /// - Parameter closing: by which time windows have ended, where that is later than `now`.
    ///
    /// With a `scale`, the window's `trend` is told by the bands of its `last` and that of the window before it which
    /// still is in the history. Where a line changes the trend that the next window's line has told, that one is emitted
    /// again as well.
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
        head = first
        firstExpiry = head < tail ? end(of: windows[head]).microseconds.addingSaturated(history) : .max
        if head > 16, head * 2 >= windows.count {
            windows.removeFirst(head)
            head = 0
        }
        forgetCurrent()
    }

    /// Emits a line for every window that changed, also for those that have not ended: nothing more will come.
    package mutating func complete(now: Timestamp, scale: BandScale? = nil, emit: (Window) -> Void) {
        if !dirty.isEmpty { emitDirty(until: .max, now: now.microseconds, scale, emit) }
    }

    /// The slow way of `record`: another window than last time, or none.
    @inline(never)
    private mutating func recordElsewhere(
        _ value: Double, at: Int64, sequence: Int, now: Int64, isFuture: Bool
    ) -> Outcome {
        let time = Timestamp(microseconds: at)
        let index = Window.index(of: time, width: width)
        let end = Window.end(of: index, width: width).microseconds
        guard end > now.subtractingSaturated(history) else { return .late }

        let place = position(of: index)
        if place < windows.count, windows[place].index == index {
            windows[place].add(value, time: at, sequence: sequence)
            if !windows[place].isDirty { markDirty(place) }
        } else {
            guard windows.count - head < capacity else { return .full }
            windows.insert(Window(index: index, value: value, time: time, sequence: sequence), at: place)
            if place == head { firstExpiry = end.addingSaturated(history) }
            markDirty(place)
        }
        current = place
        currentStart = Window.start(of: index, width: width).microseconds
        currentEnd = end
        return isFuture ? .future : .recorded
    }

    /// The place of window `index` in `windows`, or the one it would have to be inserted at.
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

    private mutating func markDirty(_ place: Int) {
        windows[place].isDirty = true
        dirty.append(windows[place].index)
        firstDirtyEnd = Swift.min(firstDirtyEnd, end(of: windows[place]).microseconds)
    }

    private mutating func emitDirty(until limit: Int64, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        dirty.sort()
        var done = 0
        while done < dirty.count, Window.end(of: dirty[done], width: width).microseconds <= limit {
            let place = position(of: dirty[done])
            emitLine(place, now, scale, emit)
            emitSuccessor(of: place, now, scale, emit)
            done += 1
        }
        dirty.removeFirst(done)
        firstDirtyEnd = dirty.first.map { Window.end(of: $0, width: width).microseconds } ?? .max
    }

    @inline(__always)
    private mutating func emitLine(_ place: Int, _ now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        windows[place].trend = scale.map { trend(of: place, $0, now) } ?? .none
        emit(windows[place])
        windows[place].revision &+= 1
        windows[place].isDirty = false
    }

    /// Emits the window behind `place` once more if its line has told another trend than it has now. It goes no further,
    /// as that window's own value has not changed.
    @inline(__always)
    private mutating func emitSuccessor(of place: Int, _ now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        // One that is dirty has its turn, at the latest when it has ended.
        guard let scale, place + 1 < windows.count, !windows[place + 1].isDirty,
            windows[place + 1].trend != trend(of: place + 1, scale, now)
        else { return }
        emitLine(place + 1, now, scale, emit)
    }

    private func trend(of place: Int, _ scale: BandScale, _ now: Int64) -> Window.Trend {
        guard place > head, end(of: windows[place - 1]).microseconds > now.subtractingSaturated(history) else {
            return .none
        }
        let before = scale.index(of: windows[place - 1].last)
        let after = scale.index(of: windows[place].last)
        if after == before { return .none }
        return (after > before) == scale.higherIsBetter ? .improving : .deteriorating
    }

    private mutating func evict(from tail: Int, now: Int64, _ scale: BandScale?, _ emit: (Window) -> Void) {
        let index = windows[tail].index
        for place in tail..<windows.count where windows[place].isDirty {
            emitLine(place, now, scale, emit)
            emitSuccessor(of: place, now, scale, emit)
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
