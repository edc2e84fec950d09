/// How it is gone on after a fault: the one table for who publishes and who reads.
package struct NatsPatience: Sendable, Equatable {
    /// The longest pause before the next try.
    package let pause: Duration
    /// Whether the connection stays. A new one begins with what the files of credentials have by then.
    package let keepsConnection: Bool
    /// Which try in a row that comes to nothing is the first one worth a line.
    package let telling: Int
    /// Whether it may be over by itself: then it is worth no line once anything was said.
    package let isBrief: Bool

    /// - Parameters:
    ///   - telling: which try is the first one worth a line, of what may be over by itself.
    ///   - pause: the longest one where the stream, or something that the table does not know, has to be mended.
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
