internal import Feed

/// A place in a configuration, for error messages.
package struct ConfigMark: Sendable, Equatable {
    /// The configuration's name.
    let file: String
    let at: ConfigText.Position
    /// Such as `sources[2].every`; empty for the whole file.
    let path: String

    /// `FILE:LINE:COLUMN`, safe for a terminal.
    var place: String { "\(Sanitizer.visible(file)):\(at.line):\(at.column)" }
}

/// The mistakes in a configuration: all of them, not only the first.
struct ConfigIssues {
    /// The most mistakes that are listed; the rest is only counted.
    static let limit = 50

    /// The file's name as messages show it.
    let name: String
    private var found: [(mark: ConfigMark?, option: String?, message: String)] = []
    private(set) var count = 0

    init(name: String) { self.name = name }

    func mark(_ at: ConfigText.Position, _ path: String) -> ConfigMark { ConfigMark(file: name, at: at, path: path) }

    /// - Parameter message: without secrets; not evaluated beyond the limit.
    mutating func add(_ position: ConfigText.Position, _ path: String, _ message: @autoclosure () -> String) {
        add(mark(position, path), message())
    }

    /// - Parameters:
    ///   - mark: nil for a value of the command line.
    ///   - option: the option's name, for a value of the command line.
    mutating func add(_ mark: ConfigMark?, option: String? = nil, _ message: @autoclosure () -> String) {
        count += 1
        if count <= Self.limit { found.append((mark, option, message())) }
    }

    /// Returns the result of a check; adds an issue and returns nil when the check throws.
    mutating func noting<Value>(_ mark: ConfigMark?, _ check: () throws(UsageError) -> Value) -> Value? {
        do throws(UsageError) {
            return try check()
        } catch {
            add(mark, error.message)
            return nil
        }
    }

    /// - Throws: `UsageError` when there is any issue.
    func check() throws(UsageError) {
        guard let first = found.first else { return }
        if first.mark == nil { throw UsageError(first.message, option: first.option) }
        let places = found.compactMap { issue in issue.mark.map { (mark: $0, message: issue.message) } }
            .sorted { ($0.mark.at.line, $0.mark.at.column) < ($1.mark.at.line, $1.mark.at.column) }
        var lines = places.map { line($0.mark, $0.message) }
        if count > Self.limit { lines.append("\(Sanitizer.visible(name)): and \(count - Self.limit) more") }
        throw UsageError(lines: lines, count: count)
    }

    private func line(_ mark: ConfigMark, _ message: String) -> String {
        let path = mark.path.isEmpty ? "" : "\(Sanitizer.visible(mark.path, limit: 200)): "
        return "\(mark.place): \(path)\(message)"
    }
}
