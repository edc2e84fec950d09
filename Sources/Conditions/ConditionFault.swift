internal import Feed

/// A mistake in the line of a condition, and its place.
package struct ConditionFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence, with what to write instead; safe to print.
    package let message: String
    /// The line, in which control characters are visible.
    package let line: String
    /// The first wrong character, counted from 1.
    package let column: Int

    /// - Parameter offset: where the line is wrong, in bytes.
    init(_ message: String, in line: String, at offset: Int) {
        self.message = message
        let before = Sanitizer.visible(String(decoding: line.utf8.prefix(offset), as: UTF8.self))
        self.line = Sanitizer.visible(line)
        column = before.unicodeScalars.count + 1
    }

    /// The message, and the line with a caret below what is wrong.
    package var description: String {
        "\(message)\n  \(line)\n  \(String(repeating: " ", count: column - 1))^"
    }
}
