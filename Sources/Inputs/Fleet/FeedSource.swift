package import Feed

/// Another agent, whose feed is a source here.
package struct FeedSource: Sendable, Equatable {
    /// Where its feed is.
    package enum Place: Sendable, Equatable {
        /// A Unix socket; nil for the usual one.
        case socket(path: String?)
        /// Its `/feed` by HTTP: below this URL, with its headers, certificates and deadline.
        case http(HTTPRequest)
    }

    /// What it is called here, whatever it calls itself.
    package let name: String
    package var place: Place
    /// For a person: without secrets.
    package var target: String

    package init(_ name: String, at place: Place, target: String) {
        (self.name, self.place, self.target) = (name, place, target)
    }

    /// Of the source that the agent is itself.
    package var description: SourceDescription { SourceDescription(agent: name) }
}
