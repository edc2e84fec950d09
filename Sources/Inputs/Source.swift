package import Feed

/// A source of any kind, ready to start: validated, its secrets read. Equal ones are interchangeable.
package enum Source: Sendable, Equatable {
    case http(HTTPSource)
    case pages(PagesSource)
    case webSocket(WebSocketSource)
    case stdin(StdinSource)
    case fibonacci(FibonacciSource)
    /// Another agent.
    case feed(FeedSource)
    /// A NATS stream with many agents.
    case nats(NatsSource)

    package var description: SourceDescription {
        switch self {
        case .http(let source): source.description
        case .pages(let source): source.description
        case .webSocket(let source): source.description
        case .stdin(let source): source.description
        case .fibonacci(let source): source.description
        case .feed(let source): source.description
        case .nats(let source): source.description
        }
    }
}
