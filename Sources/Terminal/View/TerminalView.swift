package import Feed
package import Reactor

/// The whole content of a terminal view, without a terminal: its inputs are lines, keys and the time, its outputs are
/// grids.
///
/// Pure: no clock and no I/O. `frame` depends only on its arguments and earlier calls.
package struct TerminalView: Sendable {
    /// The state of the connection to the feed.
    package enum Connection: Sendable, Equatable {
        /// No value has come yet; `target` is a host or path, `since` the start of the attempt. The first series ends
        /// it.
        case waiting(target: String, since: Timestamp)
        case open
        /// The agent is gone: why, since when, and the time of the next attempt.
        case lost(reason: String, since: Timestamp, retryAt: Timestamp?)
    }

    /// The state of a replay.
    package struct Playback: Sendable, Equatable {
        package var speed: String
        package var isPaused: Bool

        package init(speed: String, isPaused: Bool) { (self.speed, self.isPaused) = (speed, isPaused) }
    }

    /// The content at the time of the pause.
    struct Paused: Sendable {
        var board: Board
        var agentTime: Timestamp
    }

    /// The current state, even while paused.
    package private(set) var board: Board
    package internal(set) var state = ViewState()
    package private(set) var size: ScreenSize
    /// With times of the local clock.
    package var connection: Connection
    /// The owner of the feed's socket, when that is another user.
    package var owner: String?
    /// The state of the replay; nil for a live feed. In a replay, the pause key pauses the replay and not the view.
    package var playback: Playback?
    /// Whether a person can press keys: hints and the selection are shown only then.
    package var hasKeys = true
    /// Reads a time as people write it, for the local time `now`; nil for what is none.
    package var readTime: @Sendable (_ text: String, _ now: Timestamp) -> Timestamp? = { _, _ in nil }
    /// The offset of local time from UTC, in seconds.
    package var utcOffset = 0

    /// Whether there is a journal with past lines.
    package var hasJournal = false
    /// The series over a longer time in Detail's graph; nil when the graph shows the board's values.
    package private(set) var past: PastSeries?
    /// The number of `PastSeries` so far.
    private var pastCount = 0

    private(set) var paused: Paused?
    private(set) var order = ListOrder()
    private var agentClock = AgentClock()

    package init(size: ScreenSize, connection: Connection, limits: Board.Limits = Board.Limits()) {
        self.size = size
        self.connection = connection
        board = Board(limits: limits)
    }

    /// Applies a delivery that came at the local time `now`; returns false after the last one.
    package mutating func apply(_ delivery: Delivery, now: Timestamp) -> Bool {
        var goesOn = true
        var splitter = LineSplitter()
        switch delivery {
        case .lines(let span): span.withUnsafeBytes { splitter.push(Array($0)[...]) }
        case .gap(let line), .greeting(let line), .ended(let line, _), .kept(let line): splitter.push(line[...])
        case .interrupted: break
        case .end(let line):
            splitter.push(line[...])
            goesOn = false
        }
        while case .line(let line)? = splitter.next() {
            // Lines are valid: the store's own, or another agent's, which it checked.
            if let decoded = try? LineDecoder.decode(line) { apply(decoded, now: now) }
        }
        if case .waiting = connection, !board.series.isEmpty { connection = .open }
        return goesOn
    }

    /// Applies one line of the feed, which came at the local time `now`.
    package mutating func apply(_ line: Line, now: Timestamp) {
        let runChanges = board.runChanges
        board.apply(line)
        if board.runChanges != runChanges { forgetSeries() }
        recordTime(of: line, now)
    }

    /// A data line has its event's time, so it is no measure of the clock; a hello starts a new measurement.
    private mutating func recordTime(of line: Line, _ now: Timestamp) {
        switch line.body {
        case .hello:
            agentClock = AgentClock()
            agentClock.record(line.time, local: now)
        case .data where agentClock.isKnown: break
        default: agentClock.record(line.time, local: now)
        }
    }

    /// Forgets the selection: another run has other series.
    private mutating func forgetSeries() {
        paused = nil
        past = nil
        order = ListOrder()
        state.selected = nil
        state.scrub = nil
        state.detailTop = 0
        state.feedBack = 0
    }

    package mutating func resize(_ size: ScreenSize) { self.size = size }

    /// Shows until the next key why an action failed.
    package mutating func show(notice: String) { state.notice = Sanitizer.visible(notice, limit: 200) }

    /// The board on the screen: the old one while paused.
    private var shown: Board { paused?.board ?? board }

    /// The agent's time, advanced by the local clock while the agent is silent.
    private func agentTime(_ now: Timestamp) -> Timestamp { agentClock.time(now) }

    /// Paints the screen for the local time `now`.
    package mutating func frame(now: Timestamp) -> CellGrid {
        let live = agentTime(now)
        let board = shown
        let agentNow = paused?.agentTime ?? live
        order.update(
            board, key: state.sort, filter: ListFilter(state.screen == .feed ? "" : state.filter), folds: state.folds,
            firingOnly: state.screen != .feed && state.showsFiringOnly, lateAt: canBeLate ? agentNow : nil)
        if let index = state.series, !board.series.indices.contains(index) { state.selected = nil }
        if state.screen == .detail { chooseSeries() }
        let series = state.screen == .detail ? chosen : nil
        lookBack(at: series, agentNow)
        let hasFleet = state.screen == .metrics && (!board.agents.isEmpty || board.refusedAgents > 0)
        var painter = Painter(
            grid: CellGrid(size), board: board, state: state, order: order, chosen: chosenRow,
            fleet: hasFleet ? AgentTable(board, filter: state.filter) : nil,
            past: past, connection: connection, owner: owner, playback: playback,
            agentNow: agentNow, localNow: now,
            utcOffset: utcOffset, hasKeys: hasKeys,
            newSince: paused.map { self.board.lastSequence - $0.board.lastSequence },
            fields: series?.event.map { event in
                EventFields.rows(event.data.map { EventFields.read($0) } ?? [], besides: event.text)
            } ?? [])
        painter.paint()
        // The painter may have scrolled to make the selection visible.
        state.listTop = painter.state.listTop
        state.detailTop = painter.state.detailTop
        state.metricsTop = painter.state.metricsTop
        state.feedBack = painter.state.feedBack
        if state.scrubTime != nil { state.scrub = painter.state.scrub }
        return painter.grid
    }

    // MARK: The journal

    /// Starts reading the journal again when another series or span is shown.
    private mutating func lookBack(at series: BoardSeries?, _ agentNow: Timestamp) {
        guard state.screen == .detail, let span = state.reach, let series, series.newest != nil else {
            past = nil
            return
        }
        if past?.isOf(series.name, span) == true { return }
        pastCount += 1
        past = PastSeries(of: series, over: span, at: agentNow, number: pastCount)
    }

    /// The next request to the journal and the number of its graph; nil when there is none. A paused graph stays as it
    /// is once it has been read.
    package mutating func beginReading(at now: Timestamp) -> (number: Int, request: PastRequest)? {
        guard let known = past, paused == nil || known.progress == .reading else { return nil }
        let time = paused?.agentTime ?? agentTime(now)
        guard let request = past?.begin(at: time) else { return nil }
        return (known.number, request)
    }

    /// Handles a piece of an answer; returns false when the rest is not wanted.
    package mutating func read(_ bytes: [UInt8], of number: Int) -> Bool {
        past?.number == number && past?.read(bytes) == true
    }

    /// Ends an answer, with a reason if it failed.
    package mutating func endReading(of number: Int, failure: String? = nil) {
        if past?.number == number { past?.end(failure: failure) }
    }

    // MARK: Keys

    /// Handles a key at the local time `now`; the next frame shows its effect.
    package mutating func handle(_ key: Key, now: Timestamp) -> Action? {
        state.notice = nil
        switch key {
        case .control("c"): return .quit
        case .control("z"): return .suspend
        case .control("l"): return .redraw
        default: break
        }
        if state.prompt != nil { return type(key, now: now) }
        if state.showsHelp {
            if key == .character("q") { return .quit }
            state.showsHelp = false
            return nil
        }
        switch key {
        case .tab: show(screen(1))
        case .backTab: show(screen(-1))
        case .enter: enter()
        case .escape, .backspace: goBack()
        case .up, .character("k"): move(-1)
        case .down, .character("j"): move(1)
        case .left, .character("h"): turn(-1)
        case .right, .character("l"): turn(1)
        case .pageUp: move(-page)
        case .pageDown: move(page)
        case .home, .character("g"): move(.min)
        case .end, .character("G"): move(.max)
        case .mouse(let mouse): point(mouse)
        case .function(1), .character("?"): state.showsHelp = true
        case .character(let scalar): return command(scalar, now: now)
        default: break
        }
        return nil
    }

    private mutating func command(_ scalar: Unicode.Scalar, now: Timestamp) -> Action? {
        switch scalar {
        case "q": return .quit
        case "r": return .poll(source: state.screen == .detail ? chosen?.source : nil)
        case "1", "2", "3", "4":
            // The digits are the raw values of the cases.
            if let screen = ViewState.Screen(rawValue: Int(scalar.value) - 0x30) { show(screen) }
        case " " where playback != nil: return .play(.pause)
        case ">" where playback != nil: return .play(.faster)
        case "<" where playback != nil: return .play(.slower)
        case "." where playback != nil: return .play(.next)
        case " ": togglePause(now: now)
        case "+", "=": changeWidth(1)
        case "-", "_": changeWidth(-1)
        case "[": changeSpan(-1)
        case "]": changeSpan(1)
        case "L": state.isLog.toggle()
        case "y": state.range = state.range == nil ? visibleRange : nil
        case "s": state.sort = state.sort.next
        case "!": if state.screen == .list { showFiringOnly(!state.showsFiringOnly) }
        case "/": state.prompt = .filter(state.filter)
        case "f": if state.screen == .feed { change(\.feedType, of: \.type) }
        case "F": if state.screen == .feed { change(\.feedSource, of: \.source) }
        case "@": if state.screen == .detail { state.prompt = .time("") }
        default: break
        }
        return nil
    }

    // MARK: Typing

    private mutating func type(_ key: Key, now: Timestamp) -> Action? {
        switch key {
        case .character(let scalar): append(String(Character(scalar)))
        case .paste(let text): append(text)
        case .backspace:
            switch state.prompt {
            case .filter(let text): setFilter(String(text.dropLast()))
            case .time(let text): state.prompt = .time(String(text.dropLast()))
            case nil: break
            }
        case .escape:
            if case .filter = state.prompt { setFilter("") }
            state.prompt = nil
        case .enter:
            let prompt = state.prompt
            state.prompt = nil
            if case .time(let text) = prompt, !text.isEmpty { goTo(text, now: now) }
        case .up: move(-1)
        case .down: move(1)
        default: break
        }
        return nil
    }

    private mutating func append(_ text: String) {
        switch state.prompt {
        case .filter(let old):
            let added = text.unicodeScalars.filter { !Sanitizer.isHidden($0) }
            setFilter(String((old + String(String.UnicodeScalarView(added))).prefix(100)))
        case .time(let old):
            let added = text.unicodeScalars.filter { !Sanitizer.isHidden($0) }
            state.prompt = .time(String((old + String(String.UnicodeScalarView(added))).prefix(40)))
        case nil: break
        }
    }

    private mutating func setFilter(_ text: String) {
        state.prompt = .filter(text)
        state.filter = text
        state.listTop = 0
        state.metricsTop = 0
        state.feedBack = 0
    }

    // MARK: Going about

    private func screen(_ step: Int) -> ViewState.Screen {
        let all = ViewState.Screen.allCases
        return all[(state.screen.rawValue - 1 + step + all.count) % all.count]
    }

    private mutating func show(_ screen: ViewState.Screen) {
        if screen == .detail { chooseSeries() } else { stayHere() }
        state.screen = screen
    }

    private mutating func enter() {
        switch state.screen {
        case .list:
            guard let row = chosenRow else { return }
            if case .heading(let group) = order.rows[row], ListFilter(state.filter).isEmpty {
                return fold(!order.groups[group].isFolded)
            }
            guard order.firstSeries(of: order.rows[row], shown) != nil else { return }
            state.selected = order.rows[row]
            state.scrub = nil
            state.detailTop = 0
            show(.detail)
        case .feed: state.feedBack = 0
        case .detail, .metrics: break
        }
    }

    private mutating func goBack() {
        if state.screen == .detail, state.scrub != nil {
            state.scrub = nil
        } else if state.reach != nil {
            stayHere()
        } else if state.screen == .list || state.screen == .feed || !shown.agents.isEmpty,
            !state.filter.isEmpty || state.feedType != nil || state.feedSource != nil
        {
            state.filter = ""
            (state.feedType, state.feedSource) = (nil, nil)
        } else if state.screen == .list, state.showsFiringOnly {
            showFiringOnly(false)
        } else if state.screen != .list {
            show(.list)
        }
    }

    private mutating func showFiringOnly(_ isOnly: Bool) {
        state.showsFiringOnly = isOnly
        state.listTop = 0
    }

    /// The number of rows of a page.
    private var page: Int { max(1, size.rows - 5) }

    private mutating func move(_ step: Int) {
        switch state.screen {
        case .list: choose(step)
        case .detail where step == 1 || step == -1:
            chooseWithinSource(step)
            state.scrub = nil
            state.detailTop = 0
        case .detail: state.detailTop = Self.limited(state.detailTop, step)
        case .metrics: state.metricsTop = Self.limited(state.metricsTop, step)
        case .feed: state.feedBack = Self.limited(state.feedBack, step == .min ? .max : -step)
        }
    }

    private mutating func choose(_ step: Int) {
        guard let row = chosenRow else { return }
        state.selected = order.rows[min(Self.limited(row, step), order.rows.count - 1)]
    }

    private mutating func chooseWithinSource(_ step: Int) {
        guard let chosen else { return }
        let series = order.within(chosen.source, shown)
        guard !series.isEmpty else { return }
        let place = state.series.flatMap { series.firstIndex(of: $0) }
        state.selected = .series(series[place.map { min(Self.limited($0, step), series.count - 1) } ?? 0])
    }

    /// Folds or unfolds the chosen heading.
    private mutating func fold(_ isFolded: Bool) {
        guard let row = chosenRow, case .heading(let group) = order.rows[row] else { return }
        state.selected = order.rows[row]
        if ListFilter(state.filter).isEmpty {
            state.fold(order.groups[group].name, isFolded)
        } else {
            show(notice: "a filter shows all that matches")
        }
    }

    /// Adds a step, not below 0; the painter limits the other end.
    private static func limited(_ start: Int, _ step: Int) -> Int {
        let (sum, overflow) = start.addingReportingOverflow(step)
        return overflow ? (step < 0 ? 0 : 1_000_000) : min(max(sum, 0), 1_000_000)
    }

    private mutating func turn(_ step: Int) {
        switch state.screen {
        case .list:
            guard let row = chosenRow else { return }
            if case .heading = order.rows[row] { fold(step < 0) } else if step > 0 { enter() }
        case .detail:
            // Without a cursor, the first step to the left puts it at the right end.
            let next = state.scrub.map { $0 - step } ?? (step < 0 ? 0 : -1)
            state.scrub = next < 0 ? nil : min(next, 2_000)
            state.scrubTime = nil
        case .metrics, .feed: break
        }
    }

    private mutating func point(_ mouse: Key.Mouse) {
        switch mouse.kind {
        case .wheelUp: for _ in 0..<3 { move(state.screen == .detail ? -2 : -1) }
        case .wheelDown: for _ in 0..<3 { move(state.screen == .detail ? 2 : 1) }
        case .press:
            guard state.screen == .list, let first = Painter.firstListRow(size), mouse.row >= first else { return }
            let row = state.listTop + mouse.row - first
            guard order.rows.indices.contains(row) else { return }
            let wasChosen = state.selected == order.rows[row]
            state.selected = order.rows[row]
            if case .heading = order.rows[row] { enter() } else if wasChosen { enter() }
        }
    }

    // MARK: Choosing what is shown

    private mutating func togglePause(now: Timestamp) {
        if paused == nil {
            paused = Paused(board: board, agentTime: agentTime(now))
        } else {
            paused = nil
            // It lacks the lines that came meanwhile.
            past = nil
        }
    }

    private mutating func changeWidth(_ step: Int) {
        let current = state.width ?? shown.interval
        let next = step > 0 ? ViewState.widths.first { $0 > current } : ViewState.widths.last { $0 < current }
        if let next { state.width = next == shown.interval ? nil : next }
        state.scrub = nil
    }

    private mutating func changeSpan(_ step: Int) {
        let all = shown.history
        if state.screen == .detail, state.span == nil {
            let own = chosen?.span.history ?? all
            if step > 0, !hasJournal { show(notice: Self.noJournal) }
            // A span within the agent's history would change nothing of a longer one.
            if changeReach(step, beyond: max(own, all)) || own > all { return }
        }
        let current = state.span ?? all
        let next = step > 0 ? ViewState.spans.first { $0 > current } ?? all : ViewState.spans.last { $0 < current }
        if let next { state.span = next >= all ? nil : next }
        state.scrub = nil
    }

    /// Extends the span beyond the history, or shortens it again; returns false when that does not apply.
    private mutating func changeReach(_ step: Int, beyond history: Duration) -> Bool {
        let spans = PastSeries.spans.filter { $0.duration > history }
        let current = state.reach?.duration ?? history
        guard chosen.map({ $0.newest != nil }) != false, state.reach != nil || (step > 0 && hasJournal) else {
            return false
        }
        if step < 0 {
            state.reach = spans.last { $0.duration < current }
        } else if past?.progress != .here(isOlder: false) {
            state.reach = spans.first { $0.duration > current } ?? state.reach
        }
        state.scrub = nil
        return state.reach != nil || step < 0
    }

    /// Goes back to the board's values.
    private mutating func stayHere() {
        (state.reach, past) = (nil, nil)
        if state.screen == .detail { state.scrub = nil }
    }

    /// Chooses the next of the words that the feed's lines have there, and after the last one all of them.
    private mutating func change(_ choice: WritableKeyPath<ViewState, String?>, of word: KeyPath<BoardLine, String>) {
        let words = Set(shown.lines.map { $0[keyPath: word] }).subtracting([""]).sorted()
        let index = state[keyPath: choice].flatMap { words.firstIndex(of: $0) } ?? -1
        state[keyPath: choice] = index + 1 < words.count ? words[index + 1] : nil
        state.feedBack = 0
    }

    /// Moves the graph's cursor to a time, and the graph to where that can be seen.
    private mutating func goTo(_ text: String, now: Timestamp) {
        let present = paused?.agentTime ?? agentTime(now)
        guard let time = readTime(text, present) else {
            return show(notice: "\"\(text)\" is no time: 14:03, 1h, yesterday 08:00, 2026-11-22 08:00")
        }
        guard let chosen, chosen.newest != nil else { return show(notice: "there is no graph to go to a time in") }
        let back = present - time
        guard back >= .zero else { return show(notice: "that time is yet to come") }
        if back <= chosen.span.history {
            state.reach = nil
            if let span = state.span, span < back { state.span = nil }
        } else if !hasJournal {
            return show(notice: Self.noJournal)
        } else if let span = PastSeries.spans.first(where: { $0.duration >= back }) {
            state.reach = span
        } else {
            return show(notice: "the graph goes back 7 days; catwatch log has what is older")
        }
        state.scrub = 0
        state.scrubTime = time
    }

    private static let noJournal = "there is no journal (--journal) of older times"

    /// The position of the chosen row in the list; the topmost without a choice, nil without rows.
    private var chosenRow: Int? { order.position(of: state.selected, shown) }

    /// The chosen series, or the first one of the chosen row.
    private var chosenIndex: Int? {
        if let index = state.series, shown.series.indices.contains(index),
            state.screen == .detail || order.matches(index)
        {
            return index
        }
        return
            (chosenRow.flatMap { order.firstSeries(of: order.rows[$0], shown) } ?? order.series.first.map { Int($0) })
            .flatMap { shown.series.indices.contains($0) ? $0 : nil }
    }

    private var chosen: BoardSeries? { chosenIndex.map { shown.series[$0] } }

    /// Chooses a series, for Detail.
    private mutating func chooseSeries() {
        if let index = chosenIndex { state.selected = .series(index) }
    }

    /// Whether a source that is silent is late: not when nothing can come from any.
    private var canBeLate: Bool {
        if case .lost = connection { return false }
        return shown.bye == nil && playback?.isPaused != true
    }

    /// The range of the selected series' values, in round numbers.
    private var visibleRange: ClosedRange<Double>? {
        guard let name = chosen?.name, let index = shown.series(named: name) else { return nil }
        var values = shown.points(of: index).map(\.value)
        if let past {
            let range = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
            for window in past.windows(width: past.span.width, over: range) {
                values += [window.minimum, window.maximum]
            }
        }
        let axis = ValueAxis(values, isLog: false, count: 5)
        return axis.low...axis.high
    }
}

extension Board {
    /// The board's data about a source.
    func describedSource(_ name: String) -> BoardSource? { source(named: name).map { sources[$0] } }

    /// The length of the past that the agent keeps.
    var history: Duration { hello.map { $0.history > .zero ? $0.history : .seconds(120) } ?? .seconds(120) }
}
