package import Feed
package import Reactor

/// Everything a terminal shows, without a terminal: lines, keys and the time go in, grids come out.
///
/// Pure: no clock and no I/O. `frame` depends on nothing but what was applied before and its arguments.
package struct TerminalView: Sendable {
    /// How the feed that is shown comes here.
    package enum Connection: Sendable, Equatable {
        /// No value has come yet; since when it is tried, and whom: a host, a path. A session ends it with the first series.
        case waiting(target: String, since: Timestamp)
        case open
        /// The agent is gone: why, since when, and when the next try comes.
        case lost(reason: String, since: Timestamp, retryAt: Timestamp?)
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
    package internal(set) var size: ScreenSize
    /// By the local clock.
    package var connection: Connection
    package var theme = Theme()
    /// Whether there is somebody to press a key: what keys do, and what they have chosen, is only then shown.
    package var hasKeys = true
    /// How many seconds local time is ahead of UTC.
    package var utcOffset = 0

    private(set) var runs = FibonacciRuns()
    var paused: Paused?
    var order = ListOrder()
    /// The newest event's rows, and of which event they are.
    private var fields: (sequence: Int, rows: [EventFields.Row]) = (-1, [])
    private var agentClock = AgentClock()

    package init(size: ScreenSize, connection: Connection, limits: Board.Limits = Board.Limits()) {
        self.size = size
        self.connection = connection
        board = Board(limits: limits)
    }

    package var isPaused: Bool { paused != nil }

    /// Takes in one line of the feed, which came at the local time `now`.
    package mutating func apply(_ line: Line, now: Timestamp) {
        let runChanges = board.runChanges
        runs.take(line)
        board.apply(line)
        if board.runChanges != runChanges { forgetSeries() }
        note(line, now)
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
        state.selected = nil
        state.scrub = nil
        state.detailTop = 0
        state.feedBack = 0
        fields = (-1, [])
    }

    package mutating func resize(_ size: ScreenSize) { self.size = size }

    /// What is shown: the board as it was, while paused.
    var shown: Board { paused?.board ?? board }

    /// The agent's time, which goes on by the local clock while the agent says nothing.
    func agentTime(_ now: Timestamp) -> Timestamp {
        agentClock.time(now)
    }

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
        var painter = Painter(
            grid: CellGrid(size), board: board, state: state, theme: theme, rows: order.rows,
            runs: paused?.runs ?? runs, connection: connection, agentNow: paused?.agentTime ?? live, localNow: now,
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
}
