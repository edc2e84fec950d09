internal import Reactor

/// Shows a watcher the lines of a recording in their order, without those that change nothing: nearly all of them.
package struct LineSieve: Sendable {
    private struct Series {
        /// Nil for one that there is no room for.
        var index: Int?
        /// Whether the watcher wants to see its source's data.
        var isWatched: Bool
    }

    // Bound: series of a recording whose lines are left out if they change nothing | 16,384 | all of the others' are read
    private static let mostSeries = 16_384

    private var calm = CalmSeries()
    private var names = PlainNames<Series>(most: mostSeries)
    private var indices: [Board.Name: Int] = [:]

    package init() {}

    /// Has the watcher see the next line of each series: something else has happened.
    package mutating func interrupt() { calm.interrupt() }

    /// Shows a numbered line to the watcher, unless it changes nothing.
    package mutating func show(_ line: RecordedLine, to watcher: inout some LineWatcher) {
        switch line {
        case .other(let relayed):
            // An alert changes nothing of what it tells.
            if case .alert = relayed.line.body {} else { calm.interrupt() }
            watcher.apply(relayed.line, newest: nil)
        case .plain(let plain, let bytes):
            guard plain.kind == .data else {
                calm.interrupt()
                return decode(bytes, for: &watcher, newest: nil)
            }
            let names = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[plain.names]))
            let series = self.names.meaning(of: names) ?? learn(names, bytes, of: &watcher)
            guard series.isWatched else { return }
            guard let index = series.index else { return decode(bytes, for: &watcher, newest: nil) }
            if let value = plain.value, calm.leavesOut(value, at: plain.time, in: index) { return }
            decode(bytes, for: &watcher, newest: calm.newest(of: index))
            calm.set(plain.value == nil ? nil : watcher.calm, of: index)
        }
    }

    private func decode(
        _ line: UnsafeBufferPointer<UInt8>, for watcher: inout some LineWatcher, newest: Timestamp?
    ) {
        if let line = try? LineDecoder.decode(Bytes(line)) { watcher.apply(line, newest: newest) }
    }

    /// Of the same series there may be lines with several types.
    private mutating func learn(
        _ names: UnsafeRawBufferPointer, _ line: UnsafeBufferPointer<UInt8>, of watcher: inout some LineWatcher
    ) -> Series {
        guard self.names.hasRoom(for: names), let decoded = try? LineDecoder.decode(Bytes(line)),
            case .data(let data) = decoded.body,
            let source = decoded.source
        else { return Series(index: nil, isWatched: true) }
        let index = indices[Board.Name(data.series)] ?? indices.count
        indices[Board.Name(data.series)] = index
        let series = Series(index: index, isWatched: watcher.isAbout(source: source))
        self.names.learn(names, series)
        return series
    }
}
