internal import Feed
internal import Reactor
internal import Terminal

/// The result of a run, in the style of ping(8).
struct Summary {
    let elapsed: Duration
    let events: Int
    let endpoints: [EndpointStatistics]

    var text: String {
        var lines = [
            "",
            "--- catwatch: \(events) \(Self.plural(events, "event")) in \(NumberText.fixed(elapsed.seconds, 1)) s ---",
        ]
        for endpoint in endpoints {
            let histogram = endpoint.histogram
            lines.append(
                "\(Sanitizer.visible(endpoint.endpoint)): \(histogram.count) \(Self.plural(histogram.count, "answer")), "
                    + "\(histogram.errors) \(Self.plural(histogram.errors, "error"))")
            guard histogram.count > 0 else { continue }
            lines.append("  min/avg/p50/p95/p99/max = \(histogram.figures.joined(separator: "/")) ms")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func plural(_ count: Int, _ word: String) -> String { count == 1 ? word : word + "s" }
}

extension LatencyHistogram {
    /// The shortest, mean, 50th, 95th and 99th percentile and longest of the answers in milliseconds; a dash where there
    /// are too few.
    var figures: [String] {
        let figures: [Double?] =
            count == 0
            ? Array(repeating: nil, count: 6)
            : [minimum, mean, percentile(50), tellingPercentile(95), tellingPercentile(99), maximum]
        return figures.map { $0.map { NumberText.fixed($0, 3) } ?? "–" }
    }
}
