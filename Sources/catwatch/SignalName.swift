internal import Glibc

/// Signals by name.
enum SignalName {
    /// `SIGTERM`; the number when the name is unknown.
    static func text(_ number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGTERM: "SIGTERM"
        case SIGHUP: "SIGHUP"
        case SIGQUIT: "SIGQUIT"
        default: "signal \(number)"
        }
    }
}
