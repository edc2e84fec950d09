internal import Feed

/// The result of a run, in the style of ping(8).
struct Summary {
    let elapsed: Duration
    let events: Int
    let endpoints: [EndpointStatistics]

    var text: String {
        var lines = ["", "--- catwatch: \(events) \(Self.plural(events, "event")) in \(Self.seconds(elapsed)) s ---"]
        for endpoint in endpoints {
            let histogram = endpoint.histogram
            lines.append(
                "\(Sanitizer.visible(endpoint.endpoint)): \(histogram.count) \(Self.plural(histogram.count, "answer")), "
                    + "\(histogram.errors) \(Self.plural(histogram.errors, "error"))")
            guard histogram.count > 0 else { continue }
            let figures = [
                histogram.minimum, histogram.mean, histogram.percentile(50), histogram.tellingPercentile(95),
                histogram.tellingPercentile(99), histogram.maximum,
            ]
            let texts = figures.map { $0.map(Self.milliseconds) ?? "–" }
            lines.append("  min/avg/p50/p95/p99/max = " + texts.joined(separator: "/") + " ms")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func plural(_ count: Int, _ word: String) -> String { count == 1 ? word : word + "s" }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = Int((duration / .milliseconds(100)).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Formats with three digits after the point.
    private static func milliseconds(_ value: Double) -> String {
        let thousandths = Int((value * 1_000).rounded())
        let fraction = String(thousandths % 1_000)
        return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}
