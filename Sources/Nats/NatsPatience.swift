/// The rule for retrying after each kind of fault, for publishing and reading alike.
package struct NatsPatience: Sendable, Equatable {
    /// The longest pause before the next try.
    package let pause: Duration
    /// Whether to keep the connection. A new one reads the files of credentials again.
    package let keepsConnection: Bool
    /// Which failed try in a row is the first to be reported.
    package let telling: Int
    /// Whether the fault may pass by itself: then it is not reported after another one was.
    package let isBrief: Bool

    /// - Parameters:
    ///   - telling: the first failed try to report, for faults that may pass by themselves.
    ///   - pause: the longest pause for faults of the stream, and for unknown faults.
    package init(after kind: NatsFault.Kind, telling: Int, pause: Duration) {
        (self.pause, keepsConnection, self.telling, isBrief) =
            switch kind {
            case .nobody, .silent: (.seconds(1), true, telling, true)
            case .lost, .unreachable: (.seconds(5), false, telling, true)
            case .outrun: (.seconds(1), true, 1, false)
            case .absent, .full, .tooLarge, .other: (pause, true, telling - 1, false)
            case .secure, .refused, .settings, .denied: (.seconds(30), false, 1, false)
            }
    }
}
