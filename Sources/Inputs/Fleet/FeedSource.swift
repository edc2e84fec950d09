package import Feed

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
