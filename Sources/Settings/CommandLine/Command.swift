/// What a command line asks for.
package enum Command: Sendable, Equatable {
    case watch(Options)
    /// Check everything and print what it comes to.
    ///
    /// - Parameter online: ask every source once as well.
    case check(Options, online: Bool)
    /// Compute F(0) to F(N) for each N, 0 to 100,000.
    case fibonacci([Int])
    /// Print the help, of every option or of the main ones.
    case help(all: Bool)
    case version
    case completions(Shell)
    /// Print the manual page.
    case manual

    package enum Shell: String, Sendable, CaseIterable {
        case bash, zsh, fish
    }

    /// What may stand in front of the options.
    static let words = ["check", "fibonacci"]

    /// Reads the configuration: the file that is named, or the one that is found; nil when there is none.
    package typealias Loader = (_ path: String?) throws(UsageError) -> ConfigText?
}

extension Command {
    /// Reads a command line: of the arguments without the program's name, of the environment, and of the configuration
    /// that `load` finds. It is a pure function of these.
    ///
    /// Flags win over the environment, and the environment over the configuration, option by option. An option that
    /// replaces an earlier one (`--every 1s --every 2s`) wins over it; `--url`, `--preset` and `--header` add up, but do not
    /// add to what the environment says. Empty variables count as unset. `--help` and its like win over everything that
    /// comes after them. When the command line or the environment says what to watch, the configuration does not.
    /// - Throws: `UsageError`.
    package static func parse(
        _ arguments: [String], environment: [String: String] = [:], load: Loader = { (_) throws(UsageError) in nil }
    ) throws(UsageError) -> Command {
        if arguments.first == "fibonacci", let command = try fibonacci(arguments.dropFirst()) { return command }
        let scan = try LongOptions.scan(arguments, OptionTable.entries)

        var options = Options()
        let given = Set(scan.occurrences.map { OptionTable.entries[$0.entry].long })
        for entry in OptionTable.entries where !given.contains(entry.long) {
            guard let name = entry.environment, let text = environment[name], !text.isEmpty else { continue }
            for part in entry.repeats.parts(of: text) { try apply(entry, part, to: &options, as: name) }
        }
        var online = false
        for occurrence in scan.occurrences {
            let entry = OptionTable.entries[occurrence.entry]
            switch entry.effect {
            case .set: try apply(entry, occurrence.argument, to: &options, as: "--\(entry.long)")
            case .online: online = true
            case .request(let request):
                return try UsageError.about("--\(entry.long)") { () throws(UsageError) in
                    try request(occurrence.argument)
                }
            }
        }
        var operands = scan.operands[...]
        let checks = operands.first == "check"
        if checks { operands = operands.dropFirst() }
        if operands.first == "-" {
            options.readsStdin = true
            operands = operands.dropFirst()
        }
        if let operand = operands.first { throw unexpected(operand) }
        if online && !checks { throw UsageError("says nothing without check", option: "--online") }

        if let text = try load(options.config) { try configure(&options, try Configuration.read(text)) }
        try check(options)
        return checks ? .check(options, online: online) : .watch(options)
    }

    private static func apply(
        _ entry: OptionTable.Entry, _ text: String, to options: inout Options, as name: String
    ) throws(UsageError) {
        guard case .set(let setter) = entry.effect else { return }
        try UsageError.about(name) { () throws(UsageError) in try setter(&options, text) }
        options.explicit.insert(entry.long)
    }

    /// Takes over what the configuration says and nobody else has said.
    private static func configure(_ options: inout Options, _ configuration: Configuration) throws(UsageError) {
        var configuration = configuration
        let given = options.explicit
        // What stderr says is one thing with two options.
        let hasVerbosity = !given.isDisjoint(with: ["verbose", "quiet"])
        let namesSources = options.namesSources
        if namesSources { configuration.sources = [] }
        for setting in configuration.settings where !given.contains(setting.long) {
            guard let entry = OptionTable.entry(setting.long) else { continue }
            if namesSources, ["url", "preset", "demo", "attach", "no-reconnect"].contains(setting.long) { continue }
            if hasVerbosity, ["verbose", "quiet"].contains(setting.long) { continue }
            for text in setting.texts { try apply(entry, text, to: &options, as: setting.long) }
        }
        options.configuration = configuration
        do throws(UsageError) {
            try check(options)
        } catch {
            guard let option = error.option, case let long = String(option.drop { $0 == "-" }), !given.contains(long),
                let mark = configuration.mark(of: long)
            else { throw error }
            var issues = ConfigIssues(name: configuration.path)
            issues.add(mark, error.message)
            try issues.check()
        }
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
            throw UsageError("a key needs the certificate it belongs to; add --cert FILE", option: "--key-file")
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
        let isLocal = !options.urls.isEmpty || !options.presets.isEmpty || options.demo || options.readsStdin
        if isLocal || options.configuration?.sources.isEmpty == false {
            throw UsageError(
                "the feed is the attached agent's; leave out --url, --preset and --demo", option: "--attach")
        }
    }

    private static func unexpected(_ operand: String) -> UsageError {
        let lower = operand.lowercased()
        if ["http://", "https://", "ws://", "wss://"].contains(where: { lower.hasPrefix($0) }) {
            return UsageError("unexpected \(FeedURL.redact(operand)); to poll a URL write --url in front")
        }
        if words.contains(operand) {
            return UsageError("'\(operand)' stands alone or in front: catwatch \(operand)")
        }
        if let suggestion = EditDistance.suggestion(for: operand, among: words) {
            return UsageError("unexpected \(FeedURL.redact(operand)); did you mean '\(suggestion)'?")
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
