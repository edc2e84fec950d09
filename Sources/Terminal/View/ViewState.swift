internal import Feed

/// What a person has chosen to see, and how; changed by keys only.
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
        /// Digits only.
        case number(String)
    }

    package internal(set) var screen = Screen.list
    package internal(set) var prompt: Prompt?
    package internal(set) var showsHelp = false
    /// Why what was asked for last is not done; until the next key.
    package internal(set) var notice: String?
    /// Whether the summary of all Fibonacci runs is open.
    package internal(set) var showsRuns = false

    var sort = ListOrder.Key.name
    /// What names in the list hold, and lines in the feed.
    package internal(set) var filter = ""
    /// The index of the chosen series; nil for the topmost.
    package internal(set) var selected: Int?
    /// Which row of the list is topmost on the screen.
    var listTop = 0

    /// How wide windows are; nil for the agent's own.
    package internal(set) var width: Duration?
    /// How much of the history is shown; nil for all.
    package internal(set) var span: Duration?
    /// How much more than the history Detail's graph shows, out of the journal; nil for no more.
    package internal(set) var reach: PastSeries.Span?
    package internal(set) var isLog = false
    /// What the graph reaches over; nil for what its values need.
    package internal(set) var range: ClosedRange<Double>?
    /// How many dots of the graph from the right the cursor is; nil for no cursor.
    package internal(set) var scrub: Int?
    /// How many of the event's rows, or of a table's, are above the screen.
    var detailTop = 0
    var metricsTop = 0
    /// How many lines are below the screen; 0 follows the newest.
    var feedBack = 0
    /// The one type of line that the feed shows; nil for all.
    package internal(set) var feedType: String?

    package static let widths: [Duration] = [1, 2, 5, 10, 30, 60].map { .seconds($0) }
    package static let spans: [Duration] = [10, 30, 60, 120, 300, 600, 1_800, 3_600].map { .seconds($0) }

    package init() {}
}

/// What a key asks for that the view cannot do itself.
package enum Action: Sendable, Equatable {
    case quit
    /// Give the terminal back and stop, as Ctrl-Z does.
    case suspend
    /// Write the whole screen again.
    case redraw
    /// Ask the sources to poll now; nil for all of them.
    case poll(source: String?)
    /// Run a Fibonacci source once, up to F(n).
    case calculate(source: String, n: Int)
    /// Play the recording back otherwise.
    case play(Playing)

    package enum Playing: Sendable, Equatable {
        /// Stand still, or go on.
        case pause
        case faster, slower
        /// Leap to the next line.
        case next
    }
}
