/// What a command line asks for.
package enum Command: Sendable, Equatable {
    case watch(Options)
    /// Print the help, of every option or of the main ones.
    case help(all: Bool)
    case version
    case completions(Shell)
    /// Print the manual page.
    case manual

    package enum Shell: String, Sendable, CaseIterable {
        case bash, zsh, fish
    }
}

extension Command {
    /// Reads a command line: a pure function, of the arguments without the program's name and of the environment.
    ///
    /// Flags win over the environment. An option that replaces an earlier one (`--every 1s --every 2s`) wins over it;
    /// `--url`, `--preset` and `--header` add up, but do not add to what the environment says. Empty variables count as
    /// unset. `--help` and its like win over everything that comes after them.
    /// - Throws: `UsageError`.
    package static func parse(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws(UsageError) -> Command {
        let scan = try LongOptions.scan(arguments, OptionTable.entries)

        var options = Options()
        let given = Set(scan.occurrences.map { OptionTable.entries[$0.entry].long })
        for entry in OptionTable.entries where !given.contains(entry.long) {
            guard let name = entry.environment, let text = environment[name], !text.isEmpty else { continue }
            for part in entry.repeats.parts(of: text) { try apply(entry, part, to: &options, as: name) }
        }
        for occurrence in scan.occurrences {
            let entry = OptionTable.entries[occurrence.entry]
            switch entry.effect {
            case .set: try apply(entry, occurrence.argument, to: &options, as: "--\(entry.long)")
            case .request(let request):
                return try UsageError.about("--\(entry.long)") { () throws(UsageError) in
                    try request(occurrence.argument)
                }
            }
        }
        if let operand = scan.operands.first { throw unexpected(operand) }
        try check(options)
        return .watch(options)
    }

    private static func apply(
        _ entry: OptionTable.Entry, _ text: String, to options: inout Options, as name: String
    ) throws(UsageError) {
        guard case .set(let setter) = entry.effect else { return }
        try UsageError.about(name) { () throws(UsageError) in try setter(&options, text) }
    }

    /// What only holds between options.
    private static func check(_ options: Options) throws(UsageError) {
        if let history = options.history, history < options.interval {
            throw UsageError(
                "\(DurationText.format(history)) is shorter than one window of --interval "
                    + DurationText.format(options.interval), option: "--history")
        }
        try checkAttach(options)
        if options.request.key != nil && options.request.certificate == nil {
            throw UsageError("a key needs the certificate it belongs to; add --cert FILE", option: "--key")
        }
    }

    /// What only holds between options about whose feed it is.
    private static func checkAttach(_ options: Options) throws(UsageError) {
        guard options.attach != nil else {
            guard options.reconnects else {
                throw UsageError("says nothing without --attach", option: "--no-reconnect")
            }
            return
        }
        let isLocal = !options.urls.isEmpty || !options.presets.isEmpty || options.demo
        if isLocal {
            throw UsageError(
                "the feed is the attached agent's; leave out --url, --preset and --demo", option: "--attach")
        }
    }

    private static func unexpected(_ operand: String) -> UsageError {
        let lower = operand.lowercased()
        if lower.hasPrefix("http://") || lower.hasPrefix("https://") {
            return UsageError("unexpected \(FeedURL.redact(operand)); to poll a URL write --url in front")
        }
        return UsageError("unexpected \(FeedURL.redact(operand)); everything catwatch takes is an option")
    }
}

extension OptionTable.Repeats {
    /// The arguments in an environment variable.
    fileprivate func parts(of text: String) -> [String] {
        switch self {
        case .last: [text]
        case .words: text.split(whereSeparator: \.isWhitespace).map(String.init)
        case .lines: text.split(whereSeparator: \.isNewline).map(String.init)
        }
    }
}
