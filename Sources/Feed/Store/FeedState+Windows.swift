package import Reactor

/// When windows take values, close and appear.
extension FeedState {
    /// Closes the windows whose time has come; to be called when `nextBoundary` has come, at least.
    package mutating func advance(wall: Timestamp, now: LoopInstant) {
        guard wall >= boundary || wall < lastWall else { return }
        let steppedBack = wall < lastWall
        lastWall = wall
        boundary = nextBoundary(after: wall)
        openSince = boundary - limits.interval
        for index in series.indices {
            if !steppedBack {
                guard let due = series[index].ring.nextDue, due <= wall else { continue }
            }
            flush(index, wall, now)
        }
        log.expire(at: now)
    }

    /// When the window ends that holds `wall`.
    package func nextBoundary(after wall: Timestamp) -> Timestamp {
        return Window.end(of: Window.index(of: wall, width: width), width: width)
    }

    /// Gives the windows that are still open their line, as nothing more will come; of so many series at a time.
    ///
    /// - Parameter first: the first series, from 0.
    /// - Returns: where to go on; nil when that was all.
    package mutating func complete(from first: Int, atMost count: Int, wall: Timestamp, now: LoopInstant) -> Int? {
        let end = min(first + count, series.count)
        for index in first..<max(first, end) { flush(index, wall, now, isComplete: true) }
        return end < series.count ? end : nil
    }

    /// Puts a value into its window; the line it belongs to comes next in the log.
    @inline(__always)
    mutating func record(_ value: Double, in index: Int, at time: Timestamp, _ wall: Timestamp, _ now: LoopInstant) {
        var outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: wall)
        if case .full = outcome {
            // Cannot happen again right after a flush, which the ring's documentation promises.
            flush(index, wall, now)
            outcome = series[index].ring.record(value, time: time, sequence: log.nextSequence, now: wall)
        }
        if case .late = outcome {
            counts.late += 1
        } else if time < openSince, revised.last != index {
            // Its window has closed already: its line appears again, after the batch.
            revised.append(index)
        }
    }

    /// Says again what late events have changed.
    mutating func flushRevised(_ wall: Timestamp, _ now: LoopInstant) {
        guard !revised.isEmpty else { return }
        for index in revised {
            if let due = series[index].ring.nextDue, due <= wall { flush(index, wall, now) }
        }
        revised.removeAll(keepingCapacity: true)
    }

    private mutating func flush(_ index: Int, _ wall: Timestamp, _ now: LoopInstant, isComplete: Bool = false) {
        // The ring is taken out while it lends its windows, so that the log can be appended to meanwhile; another is put
        // in its place, or its memory would be shared and copied.
        var ring = WindowRing(width: limits.interval, history: limits.history)
        swap(&ring, &series[index].ring)
        let scale = series[index].kind == .data ? sources[series[index].source].bands : nil
        withWindowNames(of: index) { state, names in
            func emit(_ window: Window) {
                let band = scale.map { $0.labels[$0.scale.index(of: window.last)] }
                let most = LineEncoder.mostWindow(names: names.count, band: band?.count ?? 0)
                let width = state.width
                state.log.append(atMost: most, at: now) { sequence, writer in
                    state.encoder.window(
                        window, width: width, sequence: sequence, time: wall, names: names, band: band, to: writer)
                }
            }
            if isComplete {
                ring.complete(now: wall, scale: scale?.scale, emit: emit)
            } else {
                ring.flush(now: wall, scale: scale?.scale, emit: emit)
            }
        }
        series[index].ring = ring
    }
}
