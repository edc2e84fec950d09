internal import Feed
internal import Reactor

/// A person's choice of what to see; changed only by keys.
package struct ViewState: Sendable {
    package enum Screen: Int, Sendable, CaseIterable {
        case list = 1
        case detail, metrics, feed

        var name: String {
            switch self {
            case .list: "List"
            case .detail: "Detail"
            case .metrics: "Metrics"
            case .feed: "Feed"
            }
        }
    }

    /// Text that is being typed.
    package enum Prompt: Sendable, Equatable {
        case filter(String)
        case time(String)
    }

    package internal(set) var screen = Screen.list
    package internal(set) var prompt: Prompt?
    package internal(set) var showsHelp = false
    /// Why the last action failed; until the next key.
    package internal(set) var notice: String?

    var sort = ListOrder.Key.source
    /// Whether the series of a source are folded, by its name, where a person chose; see `ListOrder.Group`.
    // Bound: folded headings of a view | 1,000 | all forgotten
    private(set) var folds: [String: Bool] = [:]
    /// Parts of the names in the list, and of lines in the feed; see `ListFilter`.
    package internal(set) var filter = ""
    /// Whether the list shows only what fires.
    package internal(set) var showsFiringOnly = false
    /// The chosen row, in Detail always a series; nil for the topmost.
    var selected: ListRow?
    /// The topmost visible row of the list.
    var listTop = 0

    /// The width of the windows; nil for the agent's own.
    package internal(set) var width: Duration?
    /// The visible part of the history; nil for all.
    package internal(set) var span: Duration?
    /// The span that Detail's graph shows beyond the history, from the journal; nil for none.
    package internal(set) var reach: PastSeries.Span?
    package internal(set) var isLog = false
    /// The fixed value range of the graph; nil for that of its values.
    package internal(set) var range: ClosedRange<Double>?
    /// The cursor's distance from the right end of the graph, in dots; nil for no cursor.
    package internal(set) var scrub: Int? {
        didSet { if scrub == nil { scrubTime = nil } }
    }
    /// The time that the cursor stays at; nil when it stays at its distance.
    var scrubTime: Timestamp?
    /// The number of rows of the event, or of a table, above the screen.
    var detailTop = 0
    var metricsTop = 0
    /// The number of lines below the screen; 0 follows the newest.
    var feedBack = 0
    /// The only type of line, and the only source, that the feed shows; nil for all.
    package internal(set) var feedType: String?
    package internal(set) var feedSource: String?

    package static let widths: [Duration] = [1, 2, 5, 10, 30, 60].map { .seconds($0) }
    package static let spans: [Duration] = [10, 30, 60, 120, 300, 600, 1_800, 3_600].map { .seconds($0) }

    package init() {}

    /// The index of the chosen series; nil when the chosen row is none.
    var series: Int? {
        if case .series(let index) = selected { index } else { nil }
    }

    /// Folds or unfolds the group of this name.
    mutating func fold(_ group: String, _ isFolded: Bool) {
        if folds.count >= 1_000 { folds = [:] }
        folds[group] = isFolded
    }
}

/// An action of a key that the view cannot do itself.
package enum Action: Sendable, Equatable {
    case quit
    /// Restore the terminal and stop, as Ctrl-Z does.
    case suspend
    /// Write the whole screen again.
    case redraw
    /// Ask the sources to poll now; nil for all of them.
    case poll(source: String?)
    /// Change the replay.
    case play(Playing)

    package enum Playing: Sendable, Equatable {
        /// Pause or resume.
        case pause
        case faster, slower
        /// Jump to the next line.
        case next
    }
}
