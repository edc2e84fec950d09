internal import Settings
internal import Terminal

/// What standard output gets.
enum StdoutMode: Sendable, Equatable {
    /// The live view, in a terminal.
    case view
    /// One frame of the view after another as text, on a terminal whose cursor cannot be moved.
    case frames
    /// What there is to see, and then the end.
    case once(OnceForm)
    /// Lines of JSON.
    case ndjson
    case none

    /// - Parameter isTerminal: whether standard output is one.
    /// - Throws: `UsageError` when what is asked for needs a terminal, or is for none.
    init(_ options: Options, capabilities: TerminalCapabilities, isTerminal: Bool) throws(UsageError) {
        if let form = options[\.once] {
            guard form == .text || !isTerminal else {
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

    /// Whether lines stay as they are printed: nothing is drawn over them.
    var isLines: Bool { self == .ndjson || self == .none }
}
