/// The kinds of sources, as a configuration names them.
package enum SourceKind: String, Sendable, CaseIterable {
    case http, pages, websocket, stdin, file, fibonacci, feed

    /// Those that have a URL.
    static let remote: [SourceKind] = asked + [.feed]
    /// Those whose documents come from a URL.
    static let asked: [SourceKind] = [.http, .pages, .websocket]
    /// Those that say something themselves: all but other agents.
    static let own: [SourceKind] = allCases.filter { $0 != .feed }
    /// Those whose documents are taken apart.
    static let documents: [SourceKind] = [.http, .pages, .websocket, .stdin, .file]
}

extension SourceKind {
    /// What a URL of this scheme is taken for when nobody says more.
    init(of scheme: FeedURL.Scheme?) {
        switch scheme {
        case .unix, .nats, .tls: self = .feed
        case .ws, .wss: self = .websocket
        case .http, .https, nil: self = .http
        }
    }
}
