internal import Feed
internal import Settings

/// A configuration file: it is refused or taken, and what is told of it is fit for a terminal.
enum ConfigurationTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let text = ConfigText(name: "f", bytes: Array(input))
        do throws(UsageError) {
            let command = try Command.parse(["check"], load: { (_) throws(UsageError) in text })
            guard case .check(let options) = command else { preconditionFailure("another command") }
            _ = options.resolvedHistory
        } catch {
            CommandTarget.check(error)
        }
    }
}
