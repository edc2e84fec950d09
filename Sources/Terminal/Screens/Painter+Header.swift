internal import Feed
internal import Reactor

extension Painter {
    /// Paints the name, the screens, the host and the agent's time.
    mutating func paintHeader(hasStatus: Bool) {
        if !hasStatus, state.screen != .list || isLost, let trouble {
            put(trouble, row: 0, column: 0)
            return
        }
        let clock = NumberText.clock(agentNow, offset: utcOffset)
        let host = board.hello?.host.name ?? ""
        var end = grid.columns - 1
        if grid.columns >= 24 { put(clock, theme.muted, row: 0, before: &end, width: 8) }
        guard grid.columns >= 60 else {
            var column = put(" " + state.screen.name, theme.accent.with(.bold), row: 0, column: 0)
            for piece in hasStatus ? [] : [firing, failing].compactMap(\.self) {
                column += put([("  ", theme.text), piece], row: 0, column: column, width: end + 1 - column)
            }
            if let text = newSince.map({ "paused +\($0)" }) ?? playback?.text {
                column += put("  " + text, theme.warning, row: 0, column: column, width: end + 1 - column)
            }
            if !state.filter.isEmpty, Chrome(grid.size, hasKeys: hasKeys).hints == nil {
                put("  /" + state.filter, theme.warning, row: 0, column: column, width: end + 1 - column)
            }
            return
        }
        var column = put(" catwatch ", theme.title, row: 0, column: 0)
        for screen in ViewState.Screen.allCases {
            let isShown = screen == state.screen
            column += 1
            column += put(
                [
                    ("\(screen.rawValue) ", isShown ? theme.accent : theme.faint),
                    (screen.name, isShown ? theme.accent.with([.bold, .underline]) : theme.muted),
                ], row: 0, column: column)
            column += 1
        }
        // Another user's socket is named even where there is no room for the host.
        for text in [owner.map { "socket of \($0)" }, playback?.text].compactMap(\.self) {
            put(text, theme.warning, row: 0, before: &end, width: end - column - 1)
        }
        if !host.isEmpty, end - column > 7 {
            put(host, theme.muted, row: 0, before: &end, width: end - column - 1)
        }
    }

    // MARK: How things are going

    mutating func paintStatus(_ row: Int) {
        var end = grid.columns - 1
        if grid.columns >= 60, state.screen == .list || state.screen == .detail {
            var (width, span) = past.map { (pastWidth($0), $0.span.duration) } ?? (width, span)
            if state.screen == .detail, past == nil, let shown = state.series.map({ board.series[$0] }),
                shown.span.width > board.interval
            {
                (width, span) = (extent(of: shown).width, shown.span.history)
            }
            let text = "\(NumberText.span(.microseconds(width))) windows, \(NumberText.span(span))"
            put(text, theme.faint, row: row, before: &end, width: 30)
        }
        if board.missed > 0, end >= 50 {
            put("\(board.missed) lines missed", theme.warning, row: row, before: &end, width: 24)
        }
        var column = 1
        if let newSince {
            column += put(
                [(" PAUSED ", theme.warning.with(.inverse)), (" \(newSince) new  ", theme.warning)], row: row,
                column: column)
        }
        if let firing, !isWaitingShown { column += put([firing], row: row, column: column, width: end - column) + 2 }
        if let trouble, state.screen != .list || isLost {
            put(trouble, row: row, column: column, width: end - column)
        } else if case .waiting(let target, let since) = connection {
            // Unless the middle of the screen shows it.
            if !isWaitingShown { put(waiting(target, since), row: row, column: column, width: end - column) }
        } else if !isWaitingShown {
            if let failing { column += put([failing], row: row, column: column, width: end - column) + 2 }
            for index in sourcesByState {
                let pieces = self.pieces(board.sources[index])
                guard column + Self.columns(pieces) <= end else {
                    grid.put("…", row: row, column: min(column, end - 1), style: theme.muted)
                    break
                }
                column += put(pieces, row: row, column: column) + 2
            }
        }
    }

    /// Whether the screen has nothing to show but what it waits for.
    var isWaitingShown: Bool {
        board.series.isEmpty && (state.screen == .list || state.screen == .detail) && !state.showsHelp
    }

    func waiting(_ target: String, _ since: Timestamp) -> [Piece] {
        let seconds = NumberText.fixed(max(0, (localNow - since).seconds), 1)
        return [("waiting for ", theme.muted), (target, theme.text), (" … \(seconds) s", theme.muted)]
    }

    var isLost: Bool {
        if case .lost = connection { return true }
        return false
    }

    /// Listed sources, those that fail first.
    private var sourcesByState: some Sequence<Int> {
        let (order, sources) = (board.sourceOrder, board.sources)
        // Lazily: few of thousands fit into a line.
        return [true, false].lazy.flatMap { isFailing in
            order.lazy.filter { sources[$0].isListed && (sources[$0].state == .failing) == isFailing }
        }
    }

    /// How many sources fail; nil when none does.
    private var failing: Piece? {
        var (all, failing) = (0, 0)
        // The agent's own measurements are no source to a person.
        for index in board.sources.indices where board.sources[index].isListed && board.sources[index].type != "memory"
        {
            all += 1
            failing += board.sources[index].state == .failing ? 1 : 0
        }
        return failing > 0 ? ("\(failing) of \(all) failing", theme.bad.with(.bold)) : nil
    }

    /// A source's state and its age or progress.
    private func pieces(_ source: BoardSource) -> [Piece] {
        let mark = SourceRow.Mark(source, at: agentNow, window: board.interval)
        let isQuiet = mark == .starting || mark == .late || isLost
        let name = mark == .failing ? theme.bad : isQuiet ? theme.muted : theme.text
        var pieces: [Piece] = [(mark.rawValue + " ", style(mark)), (source.name, name)]
        if let progress = source.progress, let total = progress.total, progress.done < total {
            pieces.append((" " + bar(progress, columns: 6) + " \(progress.done)/\(total)", theme.accent))
        } else if let progress = source.progress, progress.total == nil, source.newest == nil {
            pieces.append((" \(progress.done) so far", theme.accent))
        } else if let answered = source.answered {
            pieces.append((" " + NumberText.age(age(answered)), theme.muted))
        }
        // For as long as a person may wonder why the red line is gone.
        if source.state == .ok, let outage = source.outage, age(outage.end) <= .seconds(60) {
            pieces.append((" back after " + NumberText.length(outage.recovery.down), theme.good))
        }
        return pieces
    }

    /// A progress bar; `░` is the part that is left.
    func bar(_ progress: Progress, columns: Int) -> String {
        let total = max(progress.total ?? 0, 1)
        let done = min(max(progress.done, 0), total)
        let full = Int(Double(done) / Double(total) * Double(columns))
        return String(repeating: "█", count: full) + String(repeating: "░", count: columns - full)
    }

    /// The newest failure and the next try, as one red line; nil when all is well.
    var trouble: [Piece]? {
        if case .lost(let reason, let since, let retryAt) = connection {
            var text = "✕ agent lost \(NumberText.age(localNow - since)) ago · "
            if let retryAt { text += "next try \(NumberText.countdown(retryAt - localNow)) · " }
            text += reason
            return [(text, theme.bad.with(.bold))]
        }
        let failing = board.sources.filter { $0.state == .failing && $0.isListed }
        guard let first = failing.max(by: { $0.since < $1.since }) else { return nil }
        let pieces = pieces(self.trouble(of: first), isFolded: nil)
        return failing.count > 1 ? [("\(failing.count) sources failing · ", theme.bad)] + pieces : pieces
    }

    // MARK: The bottom

    mutating func paintHints(_ row: Int) {
        let pause = ("space", newSince == nil && playback?.isPaused != true ? "pause" : "resume")
        var hints: [(String, String)]
        switch state.screen {
        case .list:
            let isHeading = chosen.map { if case .heading = order.rows[$0] { true } else { false } } ?? false
            hints = [
                ("↑↓", "choose"), isHeading ? ("←→", "fold") : ("Enter", "open"), ("s", "sort"), ("/", "filter"), pause,
                ("+-", "width"),
                ("[]", "history"), ("r", "refresh"),
            ]
            if state.showsFiringOnly || !board.alerts.isEmpty {
                hints.insert(("!", state.showsFiringOnly ? "everything" : "alerts"), at: 2)
            }
        case .detail:
            hints = [
                ("Esc", "back"), ("←→", "read"), ("↑↓", "series"), ("+-", "width"), ("[]", "history"),
                ("@", "go to"), ("L", "log"), ("y", "fix"), pause,
            ]
        case .metrics:
            hints = [("↑↓", "scroll"), pause, ("Tab", "next"), ("r", "refresh")]
            if !board.agents.isEmpty { hints.insert(("/", "filter"), at: 1) }
        case .feed:
            hints = [("↑↓", "scroll"), ("Enter", "newest"), ("f", "type"), ("F", "source"), ("/", "filter"), pause]
        }
        if playback != nil {
            hints.removeAll { $0 == pause }
            hints.insert(contentsOf: [pause, ("<>", "speed"), (".", "next line")], at: 1)
        }
        let fixed = [("?", "help"), ("q", "quit")]
        var room = grid.columns - 2 - fixed.reduce(0) { $0 + $1.0.columns + $1.1.columns + 3 }
        var column = 1
        if let notice = state.notice {
            column += put("\(notice)  ", theme.warning, row: row, column: column, width: max(1, room))
            room -= column - 1
        } else if !state.filter.isEmpty, state.screen != .metrics || !board.agents.isEmpty {
            // The filter explains why so few rows are shown, so it comes before the keys.
            let clears = state.screen == .detail ? "  " : "  Esc clears  "
            column += put(
                "/" + state.filter, theme.warning, row: row, column: column, width: max(1, room - clears.columns))
            column += put(clears, theme.muted, row: row, column: column)
            room -= column - 1
        }
        let fitting = hints.prefix { key, word in
            room -= key.columns + word.columns + 3
            return room >= 0
        }
        for (key, word) in fitting + fixed {
            column += put([(key, theme.text), (" " + word, theme.muted)], row: row, column: column) + 2
        }
    }

    mutating func paintPrompt(_ row: Int) {
        grid.fill(row: row, columns: 0..<grid.columns, with: " ", style: .plain)
        switch state.prompt {
        case .filter(let text):
            // The table of agents shows its own count.
            let count =
                [.feed, .metrics].contains(state.screen) ? "" : "  \(order.series.count) of \(board.series.count)"
            put(
                [
                    (" filter: ", theme.accent), (text, theme.text), ("█", theme.accent), (count, theme.muted),
                    ("  Enter keeps, Esc clears", theme.faint),
                ], row: row, column: 0)
        case .time(let text):
            put(
                [
                    (" go to: ", theme.accent), (text, theme.text), ("█", theme.accent),
                    ("  14:03, 1h, yesterday 08:00; Enter goes, Esc leaves", theme.faint),
                ], row: row, column: 0)
        case nil: break
        }
    }

    // MARK: Instead of a screen

    /// Paints the sources that are waited for, before the first value.
    mutating func paintWaiting(_ body: Range<Int>) {
        var lines: [[Piece]] = []
        switch connection {
        case .waiting(let target, let since): lines.append(waiting(target, since))
        case .open: lines.append([("waiting for the first value", theme.muted)])
        case .lost: lines.append([("nothing had come yet", theme.muted)])
        }
        if !board.sources.isEmpty { lines.append([]) }
        for source in sourcesByState.map({ board.sources[$0] }) {
            guard source.state != .failing else {
                lines.append(self.pieces(trouble(of: source), isFolded: nil))
                continue
            }
            var pieces = self.pieces(source)
            if source.state == .starting {
                pieces.append((" asked \(NumberText.fixed(age(source.since).seconds, 1)) s ago", theme.muted))
            }
            lines.append(pieces)
        }
        let top = body.lowerBound + max(0, (body.count - lines.count) / 3)
        let width = lines.map(Self.columns).max() ?? 0
        let column = max(1, (grid.columns - width) / 2)
        for (offset, line) in lines.enumerated() where body.contains(top + offset) {
            put(line, row: top + offset, column: column, width: grid.columns - column - 1)
        }
    }

    /// Paints a screen of one row: the chosen series, or what is wrong.
    mutating func paintOneLine() {
        if isLost, let trouble {
            put(trouble, row: 0, column: 0)
            return
        }
        guard let chosen else {
            if case .waiting(let target, let since) = connection { put(waiting(target, since), row: 0, column: 0) }
            return
        }
        let look: SeriesLook
        switch self.look(of: order.rows[chosen]) {
        case .source(let source, let isFolded):
            put(pieces(source, isFolded: isFolded), row: 0, column: 0)
            return
        case .alert(let alert):
            put(pieces(alert, name: [(alert.name, style(alert.severity).with(.bold))]), row: 0, column: 0)
            return
        case .series(let series, _): look = series
        }
        var pieces: [Piece] = []
        if let quantity = look.quantity {
            pieces.append((" " + (grid.columns < 30 ? quantity.text : quantity.whole), theme.title))
        } else if let text = look.series.text {
            pieces.append((" " + text, theme.text))
        }
        if let alert = look.alert { pieces.append((" " + alert.severity.mark, style(alert.severity))) }
        if let letter = look.letter { pieces.append((" " + letter, look.style)) }
        if let arrow = look.arrow { pieces.append((" \(Character(arrow.glyph))", arrow.style)) }
        // The value matters most: the age is dropped first, then the end of the name.
        let (prefix, rest) = grid.columns < 30 ? label(look) : look.series.nameParts
        var age = look.age.isEmpty ? "" : " " + look.age
        if grid.columns - Self.columns(pieces) - age.columns < min(rest.columns, 4) { age = "" }
        let room = grid.columns - Self.columns(pieces) - age.columns
        let name: [Piece] = [(prefix, theme.muted), (rest, theme.muted)]
        var used = put(name, row: 0, column: 0, width: max(room, grid.columns / 3))
        used += put(pieces, row: 0, column: used, width: max(grid.columns - age.columns - used, 0))
        put(age, look.isStale ? theme.warning : theme.muted, row: 0, column: used)
    }
}

extension TerminalView.Playback {
    /// The text in the header.
    fileprivate var text: String { isPaused ? "replay paused" : "replay \(speed)" }
}
