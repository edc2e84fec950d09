internal import Feed
internal import Reactor

extension Painter {
    /// A value at a time, or the last of several values and their range.
    private struct Sample {
        var time: Int64
        var value: Double
        var minimum: Double
        var maximum: Double

        init(time: Int64, value: Double) { (self.time, self.value, minimum, maximum) = (time, value, value, value) }

        /// A whole window, placed at its middle.
        init(_ window: BoardWindow) {
            time = window.start.microseconds.addingSaturated(window.width / 2)
            (value, minimum, maximum) = (window.last, window.minimum, window.maximum)
        }
    }

    /// The content of a graph: times in microseconds, ascending.
    private struct GraphModel {
        var samples: [Sample]
        var windows: [BoardWindow]
        /// The width of the windows, in microseconds.
        var width: Int64
        var errors: [Int64]
        var times: Range<Int64>
        /// Whether `times` reach beyond now.
        var isGrowing = false
    }

    /// The position of a graph on the screen, and its axes.
    private struct GraphFrame {
        var axis: ValueAxis
        var left: Int
        var columns: Int
        var rows: Range<Int>
        /// In microseconds.
        var start: Int64
        var end: Int64
        /// The dot where the cursor starts: the last one that can have a value.
        var last = 0

        /// In microseconds, at least 1.
        var span: Int64 { max(end.subtractingSaturated(start), 1) }

        /// The dot of a time.
        func x(_ time: Int64) -> Int {
            // Subtracts integers first: in the year 9999, Doubles are 32 µs apart.
            let share = Double(time.subtractingSaturated(start)) / Double(span)
            return Int((min(max(share, -1), 2) * Double(columns * 2 - 1)).rounded())
        }

        /// The dot of a value, from the top.
        func y(_ value: Double) -> Int {
            let dots = rows.count * 4 - 1
            return dots - Int((axis.position(of: value) * Double(dots)).rounded())
        }

        func row(_ value: Double) -> Int { rows.lowerBound + y(value) / 4 }
    }

    /// The graph of the board's values.
    private func liveModel(_ index: Int, _ windows: [BoardWindow]) -> GraphModel {
        let series = board.series[index]
        let extent = extent(of: series)
        var samples = board.points(of: index).lazy.filter { $0.microseconds >= extent.start.microseconds }
            .map { Sample(time: $0.microseconds, value: $0.value) }.sorted { $0.time < $1.time }
        // Before the first point there are only the agent's windows: one value somewhere in each.
        let first = samples.first?.time ?? .max
        let older = windows.filter { $0.start.microseconds.addingSaturated($0.width) <= first }
        samples.insert(
            contentsOf: older.map {
                Sample(time: $0.start.microseconds.addingSaturated($0.width / 2), value: $0.last)
            }, at: 0)
        let (times, isGrowing) = times(of: index, from: samples.first?.time)
        return GraphModel(
            samples: samples, windows: windows, width: extent.width, errors: errorTimes(series), times: times,
            isGrowing: isGrowing)
    }

    /// The graph over a longer time: one sample per dot, and windows wide enough to be told apart.
    private func pastModel(_ past: PastSeries) -> GraphModel {
        let width = pastWidth(past)
        let end = Window.end(of: Window.index(of: agentNow, width: past.span.width), width: past.span.width)
        let range = end - past.span.duration..<end
        let samples = past.windows(width: past.width(atMost: grid.columns * 2), over: range).map { Sample($0) }
        return GraphModel(
            samples: samples, windows: past.windows(width: width, over: range), width: width,
            errors: past.errors(over: range), times: range.lowerBound.microseconds..<range.upperBound.microseconds)
    }

    /// The width of the windows over a longer time, in microseconds: at least the chosen width, and two dots.
    func pastWidth(_ past: PastSeries) -> Int64 { past.width(atMost: grid.columns, least: width) }

    /// - Parameter alerts: those with limits, which are shown as lines.
    mutating func paintGraph(
        _ index: Int, _ windows: [BoardWindow], _ area: Range<Int>, _ alerts: [BoardAlert] = []
    ) {
        let series = board.series[index]
        let model = past.flatMap { $0.isRead ? pastModel($0) : nil } ?? liveModel(index, windows)
        let hasTime = area.count >= 6
        let hasNumbers = area.count >= 5
        var rows =
            area.lowerBound..<max(area.upperBound - (hasTime ? 2 : 0) - (hasNumbers ? 1 : 0), area.lowerBound + 1)
        let isWord = series.lastWord != nil
        if isWord { rows = rows.prefix(3) }
        let limits = isWord ? [] : alerts.flatMap { self.limits(of: $0) }
        let axis = ValueAxis(
            model.samples.flatMap { [$0.minimum, $0.maximum] } + limits.map(\.value), fixed: state.range,
            isLog: state.isLog,
            count: max(rows.count / 3, 2))
        let labels = axis.marks.map { (mark: $0, text: label($0, axis, series)) }
        let limitLabels = limits.map { (mark: $0.value, text: limitLabel($0.value, axis, series), style: $0.style) }
        let longest = (labels.map(\.text) + limitLabels.map(\.text)).map(\.columns).max() ?? 0
        let labelWidth = grid.columns >= 40 && !isWord ? min(longest, 12) : 0
        let left = labelWidth > 0 ? labelWidth + 3 : 0
        var frame = GraphFrame(
            axis: axis, left: left, columns: max(grid.columns - left - 2, 1), rows: rows, start: model.times.lowerBound,
            end: model.times.upperBound)
        frame.last =
            model.isGrowing ? min(max(frame.x(agentNow.microseconds), 0), frame.columns * 2 - 1) : frame.columns * 2 - 1

        if let time = state.scrubTime { state.scrub = min(max(frame.last - frame.x(time.microseconds), 0), 2_000) }

        if labelWidth > 0 {
            for row in rows { grid.put(glyph: "│", row: row, column: left - 1, style: theme.faint) }
            for (mark, text) in labels where 0...1 ~= axis.position(of: mark) {
                let row = frame.row(mark)
                put(text, row: row, endingAt: left - 2, style: theme.muted, width: labelWidth)
                grid.put(glyph: "┤", row: row, column: left - 1, style: theme.faint)
            }
        }
        for (mark, text, style) in limitLabels where 0...1 ~= axis.position(of: mark) {
            let row = frame.row(mark)
            if labelWidth > 0 {
                grid.fill(row: row, columns: 0..<left - 1, with: " ", style: .plain)
                put(text, row: row, endingAt: left - 2, style: style, width: labelWidth)
            }
            grid.fill(row: row, columns: left..<left + frame.columns, with: "┄", style: style)
        }
        if isWord {
            paintStrip(series, model, frame)
        } else {
            paintBands(series, frame)
            paintLine(series, model, frame, alerts)
        }
        paintErrors(model, frame)
        paintScrub(frame)
        if hasTime {
            paintTimes(frame, model.width, row: rows.upperBound)
            if !isWord { paintExcess(model, frame, alerts, row: rows.upperBound) }
        }
        if hasNumbers { paintNumbers(series, model, frame, row: rows.upperBound + (hasTime ? 2 : 0)) }
    }

    /// Paints the words of the windows, each from where it begins, on the colour of its band.
    private mutating func paintStrip(_ series: BoardSeries, _ model: GraphModel, _ frame: GraphFrame) {
        let scale = bands(series)
        let isStale = isStale(series) || series.goneAt != nil
        let middle = frame.rows.lowerBound + frame.rows.count / 2
        var labels: [(column: Int, text: String, style: Style)] = []
        var free = frame.left
        var (word, end) = ("", Int64.min)
        for window in model.windows {
            let first = max(frame.left + frame.x(window.start.microseconds) / 2, free)
            let last = frame.left + frame.x(window.start.microseconds.addingSaturated(window.width)) / 2
            // A window ahead of the clock may lie behind the graph's end.
            guard first < frame.left + frame.columns else { continue }
            let columns = first..<min(max(last, first + 1), frame.left + frame.columns)
            if first > free, end > .min {
                for column in free..<first { grid.put(glyph: "·", row: middle, column: column, style: theme.faint) }
            }
            let band = scale.map { $0.bands[$0.index(of: window.last)] }
            let isOff = band == nil && window.last == 0
            let color = isStale ? theme.stale : isOff ? theme.faint : band.map { theme.band($0) } ?? theme.accent
            for row in frame.rows { grid.fill(row: row, columns: columns, with: "█", style: color) }
            let new = series.word(for: window.last, scale) ?? ""
            // The rest of the time may be of this word too, so it may be longer than this window.
            if new != word || window.start.microseconds > end {
                let badge = isStale ? theme.stale.with(.inverse) : band.map { theme.badge($0) } ?? color.with(.inverse)
                labels.append((columns.lowerBound, new, badge))
            }
            (word, end, free) = (new, window.start.microseconds.addingSaturated(window.width), columns.upperBound)
        }
        for (place, label) in labels.enumerated() {
            let room = (place + 1 < labels.count ? labels[place + 1].column : free) - label.column
            let text = label.text.columns <= room ? label.text : String(label.text.prefix(1))
            put(text, label.style, row: middle, column: label.column, width: room)
        }
    }

    /// The times of a series' graph, in microseconds: the chosen span, or the history. A younger series without a
    /// chosen span starts the graph at its first value, and the graph grows at the end; it is never shorter than 20 s.
    private func times(of index: Int, from first: Int64?) -> (Range<Int64>, isGrowing: Bool) {
        let series = board.series[index]
        let (width, last, start) = (extent(of: series).width, extent(of: series).last, extent(of: series).start)
        let end = max(Window.end(of: last, width: width).microseconds, start.microseconds.addingSaturated(1))
        let begin = min(first ?? .max, errorTimes(series).first ?? .max)
        // If some of its values are older than the history, the graph covers all of the history.
        let isWhole =
            series.count > board.points(of: index).count || series.windows.first.map { $0.start < start } == true
        guard state.span == nil, !isWhole, begin > start.microseconds, begin < end else {
            return (start.microseconds..<end, false)
        }
        // In steps, or everything would move with every value.
        let step = min(width, 5_000_000)
        let now = Window.end(of: Window.index(of: agentNow, width: step), width: step).microseconds
        return (begin..<max(begin.addingSaturated(20_000_000), now), true)
    }

    private func label(_ mark: Double, _ axis: ValueAxis, _ series: BoardSeries) -> String {
        guard series.kind == .memory, !state.isLog else { return axis.label(mark) }
        let bytes = NumberText.bytes(mark)
        return "\(bytes.text) \(bytes.unit)"
    }

    // MARK: The line

    /// Joins successive samples, except across missing values or an error.
    private mutating func paintLine(
        _ series: BoardSeries, _ model: GraphModel, _ frame: GraphFrame, _ alerts: [BoardAlert]
    ) {
        var canvas = BrailleCanvas(columns: frame.columns, rows: frame.rows.count)
        let (samples, errors) = (model.samples, model.errors)
        let gap = longestStep(samples, least: model.width)
        var nextError = errors.startIndex
        var previous: Sample?
        for sample in samples {
            let x = frame.x(sample.time)
            while nextError < errors.endIndex, errors[nextError] < previous?.time ?? .min { nextError += 1 }
            let hasError = nextError < errors.endIndex && errors[nextError] <= sample.time
            if let previous, sample.time.subtractingSaturated(previous.time) <= gap, !hasError {
                let near = min(max(previous.value, sample.minimum), sample.maximum)
                canvas.line(from: (frame.x(previous.time), frame.y(previous.value)), to: (x, frame.y(near)))
            }
            canvas.line(from: (x, frame.y(sample.minimum)), to: (x, frame.y(sample.maximum)))
            previous = sample
        }
        let scale = bands(series)
        let isStale = isStale(series)
        // A cell has the colour of the band at its row.
        let styles = frame.rows.map { row -> Style in
            if isStale { return theme.stale }
            let share = 1 - (Double(row - frame.rows.lowerBound) + 0.5) / Double(frame.rows.count)
            let value = frame.axis.low + share * (frame.axis.high - frame.axis.low)
            guard !state.isLog else { return theme.accent }
            if let alert = alerts.first(where: { $0.isBeyond(value) }) { return style(AlertRow.Severity(alert)) }
            return scale.map { theme.band($0.bands[$0.index(of: value)]) } ?? theme.accent
        }
        for row in 0..<canvas.rows {
            for column in 0..<canvas.columns {
                guard let glyph = canvas.glyph(column, row) else { continue }
                grid.put(
                    glyph: glyph, row: frame.rows.lowerBound + row, column: frame.left + column, style: styles[row])
            }
        }
        // The last value of each window, which represents it, is bold.
        for (place, sample) in samples.enumerated() {
            let window = Window.index(of: Timestamp(microseconds: sample.time), width: model.width)
            if place + 1 < samples.count {
                let next = Window.index(of: Timestamp(microseconds: samples[place + 1].time), width: model.width)
                if next == window { continue }
            }
            let column = frame.left + frame.x(sample.time) / 2
            grid.restyle(row: frame.row(sample.value), columns: column..<column + 1) { $0.with(.bold) }
        }
    }

    /// The longest time between two samples that are joined: a window, or two and a half times the median.
    private func longestStep(_ samples: [Sample], least width: Int64) -> Int64 {
        guard samples.count > 2 else { return width }
        let steps = zip(samples.dropFirst(), samples).map { $0.time.subtractingSaturated($1.time) }.sorted()
        return max(width, min(steps[steps.count / 2] / 2, .max / 5) * 5)
    }

    private func errorTimes(_ series: BoardSeries) -> [Int64] {
        guard let source = board.source(named: series.source) else { return [] }
        let start = extent(of: series).start
        return board.errors(of: source).map(\.microseconds).filter { $0 >= start.microseconds }.sorted()
    }

    private mutating func paintErrors(_ model: GraphModel, _ frame: GraphFrame) {
        for time in model.errors {
            let column = frame.left + frame.x(time) / 2
            guard column < frame.left + frame.columns else { continue }
            grid.put(glyph: "✕", row: frame.rows.upperBound - 1, column: column, style: theme.bad)
        }
    }

    // MARK: Limits of alerts

    private func limits(of alert: BoardAlert) -> [(value: Double, style: Style)] {
        [alert.limit?.value, alert.limit?.upper].compactMap(\.self).map { ($0, style(AlertRow.Severity(alert))) }
    }

    private func limitLabel(_ value: Double, _ axis: ValueAxis, _ series: BoardSeries) -> String {
        series.kind == .memory ? label(value, axis, series) : NumberText.short(value)
    }

    /// Marks on the time axis when values were beyond the limit of an alert.
    private mutating func paintExcess(
        _ model: GraphModel, _ frame: GraphFrame, _ alerts: [BoardAlert], row: Int
    ) {
        for alert in alerts.reversed() {
            let style = style(AlertRow.Severity(alert))
            var before: Int?
            for sample in model.samples {
                guard alert.isBeyond(sample.value) || alert.isBeyond(sample.minimum) || alert.isBeyond(sample.maximum)
                else {
                    before = nil
                    continue
                }
                let column = min(max(frame.x(sample.time) / 2, 0), frame.columns - 1)
                for place in min(before ?? column, column)...column {
                    let column = frame.left + place
                    if grid[row, column].glyph == 0x2500 {
                        grid.put(glyph: "═", row: row, column: column, style: style)
                    } else {
                        grid.restyle(row: row, columns: column..<column + 1) { _ in style }
                    }
                }
                before = column
            }
        }
    }

    /// Paints a line at the limit between two bands.
    private mutating func paintBands(_ series: BoardSeries, _ frame: GraphFrame) {
        guard let scale = bands(series) else { return }
        for (band, next) in zip(scale.bands, scale.bands.dropFirst()) {
            guard let end = band.upTo, 0...1 ~= frame.axis.position(of: end) else { continue }
            let row = frame.row(end)
            grid.fill(
                row: row, columns: frame.left..<frame.left + max(frame.columns - 2, 0), with: "╌", style: theme.faint)
            grid.put(
                String(next.letter), row: row, column: frame.left + frame.columns - 1, style: theme.band(next), width: 1
            )
        }
    }

    // MARK: Times and numbers

    /// Paints a mark for every window, or every nth, and the time under some of them.
    private mutating func paintTimes(_ frame: GraphFrame, _ width: Int64, row: Int) {
        grid.fill(row: row, columns: frame.left..<frame.left + frame.columns, with: "─", style: theme.faint)
        if frame.left > 0 { grid.put(glyph: "└", row: row, column: frame.left - 1, style: theme.faint) }
        if frame.span > 2 * Self.hour { return paintHours(frame, row: row) }
        // One mark per window; when less than two windows are visible, one per fraction of the time.
        let parts: [Int64] = [1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400]
        let tick =
            frame.span / 2 >= width
            ? width : parts.last { $0 * 1_000_000 <= frame.span / 4 }.map { $0 * 1_000_000 } ?? max(frame.span / 4, 1)
        let count = min(frame.span / tick + 1, 4_001)
        let first = Window.index(of: Timestamp(microseconds: frame.start), width: tick)
        let columnsPerTick = Double(frame.columns) * Double(tick) / Double(frame.span)
        let steps: [Int64] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 3_600]
        let every = steps.first { Double($0) * columnsPerTick >= 3 } ?? 3_600
        // Labels are far enough apart not to touch, and at round seconds.
        let least = Int64(min((11 / columnsPerTick).rounded(.up), 1e9))
        let step =
            [1, 2, 3, 5, 6, 10, 15, 20, 30, 60, 120, 300, 600].first { $0 >= least && $0 % every == 0 }
            ?? max(least, 1)
        var free = 0
        for number in first...first.addingSaturated(count) {
            let time = Window.start(of: number, width: tick)
            let column = frame.left + frame.x(time.microseconds) / 2
            guard time.microseconds >= frame.start, column < frame.left + frame.columns else { continue }
            let isLabelled = number % step == 0
            if isLabelled || number % every == 0 {
                grid.put(glyph: isLabelled ? "┼" : "┴", row: row, column: column, style: theme.faint)
            }
            if isLabelled {
                let text = NumberText.clock(time, offset: utcOffset)
                let place = max(column - 4, 0)
                if place >= free, place + 8 < grid.columns {
                    put(text, theme.muted, row: row + 1, column: place)
                    free = place + 9
                }
            }
        }
    }

    private static let hour: Int64 = 3_600_000_000

    /// Paints the time of day under some marks, and the date where a day begins.
    private mutating func paintHours(_ frame: GraphFrame, row: Int) {
        let steps = [0.5, 1, 2, 3, 6, 12, 24, 48, 96].map { Int64($0 * Double(Self.hour)) }
        let step = steps.first { Double(frame.columns) * Double($0) / Double(frame.span) >= 8 } ?? frame.span
        let offset = Int64(utcOffset) * 1_000_000
        let first = Window.index(of: Timestamp(microseconds: frame.start.addingSaturated(offset)), width: step)
        for number in first...first.addingSaturated(frame.span / step + 1) {
            let local = Window.start(of: number, width: step).microseconds
            let time = Timestamp(microseconds: local.subtractingSaturated(offset))
            let column = frame.left + frame.x(time.microseconds) / 2
            guard time.microseconds >= frame.start, column < frame.left + frame.columns else { continue }
            grid.put(glyph: "┼", row: row, column: column, style: theme.faint)
            let text =
                local % (24 * Self.hour) == 0
                ? NumberText.date(time, offset: utcOffset)
                : String(NumberText.clock(time, offset: utcOffset).prefix(5))
            if column + 3 < grid.columns { put(text, theme.muted, row: row + 1, column: max(column - 2, 0)) }
        }
    }

    /// The status of reading the journal, while there is something to report.
    private var pastPieces: [Piece] {
        switch past?.progress {
        case .reading: [("reading the journal…   ", theme.accent)]
        case .failed(let reason): [("✕ journal: \(reason)   ", theme.bad)]
        case .here, nil:
            past?.hasHoles == true ? [("✕ journal: lines are missing   ", theme.warning)] : []
        }
    }

    private mutating func paintNumbers(
        _ series: BoardSeries, _ model: GraphModel, _ frame: GraphFrame, row: Int
    ) {
        let windows = model.windows
        let isWord = series.lastWord != nil
        func text(_ value: Double) -> String {
            series.word(for: value, bands(series)) ?? Quantity(value, series.kind, unit: unit(series)).text
        }
        var pieces = pastPieces
        func add(_ label: String, _ value: String) {
            pieces += [(label + " ", theme.muted), (value, theme.text), ("   ", theme.text)]
        }
        if let scrub = state.scrub {
            let time = self.time(scrub, frame)
            var clock = NumberText.clock(Timestamp(microseconds: time), offset: utcOffset, decimals: 1)
            if frame.span > 2 * Self.hour {
                clock = NumberText.date(Timestamp(microseconds: time), offset: utcOffset) + " " + clock.prefix(5)
            }
            pieces.append((clock + "   ", theme.accent.with(.bold)))
            if let nearest = nearest(time, model, frame) { add("value", text(nearest.value)) }
            let index = Window.index(of: Timestamp(microseconds: time), width: model.width)
            if let window = windows.first(where: { Window.index(of: $0.start, width: model.width) == index }) {
                add("window: last", text(window.last))
                if !isWord {
                    add("min", text(window.minimum))
                    add("mean", text(window.mean))
                    add("max", text(window.maximum))
                }
                add("n", "\(window.count)")
            } else {
                pieces.append(("nothing in this window", theme.muted))
            }
        } else if let first = windows.first {
            var low = first.minimum
            var high = first.maximum
            var count = 0.0
            var mean = 0.0
            for window in windows {
                low = min(low, window.minimum)
                high = max(high, window.maximum)
                count += Double(window.count)
                mean += (window.mean - mean) * Double(window.count) / count
            }
            if let newest = series.newest { add("last", text(newest.value)) }
            if !isWord {
                add("min", text(low))
                add("mean", text(min(max(mean, low), high)))
                add("max", text(high))
            }
            add("n", NumberText.short(count))
            if state.isLog { pieces.append(("log   ", theme.warning)) }
            if state.range != nil { pieces.append(("range fixed   ", theme.warning)) }
            if past == nil, series.isTrimmed {
                pieces.append(("oldest values left out", theme.warning))
            }
        } else {
            pieces.append(("no values in this time", theme.muted))
        }
        put(pieces, row: row, column: max(frame.left - 1, 1), width: grid.columns - max(frame.left - 1, 1) - 1)
    }

    // MARK: The cursor

    /// The time of a dot, counted from the last one.
    private func time(_ dot: Int, _ frame: GraphFrame) -> Int64 {
        let share = Double(max(frame.last - dot, 0)) / Double(max(frame.columns * 2 - 1, 1))
        return frame.start.addingSaturated(Int64(min(share * Double(frame.span), 9e18)))
    }

    private func nearest(_ time: Int64, _ model: GraphModel, _ frame: GraphFrame) -> Sample? {
        func distance(_ sample: Sample) -> UInt64 { sample.time.subtractingSaturated(time).magnitude }
        return model.samples.min { distance($0) < distance($1) }
            .flatMap { distance($0) <= max(model.width, frame.span / Int64(frame.columns)).magnitude ? $0 : nil }
    }

    private mutating func paintScrub(_ frame: GraphFrame) {
        guard let scrub = state.scrub else { return }
        let time = time(scrub, frame)
        let column = frame.left + frame.x(time) / 2
        for row in frame.rows {
            let cell = grid[row, column]
            if cell.glyph == 0x20 {
                grid.put(glyph: "│", row: row, column: column, style: theme.warning)
            } else {
                grid.restyle(row: row, columns: column..<column + 1) { _ in theme.warning.with(.bold) }
            }
        }
    }
}
