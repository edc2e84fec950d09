package import Feed
package import Reactor

/// Everything a terminal shows, without a terminal: lines, keys and the time go in, grids come out.
///
/// Pure: no clock and no I/O. `frame` depends on nothing but what was applied before and its arguments.
package struct TerminalView: Sendable {
    /// How the feed that is shown comes here.
    package enum Connection: Sendable, Equatable {
        /// No value has come yet; since when it is tried, and whom: a host, a path. The first series ends it.
        case waiting(target: String, since: Timestamp)
        case open
        /// The agent is gone: why, since when, and when the next try comes.
        case lost(reason: String, since: Timestamp, retryAt: Timestamp?)
    }

    /// How a recording is played back.
    package struct Playback: Sendable, Equatable {
        package var speed: String
        package var isPaused: Bool

        package init(speed: String, isPaused: Bool) { (self.speed, self.isPaused) = (speed, isPaused) }
    }

    /// What was there when the view was paused.
    struct Paused: Sendable {
        var board: Board
        var runs: FibonacciRuns
        var agentTime: Timestamp
    }

    /// What is known by now, also while paused.
    package private(set) var board: Board
    package internal(set) var state = ViewState()
    package private(set) var size: ScreenSize
    /// By the local clock.
    package var connection: Connection
    /// Whose the socket is that the feed comes from, when it is somebody else's.
    package var owner: String?
    /// How what is shown is played back; nil when it is live. Then it is the playing that is paused, not the view.
    package var playback: Playback?
    package var theme = Theme()
    /// Whether there is somebody to press a key: what keys do, and what they have chosen, is only then shown.
    package var hasKeys = true
    /// How many seconds local time is ahead of UTC.
    package var utcOffset = 0

    /// Whether there is a journal to be asked for what was before.
    package var hasJournal = false
    /// What Detail's graph shows of a longer time than the board's; nil while it shows none.
    package private(set) var past: PastSeries?
    /// How many of those there were.
    private var pastCount = 0

    private(set) var runs = FibonacciRuns()
    private(set) var paused: Paused?
    private(set) var order = ListOrder()
    /// The newest event's rows, and of which event they are.
    private var fields: (sequence: Int, rows: [EventFields.Row]) = (-1, [])
    private var agentClock = AgentClock()
    /// Nil while no agents of a fleet are shown.
    private var fleet: AgentTable?

    package init(size: ScreenSize, connection: Connection, limits: Board.Limits = Board.Limits()) {
        self.size = size
        self.connection = connection
        board = Board(limits: limits)
    }

    /// Takes in what a reader of the feed got at the local time `now`; false when that was the last there is.
    package mutating func apply(_ delivery: Delivery, now: Timestamp) -> Bool {
        var goesOn = true
        var splitter = LineSplitter()
        switch delivery {
        case .lines(let span): span.withUnsafeBytes { splitter.push(Array($0)[...]) }
        case .gap(let line), .greeting(let line): splitter.push(line[...])
        case .interrupted: break
        case .end(let line):
            splitter.push(line[...])
            goesOn = false
        }
        while case .line(let line)? = splitter.next() {
            // The store's own lines, or another agent's, which were checked when they came in.
            if let decoded = try? LineDecoder.decode(line) { apply(decoded, now: now) }
        }
        if case .waiting = connection, !board.series.isEmpty { connection = .open }
        return goesOn
    }

    /// Takes in one line of the feed, which came at the local time `now`.
    package mutating func apply(_ line: Line, now: Timestamp) {
        let runChanges = board.runChanges
        runs.take(line)
        board.apply(line)
        if board.runChanges != runChanges { forgetSeries() }
        note(line, now)
        if paused == nil, past != nil {
            let time = agentTime(now)
            past?.take(live: line, at: time)
        }
    }

    /// The time of a data line is its event's, and that of another agent's hello says what no old line can.
    private mutating func note(_ line: Line, _ now: Timestamp) {
        switch line.body {
        case .hello:
            agentClock = AgentClock()
            agentClock.note(line.time, local: now)
        case .data where agentClock.isKnown: break
        default: agentClock.note(line.time, local: now)
        }
    }

    /// Another run has other series: what was chosen among the old ones is gone.
    private mutating func forgetSeries() {
        paused = nil
        past = nil
        state.selected = nil
        state.scrub = nil
        state.detailTop = 0
        state.feedBack = 0
        fields = (-1, [])
    }

    package mutating func resize(_ size: ScreenSize) { self.size = size }

    /// Says until the next key why something is not done.
    package mutating func show(notice: String) { state.notice = Sanitizer.visible(notice, limit: 200) }

    /// What is shown: the board as it was, while paused.
    private var shown: Board { paused?.board ?? board }

    /// The agent's time, which goes on by the local clock while the agent says nothing.
    private func agentTime(_ now: Timestamp) -> Timestamp { agentClock.time(now) }

    /// The screen at the local time `now`.
    package mutating func frame(now: Timestamp) -> CellGrid {
        let live = agentTime(now)
        let board = shown
        order.update(board, key: state.sort, filter: state.screen == .feed ? "" : state.filter)
        if let selected = state.selected, !board.series.indices.contains(selected) { state.selected = nil }
        if state.selected == nil, state.screen == .detail { state.selected = order.rows.first.map { Int($0) } }
        // What the filter hides cannot be chosen.
        if let selected = state.selected, state.screen == .list, !order.rows.contains(Int32(selected)) {
            state.selected = nil
        }
        let series = state.selected.map { board.series[$0] }
        if state.screen == .detail, let event = series?.event, fields.sequence != event.sequence {
            let found = event.data.map { EventFields.read($0) } ?? []
            fields = (event.sequence, EventFields.rows(found, besides: event.text))
        }
        lookBack(at: series, paused?.agentTime ?? live)
        if state.screen != .metrics || board.agents.isEmpty && board.refusedAgents == 0 {
            fleet = nil
        } else if fleet?.isGood(for: board, filter: state.filter, at: now) != true {
            fleet = AgentTable(board, filter: state.filter, at: now)
        }
        var painter = Painter(
            grid: CellGrid(size), board: board, state: state, theme: theme, rows: order.rows, fleet: fleet,
            past: past, runs: paused?.runs ?? runs, connection: connection, owner: owner, playback: playback,
            agentNow: paused?.agentTime ?? live,
            localNow: now,
            utcOffset: utcOffset, hasKeys: hasKeys,
            newSince: paused.map { self.board.lastSequence - $0.board.lastSequence },
            fields: series?.event == nil ? [] : fields.rows)
        painter.paint()
        // Where the painter had to move the view so that what is chosen can be seen.
        state.listTop = painter.state.listTop
        state.detailTop = painter.state.detailTop
        state.metricsTop = painter.state.metricsTop
        state.feedBack = painter.state.feedBack
        return painter.grid
    }

    // MARK: The journal

    /// Whether there is a graph of a series, and not a table of what it calculates.
    private func hasGraph(_ series: BoardSeries) -> Bool {
        series.newest != nil
            && (series.kind == .latency || (paused?.runs ?? runs).sources[series.source]?.pairs.isEmpty != false)
    }

    /// Begins anew with what was before where another series is shown, or another time of it.
    private mutating func lookBack(at series: BoardSeries?, _ agentNow: Timestamp) {
        guard state.screen == .detail, let span = state.reach, let series, hasGraph(series),
            let index = shown.series(named: series.name)
        else {
            past = nil
            return
        }
        if past?.isOf(series.name, span) == true { return }
        pastCount += 1
        past = PastSeries(of: index, on: shown, over: span, at: agentNow, number: pastCount)
    }

    /// What is to be read next for the graph, and by which number it comes; nil when there is nothing.
    package mutating func beginReading() -> (number: Int, request: PastRequest)? {
        guard let past, let request = past.request else { return nil }
        self.past?.begin()
        return (past.number, request)
    }

    /// Takes in a piece of what is read; false when nothing more of it is wanted.
    package mutating func read(_ bytes: [UInt8], of number: Int) -> Bool {
        guard past?.number == number else { return false }
        return past?.read(bytes) == true
    }

    /// What was read has come to its end, or failed for a reason in words.
    package mutating func endReading(of number: Int, failure: String? = nil) {
        if past?.number == number { past?.end(failure: failure) }
    }

    // MARK: Keys

    /// What a key does at the local time `now`; the frame after it shows it.
    package mutating func handle(_ key: Key, now: Timestamp) -> Action? {
        state.notice = nil
        switch key {
        case .control("c"): return .quit
        case .control("z"): return .suspend
        case .control("l"): return .redraw
        default: break
        }
        if state.prompt != nil { return type(key) }
        if state.showsHelp {
            if key == .character("q") { return .quit }
            state.showsHelp = false
            return nil
        }
        switch key {
        case .character(let scalar): return command(scalar, now: now)
        case .tab: show(screen(1))
        case .backTab: show(screen(-1))
        case .enter: enter()
        case .escape, .backspace: goBack()
        case .up: move(-1)
        case .down: move(1)
        case .left: turn(-1)
        case .right: turn(1)
        case .pageUp: move(-page)
        case .pageDown: move(page)
        case .home: move(.min)
        case .end: move(.max)
        case .mouse(let mouse): point(mouse)
        case .function(1): state.showsHelp = true
        default: break
        }
        return nil
    }

    private mutating func command(_ scalar: Unicode.Scalar, now: Timestamp) -> Action? {
        switch scalar {
        case "q": return .quit
        case "r": return .poll(source: state.screen == .detail ? chosen?.source : nil)
        case "1", "2", "3", "4":
            // The digits are those of the cases.
            if let screen = ViewState.Screen(rawValue: Int(scalar.value) - 0x30) { show(screen) }
        case "?": state.showsHelp = true
        case " " where playback != nil: return .play(.pause)
        case ">" where playback != nil: return .play(.faster)
        case "<" where playback != nil: return .play(.slower)
        case "." where playback != nil: return .play(.next)
        case " ": togglePause(now: now)
        case "k": move(-1)
        case "j": move(1)
        case "h": turn(-1)
        case "l": turn(1)
        case "g": move(.min)
        case "G": move(.max)
        case "+", "=": changeWidth(1)
        case "-", "_": changeWidth(-1)
        case "[": changeSpan(-1)
        case "]": changeSpan(1)
        case "L": state.isLog.toggle()
        case "y": state.range = state.range == nil ? visibleRange : nil
        case "s": state.sort = state.sort.next
        case "/": state.prompt = .filter(state.filter)
        case "f": if state.screen == .feed { changeFeedType() }
        case "n": if calculator != nil { state.prompt = .number("") }
        case "S": if !runs.sources.isEmpty { state.showsRuns.toggle() }
        default: break
        }
        return nil
    }

    // MARK: Typing

    private mutating func type(_ key: Key) -> Action? {
        switch key {
        case .character(let scalar): append(String(Character(scalar)))
        case .paste(let text): append(text)
        case .backspace:
            switch state.prompt {
            case .filter(let text): setFilter(String(text.dropLast()))
            case .number(let text): state.prompt = .number(String(text.dropLast()))
            case nil: break
            }
        case .escape:
            if case .filter = state.prompt { setFilter("") }
            state.prompt = nil
        case .enter:
            let prompt = state.prompt
            state.prompt = nil
            if case .number(let text) = prompt, let n = Int(text), let source = calculator {
                return .calculate(source: source, n: n)
            }
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
        case .number(let old):
            let digits = (old + text).unicodeScalars.filter { 0x30...0x39 ~= $0.value }
            let most = String(PollRequest.mostN).utf8.count
            state.prompt = .number(String(String.UnicodeScalarView(digits.prefix(most))))
        case nil: break
        }
    }

    private mutating func setFilter(_ text: String) {
        state.prompt = .filter(text)
        state.filter = text
        state.listTop = 0
        state.metricsTop = 0
        state.feedBack = 0
        if state.screen == .list { state.selected = nil }
    }

    // MARK: Going about

    private func screen(_ step: Int) -> ViewState.Screen {
        let all = ViewState.Screen.allCases
        return all[(state.screen.rawValue - 1 + step + all.count) % all.count]
    }

    private mutating func show(_ screen: ViewState.Screen) {
        if screen != .detail { stayHere() }
        state.screen = screen
        state.showsRuns = false
    }

    private mutating func enter() {
        switch state.screen {
        case .list:
            if state.selected == nil { state.selected = order.rows.first.map { Int($0) } }
            state.scrub = nil
            state.detailTop = 0
            if state.selected != nil { show(.detail) }
        case .feed: state.feedBack = 0
        case .detail, .metrics: break
        }
    }

    private mutating func goBack() {
        if state.showsRuns {
            state.showsRuns = false
        } else if state.screen == .detail, state.scrub != nil {
            state.scrub = nil
        } else if state.reach != nil {
            stayHere()
        } else if state.screen == .list || state.screen == .feed || !shown.agents.isEmpty,
            !state.filter.isEmpty || state.feedType != nil
        {
            state.filter = ""
            state.feedType = nil
        } else if state.screen != .list {
            show(.list)
        }
    }

    /// How many rows a page has.
    private var page: Int { max(1, size.rows - 5) }

    private mutating func move(_ step: Int) {
        switch state.screen {
        case .list:
            choose(step)
        case .detail where step == 1 || step == -1:
            choose(step)
            state.scrub = nil
            state.detailTop = 0
        case .detail: state.detailTop = Self.limited(state.detailTop, step)
        case .metrics: state.metricsTop = Self.limited(state.metricsTop, step)
        case .feed: state.feedBack = Self.limited(state.feedBack, step == .min ? .max : -step)
        }
    }

    private mutating func choose(_ step: Int) {
        guard !order.rows.isEmpty else { return }
        let place = state.selected.flatMap { chosen in order.rows.firstIndex { Int($0) == chosen } }
        // Nothing chosen is the topmost.
        let target = Self.limited(place ?? 0, step)
        state.selected = Int(order.rows[min(target, order.rows.count - 1)])
    }

    /// The painter limits the other end.
    private static func limited(_ place: Int, _ step: Int) -> Int {
        let (sum, overflow) = place.addingReportingOverflow(step)
        return overflow ? (step < 0 ? 0 : 1_000_000) : min(max(sum, 0), 1_000_000)
    }

    private mutating func turn(_ step: Int) {
        switch state.screen {
        case .list: if step > 0 { enter() }
        case .detail:
            // From no cursor, the first step to the left puts it at the right end.
            let next = state.scrub.map { $0 - step } ?? (step < 0 ? 0 : -1)
            state.scrub = next < 0 ? nil : min(next, 2_000)
        case .metrics, .feed: break
        }
    }

    private mutating func point(_ mouse: Key.Mouse) {
        switch mouse.kind {
        case .wheelUp: for _ in 0..<3 { move(state.screen == .detail ? -2 : -1) }
        case .wheelDown: for _ in 0..<3 { move(state.screen == .detail ? 2 : 1) }
        case .press:
            guard state.screen == .list, let first = Painter.firstListRow(size), mouse.row >= first else { return }
            let place = state.listTop + mouse.row - first
            guard order.rows.indices.contains(place) else { return }
            let index = Int(order.rows[place])
            if state.selected == index { enter() } else { state.selected = index }
        }
    }

    // MARK: Choosing what is shown

    private mutating func togglePause(now: Timestamp) {
        if paused == nil {
            paused = Paused(board: board, runs: runs, agentTime: agentTime(now))
        } else {
            paused = nil
            // It has nothing of what came meanwhile.
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
        if state.screen == .detail, state.span == nil, changeReach(step, beyond: all) { return }
        let current = state.span ?? all
        let next = step > 0 ? ViewState.spans.first { $0 > current } ?? all : ViewState.spans.last { $0 < current }
        if let next { state.span = next >= all ? nil : next }
        state.scrub = nil
    }

    /// Goes on from the history to a longer time, or back to a shorter one; false where that is not to be done.
    private mutating func changeReach(_ step: Int, beyond history: Duration) -> Bool {
        let spans = PastSeries.spans.filter { $0.duration > history }
        let current = state.reach?.duration ?? history
        guard chosen.map({ hasGraph($0) }) != false, state.reach != nil || (step > 0 && hasJournal) else {
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

    /// Shows what the board has, and no more.
    private mutating func stayHere() {
        (state.reach, past) = (nil, nil)
        if state.screen == .detail { state.scrub = nil }
    }

    private mutating func changeFeedType() {
        var types: [String] = []
        for line in shown.lines where !types.contains(line.type) { types.append(line.type) }
        types.sort()
        let place = state.feedType.flatMap { types.firstIndex(of: $0) } ?? -1
        state.feedType = place + 1 < types.count ? types[place + 1] : nil
        state.feedBack = 0
    }

    /// The chosen series; the topmost when none was chosen.
    private var chosen: BoardSeries? {
        guard let index = state.selected ?? order.rows.first.map({ Int($0) }), shown.series.indices.contains(index)
        else { return nil }
        return shown.series[index]
    }

    /// The source that `n` is a question to.
    private var calculator: String? {
        chosen.map(\.source).flatMap {
            runs.sources[$0] != nil || shown.describedSource($0)?.takesN == true ? $0 : nil
        }
    }

    /// Over what the chosen series' values reach, in round numbers.
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
    /// What is known of a source.
    func describedSource(_ name: String) -> BoardSource? { source(named: name).map { sources[$0] } }

    /// How wide the agent's windows are.
    var interval: Duration { hello.map { $0.interval > .zero ? $0.interval : .seconds(10) } ?? .seconds(10) }

    /// How much of the past the agent keeps.
    var history: Duration { hello.map { $0.history > .zero ? $0.history : .seconds(120) } ?? .seconds(120) }
}
