package import Feed
package import Reactor

/// A measurement that a condition was judged by, in words for people.
package struct Finding: Sendable {
    /// The series, source or agent.
    package let name: String
    /// The measurement: `/state is "Running"`; safe to print.
    package let text: String
    /// When it was measured; nil before the first line.
    package let time: LoopInstant?
    /// The number of the newest line that says so; 0 if it has none, or there was none.
    package let sequence: Int
    private let isOfSeries: Bool

    /// Whether a line is the one that says so, or else one of that series, source or agent.
    package func isAbout(_ line: Line) -> Bool {
        if sequence > 0, line.seq == sequence { return true }
        if isOfSeries, case .data(let data) = line.body { return data.series == name }
        return !isOfSeries && (line.source == name || line.agent == name)
    }

    /// - Parameter doubt: why what holds for this series has no result for its set.
    init(
        _ instance: ConditionInstance, _ readings: [(test: ConditionTest, reading: Reading, verdict: Verdict)],
        but doubt: Doubt?,
        at now: LoopInstant
    ) {
        name = instance.name
        isOfSeries = instance.series != nil
        text =
            readings.map { $0.test.shown($0.reading, $0.verdict, at: now) }.joined(separator: " and ")
            + (doubt.map { ", but of all \($0.rawValue)" } ?? "")
        // Silence says its age itself.
        time = readings.filter { if case .isSilent = $0.test.kind { false } else { true } }
            .compactMap(\.reading.time).max()
        sequence = readings.map(\.reading.line).max() ?? 0
    }
}

extension ConditionTest {
    /// A reading in words.
    fileprivate func shown(_ reading: Reading, _ verdict: Verdict, at now: LoopInstant) -> String {
        switch kind {
        case .fails:
            guard case .text(let code) = reading.value else { return "does not fail" }
            return "fails (\(code))"
        case .isSilent:
            guard let heard = reading.time else { return "is silent" }
            return "is silent for \(heard.duration(to: now).shortText)"
        default: break
        }
        let measure = Sanitizer.visible(measure?.text ?? "", limit: 100)
        if let value = reading.value.shown(in: self.measure) {
            guard case .unknown(let doubt) = verdict else { return "\(measure) is \(value)" }
            return "\(measure) was \(value), but \(doubt.rawValue)"
        }
        if case .exists(_, let isNegated) = kind, verdict == Verdict(isNegated) { return "\(measure) is missing" }
        if case .unknown(let doubt) = verdict { return "\(measure): \(doubt.rawValue)" }
        return "\(measure) is there"
    }
}
