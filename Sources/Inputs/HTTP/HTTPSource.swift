package import Feed

/// A JSON document behind a URL as a source, with one value or many.
package struct HTTPSource: Sendable, Equatable {
    package var description: SourceDescription
    package var request: HTTPRequest
    /// The time between polls.
    package var every: Duration
    /// The default of `every`.
    package static let usualEvery = Duration.seconds(2)
    /// The longest pause after failures; nil for four periods, from 2 s to 30 s.
    package var retryMost: Duration?
    package var extraction: Extraction

    package init(
        _ description: SourceDescription, request: HTTPRequest, every: Duration, extraction: Extraction = Extraction()
    ) {
        self.description = description
        self.request = request
        self.every = every
        self.extraction = extraction
    }
}
