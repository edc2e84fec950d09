package import Feed
internal import Reactor

extension ConditionEvaluator {
    /// Observes a decoded line: the same as a store shows of the event that it is of.
    package mutating func apply(_ line: Line, at moment: Moment) {
        let number = line.seq ?? 0
        if line.isForwarded, let agent = line.agent { hear(agent: agent, at: moment) }
        switch line.body {
        case .hello(let hello): window = hello.interval
        case .stats(let stats): for status in stats.sources { describe(status, at: moment) }
        case .peer(let peer):
            if let agent = line.agent { observe(.peer(peer), of: agent, line: number, at: moment) }
        default: if let source = line.source { apply(line, of: source, number, at: moment) }
        }
    }

    private mutating func apply(_ line: Line, of source: String, _ number: Int, at moment: Moment) {
        switch line.body {
        case .data(let data):
            observe(.data, of: source, line: number, at: moment)
            let wanted = series(named: data.series, of: source, at: moment)
            if wanted.index >= 0 { observe(data, of: wanted.index, line: number, at: moment) }
        case .window(let window):
            let wanted = series(named: window.series, of: source, at: moment)
            if wanted.index >= 0 { observe(window, of: wanted.index, line: number, at: moment) }
        case .latency(let sample): observe(.answer(sample), of: source, line: number, at: moment)
        case .error(let failure): observe(.failure(failure), of: source, line: number, at: moment)
        case .recovered: observe(.recovered, of: source, line: number, at: moment)
        case .progress(let progress):
            observe(.progress(progress), of: source, line: number, at: moment)
            for key in progress.gone {
                remove(series: series(named: "\(source)/\(key)", of: source, at: moment).index, at: moment)
            }
        case .memory, .agent: observe(.heard, of: source, line: number, at: moment)
        default: break
        }
    }
}
