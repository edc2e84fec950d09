package import Reactor

/// Computes alerts from the lines of our own feed while these are numbered: right behind the line that decides an alert comes the
/// alert's own.
package protocol LineWatcher: Sendable {
    /// Whether data of a source may change anything. Lines of other kinds come in any case.
    mutating func isAbout(source: String) -> Bool
    /// The state of a source as it is described now.
    mutating func describe(_ status: SourceStatus)
    /// A source is not listed any more.
    mutating func retire(source: String)
    /// Applies the next line.
    ///
    /// - Parameter wall: now, by the wall clock.
    mutating func apply(_ line: Bytes, at wall: Timestamp)
    /// Lines that the log does not have any more were missed.
    mutating func miss(_ numbers: ClosedRange<Int>)
    /// Lets time pass.
    mutating func advance(to wall: Timestamp)
    /// When something may change without a line, by the wall clock; nil for never.
    var nextDeadline: Timestamp? { get }
    /// The number of times that it had no room for a series.
    var refused: Int { get }
    /// Removes and returns the alerts that are due, with their sources' names.
    mutating func takeAlerts() -> [(source: String, alert: Alert)]
}
