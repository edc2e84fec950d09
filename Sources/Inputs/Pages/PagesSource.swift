package import Feed

/// A listing in pages as a source: all pages are read and then, if configured, read again.
package struct PagesSource: Sendable, Equatable {
    /// How one page leads to the next.
    package enum Paging: Sendable, Equatable {
        /// The page holds the next one's URL, absolute or relative; null or missing on the last page.
        case next(JSONPointer)
        /// The query parameter of this name counts pages, from `first`; the first empty page is behind the last.
        case counted(parameter: String, first: Int)
    }

    package var description: SourceDescription
    /// The request for the first page.
    package var request: HTTPRequest
    package var paging: Paging
    /// The number of items per page and the query parameter that requests it; nil for the server's default.
    package var batch: Int?
    package var batchParameter = "limit"
    /// The pointer to the number of all items, for `progress` lines; nil when the pages do not have it.
    package var total: JSONPointer?
    /// The time between the end of one page and the request for the next.
    package var pause: Duration = .zero
    /// The most pages of a run.
    package var mostPages = 1_000
    /// Whether the next page may have another origin than the first.
    package var followsOtherOrigins = false
    /// The time between runs; nil for one run.
    package var every: Duration?
    /// The default of `every`.
    package static let usualEvery = Duration.seconds(600)
    /// The longest pause after failures; nil for four periods, from 2 s to 30 s.
    package var retryMost: Duration?
    /// How to read a page; its `items` point to the page's items.
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
