internal import Feed
internal import Reactor

extension Painter {
    /// Text at a position on a line.
    private struct Span {
        let column: Int
        let pieces: [Piece]
        /// Whether the text ends before the column instead of starting there.
        var isRight = false

        init(_ column: Int, _ pieces: [Piece]) { (self.column, self.pieces) = (column, pieces) }

        init(_ column: Int, _ text: String, _ style: Style, isRight: Bool = false) {
            (self.column, pieces, self.isRight) = (column, [(text, style)], isRight)
        }
    }

    mutating func paintMetrics(_ body: Range<Int>) {
        let rest = endpointLines() + outageLines() + [[]] + machineLines() + [[]] + agentLines()
        // There may be thousands of agents: only the visible ones get a line.
        let fleetEnd =
            fleet.map { fleet in
                (board.agents.isEmpty ? 0 : max(fleet.rows.count, 1)) + (board.refusedAgents > 0 ? 2 : 1)
            } ?? 0
        let count = fleetEnd + (fleet == nil ? 0 : 1) + rest.count
        state.metricsTop = min(state.metricsTop, max(count - body.count, 0))
        for offset in 0..<min(body.count, count - state.metricsTop) {
            let index = state.metricsTop + offset
            let line: [Span]
            if let fleet, index < fleetEnd {
                // The titles stay visible while agents are scrolled.
                line = offset == 0 || index == 0 ? fleetTitle(fleet) : fleetLine(fleet, index - 1)
            } else {
                line = fleet == nil ? rest[index] : index == fleetEnd ? [] : rest[index - fleetEnd - 1]
            }
            for span in line {
                let row = body.lowerBound + offset
                let column = span.isRight ? max(span.column - Self.columns(span.pieces), 0) : span.column
                put(span.pieces, row: row, column: column, width: grid.columns - column - 1)
            }
        }
        if state.metricsTop < count - body.count, body.count > 4 {
            put(
                " more ↓ ", row: body.upperBound - 1, endingAt: grid.columns - 1, style: theme.muted.with(.inverse),
                width: 8)
        }
    }

    private func heading(_ text: String) -> [Span] { [Span(1, text, theme.title)] }

    // MARK: Agents of a fleet

    /// The positions of columns: name and state from the left, then numbers by their ends, then the machine; columns
    /// without room are dropped from the right.
    private struct FleetColumns {
        let name: Int
        let state: Int
        /// The ends of age, alerts if there are any, rate, skew and lost, as far as there is room.
        let numbers: [Int]
        /// The starts of host, system and version, as far as there is room, and the end of the last one.
        let texts: [Int]
        let end: Int

        init(width: Int, hasAlerts: Bool) {
            name = width >= 100 ? 24 : width >= 60 ? 16 : max(width / 3, 6)
            state = 2 + name + 1
            end = width - 1
            let numbersStart = state + 10
            let ends = hasAlerts ? [7, 15, 24, 35, 43] : [7, 15, 26, 34]
            numbers = ends.map { numbersStart + $0 }.filter { $0 <= width - 1 }
            let textsStart = numbersStart + (hasAlerts ? 45 : 36)
            texts = [0, 15, 37].map { textsStart + $0 }.filter { $0 + 8 <= width - 1 }
        }

        /// The width of a text column.
        func room(_ index: Int) -> Int { (index + 1 < texts.count ? texts[index + 1] - 1 : end) - texts[index] }
    }

    private func fleetTitle(_ fleet: AgentTable) -> [Span] {
        let columns = FleetColumns(width: grid.columns, hasAlerts: !fleet.alerts.isEmpty)
        let count = board.agents.count
        let shown = fleet.rows.count == count ? "\(count)" : "\(fleet.rows.count) of \(count)"
        var line = heading("Agents")
        line.append(Span(8, cut(shown, to: max(columns.state - 9, 1)), theme.faint))
        if columns.state + 6 < grid.columns { line.append(Span(columns.state, "state", theme.faint)) }
        let names = ["age"] + (fleet.alerts.isEmpty ? [] : ["alerts"]) + ["lines/s", "skew", "lost"]
        for (end, name) in zip(columns.numbers, names) {
            line.append(Span(end, name, theme.faint, isRight: true))
        }
        for (start, name) in zip(columns.texts, ["host", "system", "version"]) {
            line.append(Span(start, name, theme.faint))
        }
        return line
    }

    private func fleetLine(_ fleet: AgentTable, _ index: Int) -> [Span] {
        guard fleet.rows.indices.contains(index) else {
            let text = index > 0 || board.agents.isEmpty ? AgentTable.refused(board.refusedAgents) : nil
            return [Span(2, text ?? "none is called so, nor on a machine called so", theme.muted)]
        }
        let agent = board.agents[fleet.rows[index]]
        let columns = FleetColumns(width: grid.columns, hasAlerts: !fleet.alerts.isEmpty)
        let texts = AgentTable.texts(agent, at: agentNow)
        let look = AgentTable.look(agent)
        let style = look == .dim ? theme.faint : theme.text
        let stateStyle =
            switch look {
            case .good: theme.good
            case .bad: theme.bad
            case .dim: theme.faint
            case .plain: theme.muted
            }
        var line = [Span(2, cut(agent.name, to: columns.name), look == .bad ? theme.bad : style)]
        line.append(Span(columns.state, cut(texts.state, to: 10), stateStyle))
        let isSkewed = AgentTable.isSkewed(agent, window: board.interval)
        var numbers = [
            (texts.age, style), (texts.rate, style), (texts.skew, isSkewed ? theme.warning : style),
            (texts.lost, agent.lost > 0 ? theme.bad : style),
        ]
        if !fleet.alerts.isEmpty {
            let alerts = fleet.alerts[agent.name] ?? 0
            numbers.insert((alerts > 0 ? "✕ \(alerts)" : "0", alerts > 0 ? theme.bad : style), at: 1)
        }
        for (end, (text, style)) in zip(columns.numbers, numbers) {
            line.append(Span(end, cut(text, to: 10), style, isRight: true))
        }
        // A failure's message replaces the machine's columns.
        let source = look == .bad ? board.describedSource(agent.name + "." + EventStore.ownName) : nil
        if let message = source?.failure?.message, let start = columns.texts.first {
            line.append(Span(start, cut(message, to: columns.end - start), theme.bad))
            return line
        }
        for (index, text) in zip(columns.texts.indices, [texts.host, texts.system, texts.version]) {
            line.append(Span(columns.texts[index], cut(text, to: columns.room(index)), style))
        }
        return line
    }

    // MARK: Endpoints

    private func endpointLines() -> [[Span]] {
        let width = grid.columns
        let names = ["n", "err", "last", "mean", "p50", "p95", "p99", "max"]
        let isWide = width >= 100
        let columnWidth = width >= 120 ? 8 : 7
        let shown = isWide ? names : names.filter { $0 != "mean" }
        let sparkWidth = width >= 120 ? min(windowCount, 24) : 0
        let numbersEnd = width - 2 - (sparkWidth > 0 ? sparkWidth + 2 : 0)
        let nameEnd = numbersEnd - shown.count * columnWidth
        var lines: [[Span]] = []
        let fits = nameEnd >= 20
        var title = heading("Endpoints")
        if fits {
            title.append(Span(12, "ms", theme.faint))
            for (index, name) in shown.enumerated() {
                title.append(Span(nameEnd + (index + 1) * columnWidth, name, theme.faint, isRight: true))
            }
            if sparkWidth > 0 { title.append(Span(numbersEnd + 2, "latency", theme.faint)) }
        }
        lines.append(title)
        if board.endpoints.isEmpty, board.moreEndpoints == 0 {
            lines.append([Span(2, "none was called yet", theme.muted)])
        }
        for endpoint in board.endpoints {
            let numbers = numbers(endpoint).filter { shown.contains($0.name) }
            var line: [Span] = []
            if fits {
                line.append(nameSpan(endpoint, to: nameEnd - 3))
                for (index, number) in numbers.enumerated() {
                    line.append(Span(nameEnd + (index + 1) * columnWidth, number.text, number.style, isRight: true))
                }
                if sparkWidth > 0 {
                    line.append(Span(numbersEnd + 2, spark(.latency, endpoint.source, sparkWidth), theme.accent))
                }
                lines.append(line)
            } else {
                lines.append([nameSpan(endpoint, to: width - 3)])
                var column = 4
                for number in numbers {
                    let text = number.name + " " + number.text
                    if column > 4, column + text.columns >= width {
                        lines.append(line)
                        line = []
                        column = 4
                    }
                    line.append(Span(column, [(number.name + " ", theme.muted), (number.text, number.style)]))
                    column += text.columns + 2
                }
                lines.append(line)
            }
            if let newest = endpoint.newest, width >= 40 { lines.append(phaseLine(newest)) }
        }
        if board.moreEndpoints > 0 {
            let count = "\(board.moreEndpoints) more \(board.moreEndpoints == 1 ? "endpoint" : "endpoints")"
            lines.append([Span(2, count + ", for which the agent's summary had no room", theme.muted)])
        }
        return lines
    }

    /// Prefixes an endpoint with its agent, because agents of a fleet may poll the same one.
    private func nameSpan(_ endpoint: BoardEndpoint, to columns: Int) -> Span {
        let head = board.agent(ofSource: endpoint.source).map { cut($0, to: columns / 3) + " " } ?? ""
        return Span(
            2, [(head, theme.muted), (shortName(endpoint.name, to: columns - head.columns), theme.text)])
    }

    /// Lists the sources that have recovered from an outage, the newest first.
    private func outageLines() -> [[Span]] {
        let ends = board.sources.compactMap { source in source.outage.map { (source.name, $0) } }
            .sorted { $0.1.end > $1.1.end }
        guard !ends.isEmpty else { return [] }
        return [[], heading("Outages that are over")]
            + ends.prefix(50).map { name, outage in
                let tries =
                    "\(outage.recovery.attempts) failed \(outage.recovery.attempts == 1 ? "attempt" : "attempts")"
                let text = "back at \(NumberText.clock(outage.end, offset: utcOffset)) after "
                return [
                    Span(2, cut(name, to: 11), theme.muted),
                    Span(14, text + NumberText.length(outage.recovery.down) + ", " + tries, theme.text),
                ]
            }
    }

    /// Shortens an endpoint to `columns`: first drops the scheme, then the middle, because endpoints differ at the end.
    private func shortName(_ name: String, to columns: Int) -> String {
        guard name.columns > columns else { return name }
        var short = name
        for scheme in ["GET https://", "GET http://"] where name.hasPrefix(scheme) {
            short = String(name.dropFirst(scheme.count))
        }
        guard short.columns > columns, columns >= 12 else { return cut(short, to: columns) }
        var tail = ""
        for character in short.reversed() {
            guard (tail + String(character)).columns <= columns / 2 else { break }
            tail = String(character) + tail
        }
        return cut(short, to: columns - tail.columns) + tail
    }

    /// Cuts text to `columns`.
    private func cut(_ text: String, to columns: Int) -> String {
        guard text.columns > columns else { return text }
        var result = ""
        var used = 0
        for character in text {
            let width = Cluster(character).columns
            if used + width > columns - 1 { break }
            result.append(character)
            used += width
        }
        return result + "…"
    }

    private func numbers(_ endpoint: BoardEndpoint) -> [(name: String, text: String, style: Style)] {
        let histogram = endpoint.histogram
        func time(_ value: Double?) -> String {
            guard histogram.count > 0, let value else { return "–" }
            return NumberText.milliseconds(value)
        }
        return [
            ("n", "\(histogram.count)", theme.text),
            ("err", "\(histogram.errors)", histogram.errors > 0 ? theme.bad : theme.muted),
            ("last", time(histogram.last), theme.title), ("mean", time(histogram.mean), theme.text),
            ("p50", time(histogram.percentile(50)), theme.text),
            ("p95", time(histogram.tellingPercentile(95)), theme.text),
            ("p99", time(histogram.tellingPercentile(99)), theme.text), ("max", time(histogram.maximum), theme.text),
        ]
    }

    private func phaseLine(_ sample: LatencySample) -> [Span] {
        let phases: [(String, Double, Unicode.Scalar, CellColor)] = [
            ("dns", sample.dns, "░", CellColor(0x9D8CD6)), ("connect", sample.connect, "▒", CellColor(0x5FA8D3)),
            ("tls", sample.tls, "▓", CellColor(0x4FB3A5)), ("wait", sample.wait, "█", CellColor(0xD9A05B)),
            ("receive", sample.receive, "▄", CellColor(0x8FBF6A)),
        ]
        let total = phases.reduce(0) { $0 + max($1.1, 0) }
        var line: [Span] = []
        var column = 4
        let barWidth = grid.columns >= 76 ? 20 : 0
        if barWidth > 0 {
            var bar: [Piece] = []
            var sum = 0.0
            var used = 0
            for phase in phases where total > 0 {
                sum += max(phase.1, 0)
                let end = Int((sum / total * Double(barWidth)).rounded())
                bar.append((String(repeating: Character(phase.2), count: end - used), Style(phase.3)))
                used = end
            }
            line.append(Span(column, bar))
            column += barWidth + 2
        }
        for phase in phases where phase.1 > 0 {
            let number = NumberText.milliseconds(phase.1)
            let width = phase.0.columns + number.columns + 1
            guard column + width < grid.columns else { break }
            line.append(Span(column, [(phase.0 + " ", Style(phase.3)), (number, theme.muted)]))
            column += width + 2
        }
        let rest = "\(sample.status)" + (sample.reused ? ", reused" : ", new connection")
        if column + rest.columns < grid.columns {
            line.append(Span(column, rest, sample.status >= 400 ? theme.bad : theme.faint))
        }
        return line
    }

    /// A series' windows as a row of blocks.
    private func spark(_ kind: SeriesKind, _ source: String, _ count: Int) -> String {
        guard let index = board.series(kind, of: source) else { return "" }
        var text = ""
        let extent = extent(of: board.series[index])
        for slot in Sparkline(windows(index), width: extent.width, last: extent.last, count: count).slots {
            switch slot {
            case .before: text += " "
            case .missing: text += "·"
            case .level(let level, _): text.unicodeScalars.append(Sparkline.blocks[level])
            }
        }
        return text
    }

    // MARK: The machine and the agent

    /// Label and value in rows, in two columns where there is room.
    private func table(_ rows: [(String, String, Style)]) -> [[Span]] {
        let isWide = grid.columns >= 80
        let height = isWide ? (rows.count + 1) / 2 : rows.count
        var lines: [[Span]] = Array(repeating: [], count: height)
        for (index, row) in rows.enumerated() {
            let column = 2 + index / height * (grid.columns / 2)
            let width = isWide && index < height ? grid.columns / 2 - 14 : grid.columns - column - 13
            lines[index % height].append(Span(column, row.0, theme.muted))
            lines[index % height].append(Span(column + 12, cut(row.1, to: max(width, 4)), row.2))
        }
        return lines
    }

    private func machineLines() -> [[Span]] {
        let host = board.hello?.host
        let app = board.hello?.app
        func row(_ label: String, _ values: [String?], separator: String = "") -> (String, String, Style) {
            let text = values.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: separator)
            return text.isEmpty ? (label, "–", theme.faint) : (label, text, theme.text)
        }
        return [heading("Machine")]
            + table([
                row("host", [host?.name]), row("device", [host?.device]), row("system", [host?.os]),
                row("kernel", [host?.kernel, host?.arch], separator: ", "),
                row("program", [app?.name, app?.version], separator: " "),
                row("up", [app?.started.map { NumberText.uptime(max(.zero, agentNow - $0)) }]),
            ])
    }

    private func agentLines() -> [[Span]] {
        var lines = [heading("Memory")]
        // One line for each process that reports its memory, from its newest sample.
        var seen: [String] = []
        for memory in board.memory.reversed() where !seen.contains(memory.source) && seen.count < 8 {
            seen.append(memory.source)
            func text(_ bytes: Int) -> String { Quantity(Double(bytes), .memory, unit: nil).whole }
            var line = [Span(2, cut(memory.source, to: 11), theme.muted)]
            line.append(Span(14, text(memory.sample.resident), theme.title))
            if grid.columns >= 50 {
                line.append(Span(26, "peak " + text(memory.sample.peak), theme.text))
                line.append(Span(42, cut("private " + text(memory.sample.privateBytes), to: 20), theme.muted))
            }
            if grid.columns >= 76 {
                line.append(Span(62, spark(.memory, memory.source, min(windowCount, grid.columns - 64)), theme.accent))
            }
            lines.append(line)
        }
        if seen.isEmpty { lines.append([Span(2, "not told yet", theme.muted)]) }
        lines += [[], heading("Agent")]
        guard let agent = board.agent else { return lines + [[Span(2, "not told yet", theme.muted)]] }
        func count(_ label: String, _ number: Int) -> (String, String, Style) {
            (label, "\(number)", number > 0 ? theme.warning : theme.text)
        }
        lines += table([
            ("events", "\(agent.events)", theme.text), ("series", "\(agent.series)", theme.text),
            ("readers", "\(agent.readers)", theme.text), count("gaps", agent.gaps), count("late", agent.late),
            count("refused", agent.refusedSeries.addingSaturated(agent.refusedEndpoints)),
            ("loop lag", NumberText.milliseconds(agent.loopLag) + " ms", theme.text),
            ("cpu", NumberText.processorTime(agent.cpu), theme.text),
        ])
        for output in agent.outputs.prefix(50) {
            let behind = output.behind > 0 ? ", \(output.behind) behind" : ""
            let style = output.state == "ok" ? theme.text : theme.warning
            lines.append([
                Span(2, "output", theme.muted), Span(14, "\(output.output)  \(output.state)\(behind)", style),
            ])
        }
        return lines
    }
}

extension NumberText {
    /// Processor time in milliseconds: `41 ms`, `3.2 s`, `2 m 03 s`.
    static func processorTime(_ milliseconds: Double) -> String {
        if milliseconds < 1_000 { return fixed(milliseconds, 0) + " ms" }
        if milliseconds < 60_000 { return fixed(milliseconds / 1_000, 1) + " s" }
        return uptime(.milliseconds(Int64(min(milliseconds, 1e15))))
    }
}
