/// The parameters of a poll out of turn.
package struct PollRequest: Sendable, Equatable {
    /// The number to poll up to, from 0 to `mostN`; nil if not given.
    package var n: Int?

    /// The greatest allowed `n`.
    package static let mostN = 100_000

    package init(n: Int? = nil) { self.n = n }

    /// The refusal by a source that takes no parameters; nil when the request has none.
    package func refusal(by source: String) -> PollRefusal? {
        n == nil ? nil : PollRefusal("the source \"\(source)\" takes no \"n\"")
    }
}

/// The reason why a source is not polled now.
package struct PollRefusal: Error, Sendable, Equatable {
    package enum Cause: Sendable {
        /// There is no such source, or it cannot be polled.
        case unknown
        /// The source does not support this request.
        case unfit
        /// It may work later.
        case busy
        /// The agent that would poll is not connected.
        case away
    }

    /// One sentence for the requester, without a capital and a full stop.
    package var reason: String
    package var cause: Cause

    /// The refusal for an agent without a connection from here.
    package static func byBroker(_ agent: String) -> PollRefusal {
        PollRefusal("the agent \"\(agent)\" comes by a broker, which passes no requests on: it is asked where it runs")
    }

    package init(_ reason: String, _ cause: Cause = .unfit) {
        self.reason = reason
        self.cause = cause
    }
}
