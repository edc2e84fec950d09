/// The kinds of sources, as a configuration names them.
package enum SourceKind: String, Sendable, CaseIterable {
    case http, pages, websocket, stdin, file, fibonacci, feed

    /// The kinds that have a URL.
    static let remote: [SourceKind] = asked + [.feed]
    /// The kinds that fetch documents from a URL.
    static let asked: [SourceKind] = [.http, .pages, .websocket]
    /// The kinds that produce data of their own: all but other agents.
    static let own: [SourceKind] = allCases.filter { $0 != .feed }
    /// The kinds whose documents events are extracted from.
    static let documents: [SourceKind] = [.http, .pages, .websocket, .stdin, .file]
}

extension SourceKind {
    /// The default kind for a URL of this scheme.
    init(of scheme: FeedURL.Scheme?) {
        switch scheme {
        case .unix, .nats, .tls: self = .feed
        case .ws, .wss: self = .websocket
        case .http, .https, nil: self = .http
        }
    }
}
