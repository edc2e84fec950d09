/// What somebody wants of a poll out of turn.
package struct PollRequest: Sendable, Equatable {
    /// Up to which number, from 0 to `mostN`; nil when nothing was said.
    package var n: Int?

    /// The greatest `n` there is.
    package static let mostN = 100_000

    package init(n: Int? = nil) { self.n = n }

    /// Why a source that takes no parameters does not take this request; nil when it has none.
    package func refusal(by source: String) -> PollRefusal? {
        n == nil ? nil : PollRefusal("the source \"\(source)\" takes no \"n\"")
    }
}

/// Why a source is not polled now.
package struct PollRefusal: Error, Sendable, Equatable {
    package enum Cause: Sendable {
        /// There is no such source, or none that is polled.
        case unknown
        /// It cannot be asked for that.
        case unfit
        /// Later it may be.
        case busy
        /// Who would do it is not there.
        case away
    }

    /// One sentence for whoever asked, without a capital and a full stop.
    package var reason: String
    package var cause: Cause

    /// Of an agent that nobody here has a connection to.
    package static func byBroker(_ agent: String) -> PollRefusal {
        PollRefusal("the agent \"\(agent)\" comes by a broker, which passes no requests on: it is asked where it runs")
    }

    package init(_ reason: String, _ cause: Cause = .unfit) {
        self.reason = reason
        self.cause = cause
    }
}
