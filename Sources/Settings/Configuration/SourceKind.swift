/// The kinds of sources, as a configuration names them.
package enum SourceKind: String, Sendable, CaseIterable {
    case http, pages, websocket, stdin, file, fibonacci

    /// Those that have a URL.
    static let remote: [SourceKind] = [.http, .pages, .websocket]
    /// Those whose documents are taken apart.
    static let documents: [SourceKind] = [.http, .pages, .websocket, .stdin, .file]
}
