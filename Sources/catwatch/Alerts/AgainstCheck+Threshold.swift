internal import Conditions
internal import Feed
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

extension AgainstCheck {
    private static let week = Duration.seconds(7 * 86_400)
    /// The most series that are named where one is not found.
    private static let mostNames = 5

    /// Prints how the values of a series are distributed, and limits that they would seldom have crossed.
    func suggest() async throws -> Int32 {
        guard let series = options[\.suggest] else { return 2 }
        let kind = SeriesKind.prefixed.first { series.utf8.starts(with: $0.prefix.utf8) }
        let isLatency = kind?.prefix == SeriesKind.latency.prefix
        let source = isLatency ? String(series.dropFirst(SeriesKind.latency.prefix.count)) : nil
        var (values, times, others) = (ThresholdSuggestion(), ClosedRange<Timestamp>?.none, [String]())
        let isRead = try await read(from: since) { line in
            times = min(times?.lowerBound ?? line.time, line.time)...max(times?.upperBound ?? line.time, line.time)
            if let value = Self.value(in: line, of: series, latencyOf: source) {
                values.add(value)
            } else if values.count == 0, others.count < Self.mostNames, let other = Self.series(of: line) {
                if !others.contains(other) { others.append(other) }
            }
        }
        guard isRead else { return 2 }
        guard values.count > 0, let range = values.range, let times else {
            let known = others.map { Sanitizer.visible($0, limit: 100) }.joined(separator: ", ")
            complain(
                "catwatch: \(name): no line has a value of '\(Sanitizer.visible(series, limit: 200))'"
                    + (known.isEmpty ? "\n" : "; there is \(known)\n"))
            return 1
        }
        let span = times.upperBound - times.lowerBound
        let most = max(1, Int((Double(options[\.perWeek]) * span.seconds / Self.week.seconds).rounded()))
        var text =
            "\(Sanitizer.visible(series, limit: 200)): \(values.count) value\(values.count == 1 ? "" : "s") in "
            + "\(EpisodePrinter.spoken(span)), \(NumberText.short(range.lowerBound)) to \(NumberText.short(range.upperBound))\n"
        text += Self.histogram(values.histogram(parts: 12), isASCII: platform.capabilities.isASCII)
        let subject = source ?? series
        func line(_ sign: String, _ limit: ThresholdSuggestion.Limit?, _ beyond: Double) -> String {
            let measure = source == nil ? "" : "ms "
            let isUpper = sign == ">="
            guard let limit else {
                let test = "\(measure)\(isUpper ? ">" : "<") \(LineWriter.text(of: beyond))"
                return
                    "\(Condition.line(about: subject, test)): would not have fired; a \(isUpper ? "lower" : "higher") limit "
                    + "fires more than \(Self.times(most)), or for more than half of the values\n"
            }
            let test = "\(measure)\(sign) \(LineWriter.text(of: limit.value))"
            return "\(Condition.line(about: subject, test)): would have fired \(Self.times(limit.crossings))\n"
        }
        text += Sanitizer.lines(line(">=", values.upper(atMost: most), range.upperBound))
        if source == nil { text += Sanitizer.lines(line("<", values.lower(atMost: most), range.lowerBound)) }
        try write(text)
        if span < Self.week {
            notice("it spans less than a week: what happens once a week may not be in it")
        }
        return 0
    }

    /// The value of an event of the series, or how long an answer of the source took.
    private static func value(in line: RecordedLine, of series: String, latencyOf source: String?) -> Double? {
        let bytes: Line
        switch line {
        case .plain(let plain, let line):
            guard plain.kind == (source == nil ? .data : .latency) else { return nil }
            let head = LineHead(UnsafeRawBufferPointer(line))
            // Most lines are of other series.
            if source == nil, let event = head?.event {
                return event.series.elementsEqual(series.utf8) ? event.value : nil
            }
            guard let decoded = try? LineDecoder.decode(Bytes(line)) else { return nil }
            bytes = decoded
        case .other(let relayed): bytes = relayed.line
        }
        switch bytes.body {
        case .data(let data) where source == nil: return data.series.utf8.elementsEqual(series.utf8) ? data.value : nil
        case .latency(let sample) where bytes.source == source && source != nil: return sample.ms
        default: return nil
        }
    }

    /// The series of an event with a value.
    private static func series(of line: RecordedLine) -> String? {
        let decoded: Line? =
            switch line {
            case .plain(let plain, let line): plain.kind == .data ? try? LineDecoder.decode(Bytes(line)) : nil
            case .other(let relayed): relayed.line
            }
        guard case .data(let data)? = decoded?.body, data.value != nil else { return nil }
        return data.series
    }

    /// A bar for each part, the longest 40 columns wide.
    private static func histogram(_ parts: [(from: Double, count: Int)], isASCII: Bool) -> String {
        let most = parts.map(\.count).max() ?? 0
        guard most > 0 else { return "" }
        let (heads, counts) = (parts.map { NumberText.short($0.from) }, parts.map { "\($0.count)" })
        func padded(_ text: String, _ texts: [String]) -> String {
            String(repeating: " ", count: (texts.map(\.unicodeScalars.count).max() ?? 0) - text.unicodeScalars.count)
                + text
        }
        return zip(parts, zip(heads, counts)).map { part, texts in
            let width = part.count == 0 ? 0 : max(1, Int((40 * Double(part.count) / Double(most)).rounded()))
            let bar = String(repeating: isASCII ? "#" : "█", count: width)
            return "  \(padded(texts.0, heads))  \(padded(texts.1, counts))  \(bar)".trimmingEnd + "\n"
        }.joined()
    }
}

extension String {
    /// Without blanks at its end.
    fileprivate var trimmingEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)])
    }
}
