/// The control sequences at the start and end of a full-screen view (xterm's control sequences, DEC private modes).
package enum TerminalModes {
    /// The alternate screen, no cursor, no wrapping, marked pastes and, if requested, the mouse.
    package static func enter(mouse: Bool) -> [UInt8] {
        Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h\(mouse ? "\u{1B}[?1000h\u{1B}[?1006h" : "")".utf8)
    }

    /// Reverses `enter`, wherever the output was cut off: CAN ends an unfinished sequence.
    package static func leave(_ capabilities: TerminalCapabilities, mouse: Bool) -> [UInt8] {
        var text = "\u{18}"
        if capabilities.hasLinks { text += "\u{1B}]8;;\u{1B}\\" }
        text += "\u{1B}[?2026l\u{1B}[m"
        if mouse { text += "\u{1B}[?1006l\u{1B}[?1000l" }
        text += "\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
        return Array(text.utf8)
    }
}
