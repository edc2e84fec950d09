package import Feed

/// Standard input as a feed, or a file that is read like it: a JSON document or a bare number a line.
package struct StdinSource: Sendable, Equatable {
    package var description: SourceDescription
    /// The file; nil for standard input.
    package var path: String?
    /// The longest line taken, in bytes.
    package var maxLine = 1 << 20
    package var extraction: Extraction

    package init(_ description: SourceDescription, extraction: Extraction = Extraction()) {
        self.description = description
        self.extraction = extraction
    }
}
