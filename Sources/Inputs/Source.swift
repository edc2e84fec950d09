package import Feed
package import Nats

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
    /// Whether the number of items in each complete answer is a series.
    package var countsItems = false

    package init(
        _ description: SourceDescription, request: HTTPRequest, every: Duration, extraction: Extraction = Extraction()
    ) {
        self.description = description
        self.request = request
        self.every = every
        self.extraction = extraction
    }
}

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
    /// Whether the number of items in each complete listing is a series.
    package var countsItems = false

    package init(
        _ description: SourceDescription, request: HTTPRequest, paging: Paging, extraction: Extraction
    ) {
        self.description = description
        self.request = request
        self.paging = paging
        self.extraction = extraction
    }
}

/// A WebSocket with JSON messages as a source.
package struct WebSocketSource: Sendable, Equatable {
    package var description: SourceDescription
    /// `ws` or `wss`; its headers, credentials, certificates and deadline apply to the handshake, and `maxBody` to one
    /// message.
    package var request: HTTPRequest
    /// Offered in this order (RFC 6455 section 11.3.4).
    package var subprotocols: [String] = []
    /// A text message to send after the handshake.
    package var subscribe: String?
    /// The time between pings.
    package var pingEvery: Duration = .seconds(20)
    /// The longest time from a ping to a pong, or anything else.
    package var pingTimeout: Duration = .seconds(10)
    /// The longest pause after failures; nil for 30 s.
    package var retryMost: Duration?
    package var extraction: Extraction

    package init(_ description: SourceDescription, request: HTTPRequest, extraction: Extraction = Extraction()) {
        self.description = description
        self.request = request
        self.extraction = extraction
    }
}

/// Standard input, or a file that is read like it, as a source: one JSON document or bare number per line.
package struct StdinSource: Sendable, Equatable {
    package var description: SourceDescription
    /// The file; nil for standard input.
    package var path: String?
    // Bound: a line of standard input or a file | 1 MiB (`max_line`); between lines 128 KiB | skipped, counted,
    //   reported once a second
    /// The longest line that is read, in bytes.
    package var maxLine = 1 << 20
    package var extraction: Extraction

    package init(_ description: SourceDescription, extraction: Extraction = Extraction()) {
        self.description = description
        self.extraction = extraction
    }
}

/// The Fibonacci numbers as a source: how long this machine takes to compute them.
package struct FibonacciSource: Sendable, Equatable {
    /// Which lines a run publishes.
    package enum Emission: String, Sendable, CaseIterable {
        /// One line with the time it took.
        case summary
        /// One line for every number, and the summary.
        case pairs
    }

    package var description: SourceDescription
    /// The last number of a run, 0 to `PollRequest.mostN`.
    package var n: Int
    /// The time between runs; nil for one run at the start and then only on request.
    package var every: Duration?
    package var emission: Emission = .summary

    package init(_ description: SourceDescription, n: Int, every: Duration? = nil) {
        self.description = description
        self.n = n
        self.every = every
    }
}

/// Another agent whose feed is a source here.
package struct FeedSource: Sendable, Equatable {
    /// The address of the feed.
    package enum Place: Sendable, Equatable {
        /// A Unix socket; nil for the default path.
        case socket(path: String?)
        /// `/feed` over HTTP below this URL, with its headers, certificates and deadline.
        case http(HTTPRequest)
    }

    /// The agent's name in this fleet, whatever it calls itself.
    package let name: String
    package var place: Place
    /// The address to show, without secrets.
    package var target: String

    package init(_ name: String, at place: Place, target: String) {
        (self.name, self.place, self.target) = (name, place, target)
    }

    /// The description of the source that stands for the agent itself.
    package var description: SourceDescription { SourceDescription(agent: name) }
}

/// A stream that many agents publish to; the last token of a subject is the agent's name.
package struct NatsSource: Sendable, Equatable {
    /// The description of the source that stands for the stream itself.
    package let description: SourceDescription
    package var servers: NatsServers
    package var stream: String
    /// The subjects to read; mostly a pattern.
    package var subject: String
    /// The address to show.
    package var target: String

    package init(
        _ name: String, at servers: NatsServers, stream: String, subject: String = NatsSubject.all, target: String
    ) {
        description = SourceDescription(name: name)
        self.servers = servers
        self.stream = stream
        self.subject = subject
        self.target = target
    }
}
