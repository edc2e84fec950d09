internal import Feed
internal import Reactor

/// Paints one frame from its stored properties. Its only results are the grid and the corrected scroll positions in
/// `state`.
struct Painter {
    /// Text in one style.
    typealias Piece = (text: String, style: Style)

    var grid: CellGrid
    let board: Board
    var state: ViewState
    let theme = Theme()
    let order: ListOrder
    /// The position of the chosen row in the list.
    let chosen: Int?
    /// The table of agents; nil without any.
    let fleet: AgentTable?
    /// The series over a longer time in the graph; nil to show the board's values.
    let past: PastSeries?
    let connection: TerminalView.Connection
    let owner: String?
    let playback: TerminalView.Playback?
    /// The agent's time; frozen while paused.
    let agentNow: Timestamp
    let localNow: Timestamp
    let utcOffset: Int
    /// Whether a person can press keys.
    let hasKeys: Bool
    /// The number of lines since the view was paused; nil when it is not.
    let newSince: Int?
    /// The fields of the chosen series' newest event.
    let fields: [EventFields.Row]

    // MARK: The frame

    /// The use of the screen's rows, depending on their number.
    struct Chrome {
        let status: Int?
        let hints: Int?
        let body: Range<Int>

        init(_ size: ScreenSize, hasKeys: Bool = true) {
            status = size.rows >= 10 ? 1 : nil
            hints = hasKeys && size.rows >= 8 ? size.rows - 1 : nil
            body = (size.rows >= 10 ? 2 : 1)..<max(hints ?? size.rows, 1)
        }
    }

    mutating func paint() {
        let chrome = Chrome(grid.size, hasKeys: hasKeys)
        guard grid.rows > 1 else {
            paintOneLine()
            return
        }
        paintHeader(hasStatus: chrome.status != nil)
        if let row = chrome.status { paintStatus(row) }
        if state.showsHelp {
            paintHelp(chrome.body)
        } else if isWaitingShown {
            paintWaiting(chrome.body)
        } else {
            switch state.screen {
            case .list: paintList(chrome.body)
            case .detail: paintDetail(chrome.body)
            case .metrics: paintMetrics(chrome.body)
            case .feed: paintFeed(chrome.body)
            }
        }
        if state.prompt != nil {
            paintPrompt(grid.rows - 1)
        } else if let row = chrome.hints {
            paintHints(row)
        }
    }

    // MARK: Text

    /// Puts pieces one after the other; returns the number of columns used.
    @discardableResult
    mutating func put(_ pieces: [Piece], row: Int, column: Int, width: Int = .max) -> Int {
        let end = column + min(width, max(0, grid.columns - column))
        var place = column
        for piece in pieces where place < end {
            place += grid.put(piece.text, row: row, column: place, style: piece.style, width: end - place)
        }
        return place - column
    }

    @discardableResult
    mutating func put(_ text: String, _ style: Style, row: Int, column: Int, width: Int = .max) -> Int {
        put([(text, style)], row: row, column: column, width: width)
    }

    /// Puts text so that it ends before column `end`.
    mutating func put(_ text: String, row: Int, endingAt end: Int, style: Style, width: Int) {
        let columns = min(text.columns, width)
        grid.put(text, row: row, column: max(end - columns, 0), style: style, width: columns)
    }

    /// Puts text so that it ends before column `end`, and moves `end` to the left of it, with room for two blanks.
    mutating func put(_ text: String, _ style: Style, row: Int, before end: inout Int, width: Int) {
        put(text, row: row, endingAt: end, style: style, width: width)
        end -= text.columns + 2
    }

    static func columns(_ pieces: [Piece]) -> Int { pieces.reduce(0) { $0 + $1.text.columns } }

    // MARK: What is known of a series

    /// The width of the windows on the screen, in microseconds.
    var width: Int64 { max((state.width ?? board.interval).microseconds, 1) }

    /// The length of the past on the screen.
    var span: Duration { state.span ?? board.history }

    /// The number of windows on the screen, including the current one; at most 4,000.
    var windowCount: Int {
        let (quotient, remainder) = max(span.microseconds, 1).quotientAndRemainder(dividingBy: width)
        return Int(min(quotient + (remainder > 0 ? 1 : 0) + 1, 4_000))
    }

    /// The windows of a series that fit on the screen.
    struct Extent {
        /// In microseconds.
        let width: Int64
        /// The index of the current window since the epoch.
        let last: Int64
        /// The start of the first window.
        let start: Timestamp
    }

    /// Those of a source with a longer rhythm are no narrower than that, and go back as far as the agent's.
    func extent(of series: BoardSeries) -> Extent {
        var (width, count) = (width, windowCount)
        if series.span.width > board.interval {
            let least = series.span.width.microseconds
            width = (max(width, least) + least - 1) / least * least
            count = Int((series.span.history.microseconds + width - 1) / width) + 1
        }
        let last = Window.index(of: agentNow, width: width)
        let start = Window.start(of: last.subtractingSaturated(Int64(count) - 1), width: width)
        return Extent(width: width, last: last, start: start)
    }

    func unit(_ series: BoardSeries) -> String? { board.describedSource(series.source)?.unit }

    /// The bands of the source's own values; latencies and memory have none.
    func bands(_ series: BoardSeries) -> BandScale? {
        series.kind == .data ? board.describedSource(series.source)?.bands : nil
    }

    /// The time since an event; never negative.
    func age(_ time: Timestamp) -> Duration { max(.zero, agentNow - time) }

    /// Whether nothing new has come for longer than expected.
    func isStale(_ series: BoardSeries) -> Bool {
        series.newestTime.map { isStale($0, of: board.describedSource(series.source)) } ?? false
    }

    func isStale(_ time: Timestamp, of source: BoardSource?) -> Bool {
        source.isStale(time, at: agentNow, window: .microseconds(width))
    }

    /// The windows of a series that are on the screen.
    func windows(_ series: Int) -> [BoardWindow] {
        let extent = extent(of: board.series[series])
        return board.windows(
            of: series, width: .microseconds(extent.width), over: extent.start..<Timestamp(microseconds: .max))
    }

    /// What is shown of a series, as text and styles.
    struct SeriesLook {
        let series: BoardSeries
        /// Those on the screen, ascending.
        var windows: [BoardWindow] = []
        /// The newest value, or the word that it stands for.
        var quantity: Quantity?
        /// The letter of its band.
        var letter: String?
        /// The letter of its band as a badge; with the one before, `M→P`, where that is another.
        var badge: [Piece] = []
        var name = ""
        var style = Style.plain
        var arrow: (glyph: Unicode.Scalar, style: Style)?
        /// The change of the number, or how long there has been this word.
        var change = ""
        /// When it went, if it did.
        var gone = ""
        var age = ""
        /// The period of a source with a longer rhythm than the agent's windows.
        var rhythm = ""
        var isStale = false
        var isBelowHeading = false
        /// What it says of its worst alert; nil while none fires.
        var alert: AlertRow?
    }

    /// What a row of the list shows, here, on a screen of one row, and in text.
    enum RowLook {
        case source(SourceRow, isFolded: Bool?)
        case alert(AlertRow)
        /// `mark` is there where the row is its source's heading as well.
        case series(SeriesLook, mark: SourceRow.Mark?)
    }

    func look(of row: ListRow) -> RowLook {
        switch row {
        case .alert(let number):
            guard let alert = board.alerts[number] else { return .source(SourceRow(name: "", text: ""), isFolded: nil) }
            return .alert(AlertRow(alert, at: agentNow, offset: utcOffset))
        case .trouble(let source): return .source(trouble(of: board.sources[source]), isFolded: nil)
        case .heading(let index):
            let group = order.groups[index]
            let source = group.source.map { board.sources[$0] }
            let heading = SourceRow(heading: group, of: source, at: agentNow, window: board.interval)
            return .source(heading, isFolded: group.isFolded && state.filter.isEmpty)
        case .series(let index):
            let source = order.isHeading(index) ? board.describedSource(board.series[index].source) : nil
            return .series(
                look(at: index),
                mark: source.map { SourceRow.Mark($0, at: agentNow, window: board.interval) })
        }
    }

    func style(_ severity: AlertRow.Severity) -> Style {
        switch severity {
        case .critical: theme.bad.with(.bold)
        case .unknown: theme.bad
        case .warning: theme.warning
        case .info: theme.accent
        }
    }

    /// How many alerts fire; nil when none does.
    var firing: Piece? {
        guard let worst = order.worst else { return nil }
        return ("\(worst.mark) \(AlertRow.count(board.alerts))", style(worst).with(.bold))
    }

    func trouble(of source: BoardSource) -> SourceRow {
        SourceRow(trouble: source, at: agentNow, window: board.interval, offset: utcOffset)
    }

    /// Nothing is green while the agent is lost.
    func style(_ mark: SourceRow.Mark) -> Style {
        switch mark {
        case .ok: isLost ? theme.warning : theme.good
        case .late: theme.warning
        case .failing: theme.bad
        case .starting: theme.muted
        }
    }

    func look(at index: Int) -> SeriesLook {
        let series = board.series[index]
        var look = SeriesLook(series: series, isStale: isStale(series))
        if let time = series.newestTime { look.age = NumberText.age(age(time)) }
        look.isBelowHeading = order.isBelowHeading(index)
        look.alert = board.alertsByWorst(about: series.name).first.map { first, more in
            AlertRow(first, more: more, at: agentNow, offset: utcOffset)
        }
        if series.span.width > board.interval, !look.isBelowHeading {
            look.rhythm = NumberText.span(series.span.width)
        }
        if series.newest != nil { look.windows = windows(index) }
        let standing = Standing(series, bands(series), look.windows, width: extent(of: series).width)
        (look.letter, look.name) = (standing.letter, standing.name)
        if let place = standing.band, let scale = bands(series) {
            let band = scale.bands[place]
            look.style = theme.band(band)
            look.badge = [(" \(band.letter) ", theme.badge(band))]
            if let former = standing.former.map({ scale.bands[$0] }) {
                let letters = [(String(former.letter), theme.badge(former)), (String(band.letter), theme.badge(band))]
                // Wide letters leave no room for two.
                if letters.allSatisfy({ $0.0.columns == 1 }) {
                    look.badge = [letters[0], ("→", theme.course(standing.course)), letters[1]]
                }
            }
        } else if let letter = standing.letter {
            look.badge = [(" \(letter) ", theme.title)]
        }
        if let direction = standing.direction {
            look.arrow = (direction == .up ? "↑" : "↓", theme.course(standing.course))
        }
        look.gone = standing.gone(at: agentNow, offset: utcOffset)
        look.isStale = look.isStale || !look.gone.isEmpty
        if let word = standing.word {
            look.quantity = Quantity(word: word)
            look.change = standing.held(at: agentNow)
            if look.name == word { look.name = "" }
        } else if let newest = series.newest {
            let quantity = Quantity(newest.value, series.kind, unit: unit(series))
            look.quantity = quantity
            look.change = standing.changeText(quantity, series.kind, unit: unit(series))
        }
        return look
    }
}
