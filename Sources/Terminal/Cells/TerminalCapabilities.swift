/// The features of a terminal, according to its environment variables: the terminal itself is not queried.
package struct TerminalCapabilities: Sendable, Equatable {
    package enum Depth: Int, Sendable, Comparable {
        case none, sixteen, palette, full

        package static func < (left: Depth, right: Depth) -> Bool { left.rawValue < right.rawValue }
    }

    package var depth: Depth
    /// Whether only ASCII is supported; other characters get ASCII substitutes.
    package var isASCII: Bool
    /// Whether the cursor can be moved. A dumb terminal only prints lines.
    package var isAddressable = true
    /// Whether OSC 8 links are written.
    package var hasLinks = true

    package init(depth: Depth, isASCII: Bool = false) {
        self.depth = depth
        self.isASCII = isASCII
    }

    /// From `NO_COLOR` (no-color.org), `COLORTERM`, `TERM`, and the locale in `LC_ALL`, `LC_CTYPE`, `LANG`.
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
        // The kernel's console prints the brackets of a link.
        hasLinks = !isDumb && terminal != "linux" && !terminal.hasPrefix("vt")
    }
}
