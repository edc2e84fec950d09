internal import Settings
internal import Terminal

/// The kind of output on stdout.
enum StdoutMode: Sendable, Equatable {
    /// The live view, in a terminal.
    case view
    /// Successive frames of the view as text, on a terminal without cursor movement.
    case frames
    /// One frame, the page, or the newest lines, then the end.
    case once(OnceForm)
    /// Lines of JSON.
    case ndjson
    case none
    /// What `catwatch wait` waited for.
    case wait

    /// - Parameter isTerminal: whether standard output is a terminal.
    /// - Throws: `UsageError` when the requested output needs a terminal, or must not go to one.
    init(_ options: Options, capabilities: TerminalCapabilities, isTerminal: Bool) throws(UsageError) {
        if let form = options[\.once] {
            guard form != .html || !isTerminal else {
                throw UsageError(
                    "stdout is a terminal; have it written to a file: > incident.html",
                    option: SettingTable.rows.once.flag)
            }
            self = .once(form)
            return
        }
        switch options[\.output] ?? (isTerminal ? .view : .ndjson) {
        case .view:
            guard isTerminal else {
                throw UsageError(
                    "stdout is no terminal; --once prints one frame of the view as text",
                    option: SettingTable.rows.output.flag)
            }
            self = capabilities.isAddressable ? .view : .frames
        case .ndjson: self = .ndjson
        case .none: self = .none
        }
    }

    /// Whether printed lines stay visible: nothing is drawn over them.
    var isLines: Bool { self == .ndjson || self == .none }
}
