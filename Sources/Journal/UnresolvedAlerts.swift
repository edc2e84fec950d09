package import Feed
package import Reactor

/// The alerts that are not ok, found from the newest `alert` line on back.
package struct UnresolvedAlerts {
    // Bound: alerts read from a journal at the start | the newest 100,000 lines, 8 MiB of them not ok | older ones are
    //   forgotten
    package static let mostLines = 100_000
    private static let mostBytes = 8 << 20

    private var seen: Set<String> = []
    private var firing: [[UInt8]] = []
    private var bytes = 0

    package init() {}

    /// Looks at the next older line.
    ///
    /// - Parameter time: returns the time of the newest line of its run.
    /// - Returns: whether there is room for more.
    package mutating func add<Fault: Error>(
        _ line: [UInt8], _ place: LineID, time: () throws(Fault) -> Timestamp
    ) throws(Fault) -> Bool {
        guard let decoded = try? LineDecoder.decode(line[...]), case .alert(let alert) = decoded.body,
            decoded.agent == nil, seen.insert("\(alert.condition)\u{0}\(alert.about)").inserted,
            !alert.state.isOver
        else { return true }
        let kept = ControlLine.kept(time: try time(), run: place.run, line: line)
        bytes += kept.count
        guard bytes <= Self.mostBytes else { return false }
        firing.append(kept)
        return true
    }

    /// The `kept` lines, the oldest first; the time of each is that of the newest line of its run.
    package var lines: [UInt8] { Array(firing.reversed().joined()) }
}
