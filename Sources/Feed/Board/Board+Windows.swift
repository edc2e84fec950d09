package import Reactor

extension Board {
    /// Returns the windows of one series at any width, aligned to the Unix epoch, ascending, which overlap `range`.
    ///
    /// It makes windows from the points kept, as `WindowRing` does. Where `width` is a multiple of the width of the
    /// agent's own windows, it also merges those (last of the last, weighted mean). Of two windows for the same time it
    /// picks the one with the greater count, or the one from points if equal: each side can only lack events. The
    /// points lack those before the board was attached, trimmed or lost in a gap; the agent's windows lack those of the
    /// window that is still open. A window without any known event is absent. At the agent's own width, `band` and
    /// `trend` are the agent's.
    ///
    /// `series` is an index into `series`; a `width` below 1 µs counts as 1 µs. There are at most as many windows as
    /// points and window lines kept of the series.
    package func windows(of series: Int, width: Duration, over range: Range<Timestamp>) -> [BoardWindow] {
        guard self.series.indices.contains(series) else { return [] }
        let width = Swift.max(width.microseconds, 1)
        let made = windowsOfPoints(series, width: width).map { BoardWindow($0, width: width) }
        let said = BoardWindow.widened(self.series[series].windows, to: width)
        var merged: [BoardWindow] = []
        merged.reserveCapacity(Swift.max(made.count, said.count))
        var mine = made.startIndex
        var theirs = said.startIndex
        while mine < made.endIndex || theirs < said.endIndex {
            if theirs == said.endIndex || (mine < made.endIndex && made[mine].start < said[theirs].start) {
                merged.append(made[mine])
                mine += 1
            } else if mine == made.endIndex || said[theirs].start < made[mine].start {
                merged.append(said[theirs])
                theirs += 1
            } else {
                var window = said[theirs].count > made[mine].count ? said[theirs] : made[mine]
                window.band = said[theirs].band
                window.trend = said[theirs].trend
                merged.append(window)
                mine += 1
                theirs += 1
            }
        }
        return merged.filter { window in
            let end = window.start.microseconds.addingSaturated(width)
            return window.start < range.upperBound && end > range.lowerBound.microseconds
        }
    }

    /// Returns the series' points as windows, ascending.
    private func windowsOfPoints(_ series: Int, width: Int64) -> [Window] {
        var windows: [Window] = []
        for point in points(of: series) {
            let index = Window.index(of: point.time, width: width)
            // Points arrive nearly in order, so the index is nearly always the last.
            var position = windows.endIndex
            while position > 0, windows[position - 1].index > index { position -= 1 }
            if position > 0, windows[position - 1].index == index {
                windows[position - 1].add(point.value, time: point.microseconds, sequence: point.sequence)
            } else {
                windows.insert(
                    Window(index: index, value: point.value, time: point.time, sequence: point.sequence), at: position)
            }
        }
        return windows
    }
}
