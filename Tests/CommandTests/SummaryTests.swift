import TestSupport
import Testing

@testable import Feed
@testable import catwatch

@Suite(.limited) struct SummaryTests {
    private static func text(_ count: Int, _ endpoint: String = "GET http://h/x") -> String {
        var histogram = LatencyHistogram()
        for ms in 0..<count { histogram.record(Double(100 + ms)) }
        let statistics = EndpointStatistics(endpoint: endpoint, source: "x", histogram: histogram)
        return Summary(elapsed: .seconds(3), events: count, endpoints: [statistics]).text
    }

    /// One of few answers is little more than the slowest.
    @Test(arguments: [
        (1, "100.000/100.000/100.000/–/–/100.000"), (19, "100.000/109.000/108.500/–/–/118.000"),
        (20, "100.000/109.500/108.500/117.500/–/119.000"), (99, "100.000/149.000/149.000/193.000/–/198.000"),
        (100, "100.000/149.500/149.000/193.000/197.000/199.000"),
    ])
    func percentilesNeedAnswers(_ count: Int, _ figures: String) {
        let text = Self.text(count)
        #expect(text.hasSuffix("  min/avg/p50/p95/p99/max = \(figures) ms\n"), "\(text)")
    }
}
