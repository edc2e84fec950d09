package import Reactor

/// Decides alerts from what a store has in hand while it publishes, or from decoded lines.
///
/// Series are observed by an index that the observer gives, so that an event costs no look-up of names.
package protocol FeedObserver: Sendable {
    /// The names of the conditions, each once.
    var conditions: [String] { get }
    /// How often there was no room for a condition of a series.
    var refused: Int { get }
    /// When something may change without an event; nil for never.
    var nextDue: LoopInstant? { get }

    /// Adds a source, or describes it anew.
    mutating func describe(_ status: SourceStatus, at moment: Moment)
    /// A source is not there any more.
    mutating func retire(source: String, at moment: Moment)
    /// Returns what is to be observed of a series, which is there from now on.
    mutating func series(named name: String, of source: String, at moment: Moment) -> ObservedSeries
    /// There was no room for a series of a source.
    mutating func refuse(seriesOf source: String)
    /// A series is gone; its index may be given to another one. A series with values and one without may have the same.
    mutating func remove(series: Int32, at moment: Moment)

    /// Observes an event that has a number, and no word.
    ///
    /// - Parameter line: the number of its line.
    mutating func observe(_ value: Double, of series: Int32, line: Int, at moment: Moment)
    /// Observes any other event.
    mutating func observe(_ event: Line.Data, of series: Int32, line: Int, at moment: Moment)
    /// Observes a closed window.
    mutating func observe(_ window: Line.Window, of series: Int32, line: Int, at moment: Moment)
    /// Observes something that is no event of a series.
    mutating func observe(_ observation: Observation, of source: String, line: Int, at moment: Moment)
    /// Observes a decoded line: the same as the functions above show of what it is about.
    mutating func apply(_ line: Line, at moment: Moment)
    /// Something came from an agent of a fleet.
    mutating func hear(agent: String, at moment: Moment)

    /// Evaluates the answers that are complete: at the end of a batch.
    mutating func settle(at moment: Moment)
    /// Evaluates what depends on time: at `nextDue`, at most once a second.
    mutating func tick(at moment: Moment)
    /// Evaluates everything, as the inputs have ended.
    mutating func finish(at moment: Moment)
    /// Reports again what fires.
    mutating func remind(at moment: Moment)
    /// Removes and returns the next alert to publish, with its source's name.
    mutating func nextAlert() -> (source: String, alert: Alert)?
}

/// What an observer wants to see of a series.
package struct ObservedSeries: Sendable {
    /// Its index; −1 if no condition is about it.
    package var index: Int32 = -1
    /// Whether a number alone does not say enough, because conditions are about text, words or documents.
    package var needsEvents = false
    package var needsWindows = false

    package init(index: Int32 = -1, needsEvents: Bool = false, needsWindows: Bool = false) {
        (self.index, self.needsEvents, self.needsWindows) = (index, needsEvents, needsWindows)
    }

    package static let none = ObservedSeries()
}

/// What conditions can see of a source besides the events of its series.
package enum Observation: Sendable {
    /// Data came.
    case data
    case answer(LatencySample)
    case failure(Failure)
    case recovered
    case progress(Progress)
    /// Its answer is complete, with all its pages.
    case complete
    /// It is alive, and says nothing that conditions compare.
    case heard
    /// The state of an agent of a fleet.
    case peer(Line.Peer)
}
