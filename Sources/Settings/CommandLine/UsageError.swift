import Feed

/// Wrong usage: the program prints this on stderr and exits with `exitCode`.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The program's exit status.
    package static let exitCode: Int32 = 2

    /// The option or variable that is wrong, `--every` or `CATWATCH_EVERY`; nil when it is no single one.
    package var option: String?
    /// The mistake and what to write instead; safe to print, without secrets.
    package var message: String
    /// The mistakes in a configuration; none for any other error.
    let issues: ConfigIssues
    /// The mistakes in a configuration, each as `FILE:LINE:COLUMN: …`; empty for any other error.
    package var lines: [String] { issues.lines }

    package init(_ message: String, option: String? = nil) {
        (self.message, self.option, issues) = (message, option, ConfigIssues())
    }

    init(_ issues: ConfigIssues) {
        message = "\(issues.count) \(issues.count == 1 ? "error" : "errors") in the configuration"
        self.issues = issues
    }

    /// Creates an error of a value in a configuration.
    init(_ message: String, at mark: ConfigMark) {
        var issues = ConfigIssues()
        issues.add(mark, message)
        self.init(issues)
    }

    /// The text for stderr: one line that says what is wrong and one that points to the help; for a configuration one
    /// line for each mistake, then their number. Without the last newline.
    package var description: String {
        if issues.count > 0 { return (lines + ["catwatch: \(message)"]).joined(separator: "\n") }
        let subject = option.map { "\($0): " } ?? ""
        return "catwatch: \(subject)\(message)\nTry 'catwatch --help'."
    }

    /// Runs `body` and adds the option's name to the error that it throws.
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
