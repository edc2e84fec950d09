/// What may be written to a terminal, as its environment says: nothing is asked of the terminal itself.
package struct TerminalCapabilities: Sendable, Equatable {
    package enum Depth: Int, Sendable, Comparable {
        case none, sixteen, palette, full

        package static func < (left: Depth, right: Depth) -> Bool { left.rawValue < right.rawValue }
    }

    package var depth: Depth
    /// Whether only ASCII is understood; everything else gets a likeness of it.
    package var isASCII: Bool
    /// Whether the cursor can be moved. A dumb terminal takes lines and nothing else.
    package var isAddressable = true
    /// Whether OSC 8 links are written.
    package var hasLinks = true

    package init(depth: Depth, isASCII: Bool = false) {
        self.depth = depth
        self.isASCII = isASCII
    }

    /// By `NO_COLOR` (no-color.org), `COLORTERM`, `TERM`, and the locale by `LC_ALL`, `LC_CTYPE`, `LANG`.
    package init(environment: (String) -> String?) {
        let terminal = environment("TERM") ?? ""
        let isDumb = terminal.isEmpty || terminal == "dumb"
        isAddressable = !isDumb
        if environment("NO_COLOR").map({ !$0.isEmpty }) == true || isDumb {
            depth = .none
        } else if ["truecolor", "24bit"].contains(environment("COLORTERM") ?? "") || terminal.hasSuffix("-direct") {
            depth = .full
        } else if terminal.hasSuffix("-256color") {
            depth = .palette
        } else if terminal.hasPrefix("vt") {
            depth = .none
        } else {
            depth = .sixteen
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
        let encoding = String(locale.lowercased().filter { $0 != "-" }.drop { $0 != "." }.dropFirst())
        isASCII = isDumb || !encoding.hasPrefix("utf8")
        // The console of the kernel draws the brackets of a link.
        hasLinks = !isDumb && terminal != "linux" && !terminal.hasPrefix("vt")
    }
}
