extension Command {
    /// The text to print on stdout before exiting with 0; nil when the command has to run.
    package var text: String? {
        switch self {
        case .watch, .check, .fibonacci, .fibonacciRuns, .log: nil
        case .nats(let part, let options): NatsDefinition(options).text(of: part)
        case .help(let all): all ? HelpText.all : HelpText.main
        case .version: "catwatch \(Version.current)\n"
        case .completions(let shell): Completions.script(for: shell)
        case .manual: ManualPage.text
        }
    }
}
