import Feed

/// Wrong usage: the program says so on stderr and leaves with `exitCode`.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the program exits with.
    package static let exitCode: Int32 = 2

    /// What was given wrongly, `--every` or `CATWATCH_EVERY`; nil when it is no single option.
    package var option: String?
    /// What is wrong and what to write instead; safe to print, without secrets.
    package var message: String
    /// What is wrong with a configuration file, `FILE:LINE:COLUMN: …` each; empty when it is about something else.
    package private(set) var lines: [String] = []

    package init(_ message: String, option: String? = nil) {
        self.message = message
        self.option = option
    }

    /// - Parameters:
    ///   - lines: what is wrong with a configuration file, each with its place.
    ///   - count: how much is wrong, which may be more than is told.
    init(lines: [String], count: Int) {
        message = "\(count) \(count == 1 ? "error" : "errors") in the configuration"
        self.lines = lines
    }

    /// The text for stderr: one line that says what is wrong and one that says where to look; of a configuration a line
    /// for everything that is wrong, and how much that is. Without the last newline.
    package var description: String {
        if !lines.isEmpty { return (lines + ["catwatch: \(message)"]).joined(separator: "\n") }
        let subject = option.map { "\($0): " } ?? ""
        return "catwatch: \(subject)\(message)\nTry 'catwatch --help'."
    }

    /// Runs `body` and adds to what it throws which option it is about.
    static func about<Value>(
        _ option: String, _ body: () throws(UsageError) -> Value
    ) throws(UsageError) -> Value {
        do {
            return try body()
        } catch {
            throw UsageError(error.message, option: option)
        }
    }

    /// The words as `a, b or c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// User input in quotes: sanitised, cut at 80 characters.
    static func quoted(_ text: some StringProtocol) -> String {
        "'" + Sanitizer.visible(String(text), limit: 80) + "'"
    }
}
