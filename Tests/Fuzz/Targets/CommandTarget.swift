internal import Feed
internal import Settings

/// A command line, an argument a line; with a variable in front when the choice says so.
enum CommandTarget: FuzzTarget {
    private static let variables = [
        "CATWATCH_EVERY", "CATWATCH_URL", "CATWATCH_HEADER", "CATWATCH_QUIET", "CATWATCH_KEY",
    ]

    static func run(_ input: Bytes, choice: Int) {
        var arguments = input.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        var environment: [String: String] = [:]
        if choice < variables.count, !arguments.isEmpty { environment[variables[choice]] = arguments.removeFirst() }
        do throws(UsageError) {
            _ = try Command.parse(arguments, environment: environment)
        } catch {
            check(error)
        }
    }

    /// What is told is fit for a terminal.
    static func check(_ error: UsageError) {
        let bytes = error.description.utf8
        precondition(!bytes.contains { $0 < 0x20 && $0 != 0x0A || $0 == 0x7F }, "a control character is printed")
    }
}
