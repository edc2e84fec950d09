internal import Feed

/// A place in a configuration, for error messages.
package struct ConfigMark: Sendable, Equatable {
    /// The configuration's name.
    let file: String
    let at: ConfigText.Position
    /// Such as `sources[2].every`; empty for the whole file.
    let path: String

    /// The place so many columns further right.
    func moved(by columns: Int) -> ConfigMark {
        ConfigMark(file: file, at: ConfigText.Position(line: at.line, column: at.column + columns), path: path)
    }

    /// `FILE:LINE:COLUMN`, safe for a terminal.
    var place: String { "\(Sanitizer.visible(file)):\(at.line):\(at.column)" }
}

/// The mistakes in a configuration: all of them, not only the first.
struct ConfigIssues: Sendable, Equatable {
    /// The most mistakes that are listed; the rest is only counted.
    static let limit = 50

    private struct Issue: Sendable, Equatable {
        let mark: ConfigMark?
        let option: String?
        let message: String
    }

    private var found: [Issue] = []
    private(set) var count = 0

    /// - Parameters:
    ///   - mark: nil for a value of the command line.
    ///   - option: the option's name, for a value of the command line.
    ///   - message: without secrets; not evaluated beyond the limit.
    mutating func add(_ mark: ConfigMark?, option: String? = nil, _ message: @autoclosure () -> String) {
        count += 1
        if count <= Self.limit { found.append(Issue(mark: mark, option: option, message: message())) }
    }

    mutating func add(_ others: ConfigIssues) {
        found += others.found.prefix(max(0, Self.limit - count))
        count += others.count
    }

    /// Returns the result of a check; when it throws, adds the mistakes, at `mark` if they have no places, and returns nil.
    @discardableResult
    mutating func noting<Value>(_ mark: ConfigMark?, _ check: () throws(UsageError) -> Value) -> Value? {
        do throws(UsageError) {
            return try check()
        } catch {
            if error.issues.count > 0 { add(error.issues) } else { add(mark, error.message) }
            return nil
        }
    }

    /// - Throws: `UsageError` when there is any issue.
    func check() throws(UsageError) {
        guard let first = found.first else { return }
        throw first.mark == nil ? UsageError(first.message, option: first.option) : UsageError(self)
    }

    /// Each mistake as `FILE:LINE:COLUMN: …`, in the order of their places.
    var lines: [String] {
        let places = found.compactMap { issue in issue.mark.map { (mark: $0, message: issue.message) } }
            .sorted { ($0.mark.at.line, $0.mark.at.column) < ($1.mark.at.line, $1.mark.at.column) }
        let lines = places.map { mark, message in
            let path = mark.path.isEmpty ? "" : "\(Sanitizer.visible(mark.path, limit: 200)): "
            return "\(mark.place): \(path)\(message)"
        }
        guard count > Self.limit, let file = places.first?.mark.file else { return lines }
        return lines + ["\(Sanitizer.visible(file)): and \(count - Self.limit) more"]
    }
}
