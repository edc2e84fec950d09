package import Feed

/// Standard input, or a file that is read like it, as a source: one JSON document or bare number per line.
package struct StdinSource: Sendable, Equatable {
    package var description: SourceDescription
    /// The file; nil for standard input.
    package var path: String?
    /// The longest line that is read, in bytes.
    package var maxLine = 1 << 20
    package var extraction: Extraction

    package init(_ description: SourceDescription, extraction: Extraction = Extraction()) {
        self.description = description
        self.extraction = extraction
    }
}
