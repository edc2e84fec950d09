extension Command {
    /// What to print on stdout before leaving with 0; nil when there is something to do.
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
