package import Feed

/// How far a paged source has come, as one line of text:
///
///     breeds  [███████████░░░░░░░]  60 of 98  page 2
///
/// Parts that do not fit are dropped: first the bar, then the page, then the end of the name. There is no bar without a
/// total, and no page for a source without pages.
package struct ProgressBar: Sendable, Equatable {
    /// The characters of the bar.
    package enum Style: Sendable, Equatable {
        case unicode
        case ascii
    }

    package var source: String
    package var progress: Progress
    package var style: Style

    /// The longest bar, in columns, without its brackets.
    private static let longestBar = 40
    /// A shorter bar is useless.
    private static let shortestBar = 6
    private static let longestName = 40

    package init(source: String, progress: Progress, style: Style) {
        self.source = source
        self.progress = progress
        self.style = style
    }

    /// Whether all items have come.
    package var isComplete: Bool { progress.total.map { progress.done >= $0 } ?? false }

    /// The line without its newline; at most `columns` wide, and safe for a terminal.
    package func text(columns: Int) -> String {
        let count = progress.total.map { "\(progress.done) of \($0)" } ?? "\(progress.done)"
        let page = progress.page > 0 ? "  page \(progress.page)" : ""
        let name = visibleName
        let width = Self.columns(of: name)
        let full = width + 2 + count.utf8.count + page.utf8.count
        if progress.total != nil, columns - full - 4 >= Self.shortestBar {
            return "\(name)  [\(bar(min(Self.longestBar, columns - full - 4)))]  \(count)\(page)"
        }
        if full <= columns { return "\(name)  \(count)\(page)" }
        if width + 2 + count.utf8.count <= columns { return "\(name)  \(count)" }
        let short = cut(name, to: columns - 2 - count.utf8.count)
        if !short.isEmpty { return "\(short)  \(count)" }
        return count.utf8.count <= columns ? count : ""
    }

    /// The number of columns of a text, at most: possibly wide characters count as two.
    package static func columns(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    /// Wide characters start at the Hangul letters; box-drawing, blocks and the like (U+2000 to U+2E7F) are narrow.
    private static func columns(of scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0..<0x1100, 0x2000..<0x231A, 0x2400..<0x25FD: 1
        default: 2
        }
    }

    private func bar(_ width: Int) -> String {
        let part = progress.total.map { $0 > 0 ? Double(progress.done) / Double($0) : 1 } ?? 0
        // Rounded down, so that only a complete bar is full. In bounds: the part is finite, as the total is not 0.
        let filled = Int(Double(width) * min(max(part, 0), 1))
        let (full, empty) = style == .unicode ? ("█", "░") : ("#", "-")
        return String(repeating: full, count: filled) + String(repeating: empty, count: width - filled)
    }

    private var visibleName: String {
        let name = Sanitizer.visible(source, limit: Self.longestName)
        guard style == .ascii else { return name }
        var text = ""
        for scalar in name.unicodeScalars { text.unicodeScalars.append(scalar.isASCII ? scalar : "?") }
        return text
    }

    /// Cuts `name` to the columns, with an ellipsis; empty when hardly anything would fit.
    private func cut(_ name: String, to columns: Int) -> String {
        guard columns >= 3 else { return "" }
        var text = ""
        var left = columns - 1
        for scalar in name.unicodeScalars {
            left -= Self.columns(of: scalar)
            guard left >= 0 else { break }
            text.unicodeScalars.append(scalar)
        }
        return text + (style == .unicode ? "…" : "~")
    }
}
