package import Reactor

/// Computes alerts from the lines of our own feed while these are numbered: right behind the line that decides an alert comes the
/// alert's own.
package protocol LineWatcher: Sendable {
    /// The names of the conditions, each once.
    var conditions: [String] { get }
    /// For how many series, sources or sets a condition's tests hold, but not yet for long enough.
    func pendingCount(_ condition: Int) -> Int
    /// Whether data of a source may change anything. Lines of other kinds come in any case.
    mutating func isAbout(source: String) -> Bool
    /// The state of a source as it is described now.
    mutating func describe(_ status: SourceStatus)
    /// A source is not listed any more.
    mutating func retire(source: String)
    /// Applies the next line.
    ///
    /// - Parameter newest: the time of the newest event of its series that was left out, as `calm` allows.
    mutating func apply(_ line: Line, newest: Timestamp?)
    /// The values between which further events of the series of the line before change nothing, both exclusive, as long as only
    /// events and alerts come, and no time passes; nil if any may.
    var calm: (low: Double, high: Double)? { get }
    /// Lines that the log does not have any more were missed.
    mutating func miss(_ numbers: ClosedRange<Int>)
    /// Lets time pass.
    mutating func advance(to wall: Timestamp)
    /// Tells again what fires.
    mutating func remind()
    /// When something may change without a line, by the wall clock; nil for never.
    var nextDeadline: Timestamp? { get }
    /// The number of lines for whose series it had no room.
    var refused: Int { get }
    /// Removes and returns the next alert that is due, with its source's name.
    mutating func nextAlert() -> (source: String, alert: Alert)?
    /// Whether alerts are due.
    var hasAlerts: Bool { get }
}
