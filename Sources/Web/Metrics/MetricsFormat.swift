/// The formats of metrics.
enum MetricsFormat: CaseIterable {
    /// Prometheus' text format 0.0.4.
    case text
    /// OpenMetrics 1.0.
    case openMetrics

    var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format that `Accept` asks for (RFC 9110, section 12.5.1). OpenMetrics only if it is named and has at least
    /// the quality of text; otherwise text, even if neither is accepted: every scraper can read one of them.
    init(accept: String?) {
        var wishes: [MetricsFormat: (precision: Int, quality: Double)] = [:]
        for range in (accept ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map(Self.trimmed)
            guard let type = parts.first else { continue }
            let parameters = parts.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map(Self.trimmed) }
            func value(of name: String) -> String? {
                parameters.last { $0.first == name && $0.count == 2 }?[1]
            }
            let quality = value(of: "q").map { Double($0) ?? 0 } ?? 1
            let version = value(of: "version")?.filter { $0 != "\"" }
            func wish(_ format: MetricsFormat, _ precision: Int) {
                if let known = wishes[format],
                    known.precision > precision
                        || known.precision == precision && known.quality >= quality
                {
                    return
                }
                wishes[format] = (precision, quality)
            }
            switch type {
            case "application/openmetrics-text" where version ?? "1.0.0" == "1.0.0": wish(.openMetrics, 3)
            case "text/plain" where version ?? "0.0.4" == "0.0.4": wish(.text, 3)
            case "text/*": wish(.text, 2)
            case "*/*": wish(.text, 1)
            default: break
            }
        }
        let metrics = wishes[.openMetrics]?.quality ?? 0
        self = metrics > 0 && metrics >= wishes[.text]?.quality ?? 0 ? .openMetrics : .text
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            .lowercased()
    }
}
