package import Reactor

/// One line for a feed screen; texts have at most 1,000 code points.
package struct BoardLine: Sendable, Equatable {
    package var sequence: Int
    package var time: Timestamp
    package var type: String
    /// Empty when the line has no source.
    package var source: String
    package var series: String?
    /// The kind of `value`.
    package var kind = SeriesKind.data
    /// A data line's value, a window's last, a latency's ms, a memory's rss_bytes, a progress's done, a recovered
    /// line's down_s, a restart's last_seq, a lost line's number of lines,
    /// an alert's value, a clock's step_s.
    package var value: Double?
    /// The word that a data line's value stands for.
    package var word: String?
    /// A data line's text, an error's message, a latency's endpoint, a restart's last_run, a peer's state, an
    /// alert's condition.
    package var text: String?
    /// An error's code, a restart's ended, an alert's state.
    package var code: String?

    init(_ line: Line, sequence: Int) {
        self.sequence = sequence
        time = line.time
        type = line.type.cut(to: Board.longestText)
        source = (line.source ?? "").cut(to: Board.longestText)
        switch line.body {
        case .data(let data):
            series = data.series
            (value, word) = (data.value, data.word)
            text = data.text
        case .latency(let sample):
            kind = .latency
            value = sample.ms
            text = sample.endpoint
        case .memory(let sample):
            kind = .memory
            value = Double(sample.resident)
        case .window(let window):
            series = window.series
            value = window.last
        case .error(let failure):
            text = failure.message
            code = failure.code.rawValue.cut(to: Board.longestText)
        case .progress(let progress):
            value = Double(progress.done)
        case .recovered(let recovery):
            value = recovery.down.seconds
        case .restart(let restart):
            value = restart.lastSequence.map(Double.init)
            text = restart.lastRun
            code = restart.ended?.cut(to: Board.longestText)
        case .lost(let lost):
            value = Double(lost.numbers.upperBound) - Double(lost.numbers.lowerBound) + 1
        case .alert(let alert):
            value = alert.value
            text = alert.condition
            code = alert.state.rawValue
        case .clock(let change): value = change.step.seconds
        case .peer(let peer):
            text = peer.state
        case .hello, .stats, .agent, .gap, .bye, .refusal, .kept, .unknown:
            break
        }
        if let series { kind = SeriesKind(of: series) }
        series = series?.cut(to: Board.longestText)
        text = text?.cut(to: Board.longestText)
    }
}
