package import Feed

/// A listing that comes in pages, as a feed that goes through all of them and then, perhaps, again.
package struct PagesSource: Sendable, Equatable {
    /// How one page leads to the next.
    package enum Paging: Sendable, Equatable {
        /// The page holds the next one's URL, absolute or relative; null or missing on the last page.
        case next(JSONPointer)
        /// The query's parameter of this name counts pages, from `first`; an empty page is behind the last.
        case counted(parameter: String, first: Int)
    }

    package var description: SourceDescription
    /// The first page's.
    package var request: HTTPRequest
    package var paging: Paging
    /// Items a page, and the query's parameter that asks for it; nil to take what comes.
    package var batch: Int?
    package var batchParameter = "limit"
    /// Where the number of all items is, for `progress` lines; nil when the pages do not say.
    package var total: JSONPointer?
    /// The time between the end of one page and the request for the next.
    package var pause: Duration = .zero
    /// At most so many pages a run.
    package var mostPages = 1_000
    /// Whether a next page may be of another origin than the first.
    package var followsOtherOrigins = false
    /// The time from run to run; nil for one run.
    package var every: Duration?
    /// `every` when nobody says otherwise.
    package static let usualEvery = Duration.seconds(600)
    /// The longest pause after failures; nil for four periods, from 2 s to 30 s.
    package var retryMost: Duration?
    /// Its `items` say where a page's items are.
    package var extraction: Extraction

    package init(
        _ description: SourceDescription, request: HTTPRequest, paging: Paging, extraction: Extraction
    ) {
        self.description = description
        self.request = request
        self.paging = paging
        self.extraction = extraction
    }
}
