/// The options and words of a subcommand that watches nothing; it shares some options with watching.
struct SubcommandOrder {
    /// The subcommand's own options, and the shared ones.
    private(set) var options: Options
    private(set) var words: [String]
    /// A request such as `--help`, which wins over everything else.
    private(set) var request: Command?

    /// The values of the command line and the environment.
    private let nearer: SettingValues

    /// The settings of watching that also apply to this subcommand.
    private static func shared(with word: Command.Word) -> [any Setting] {
        let rows = SettingTable.rows
        return word == .nats ? [rows.nats, rows.agentName, rows.config] : [rows.journal, rows.config, rows.quiet]
    }

    /// - Parameter arguments: the arguments after the subcommand.
    /// - Throws: `UsageError`, also for an option that does not apply to the subcommand.
    init(
        _ word: Command.Word, _ arguments: ArraySlice<String>, environment: [String: String]
    ) throws(UsageError) {
        let (rows, shared) = (SettingTable.options, Self.shared(with: word))
        let scan = try LongOptions.scan(Array(arguments), Option.all)
        var values = SettingValues()
        for setting in shared {
            guard let name = setting.option?.environment, let text = environment[name], !text.isEmpty else { continue }
            try UsageError.about(name) { () throws(UsageError) in
                try setting.take(text, into: &values, from: .variable(name))
            }
        }
        var commandLine = SettingValues()
        for occurrence in scan.occurrences {
            let (option, setting) = rows[occurrence.entry]
            request = try UsageError.about(option.flag) { () throws(UsageError) in
                if case .request(let request) = option.effect { return try request(occurrence.argument) }
                var isMeant = shared.contains { $0 === setting }
                if case .with(let subcommands) = option.effect { isMeant = subcommands.contains(word) }
                guard isMeant else { throw UsageError("says nothing to catwatch \(word.rawValue)") }
                try setting?.take(occurrence.argument, into: &commandLine, from: .option(option.flag))
                return nil
            }
            if request != nil { break }
        }
        values.overlay(commandLine)
        nearer = values
        options = Options(values)
        words = scan.operands
    }

    /// Returns the options with the configuration's values below them.
    func configured(load: Command.Loader) throws(UsageError) -> Options {
        var options = options
        if let text = try load(options[\.config]) { options.configure(try Configuration.read(text), under: nearer) }
        return options
    }

    /// The journal to read: the given file, or the one that the settings of watching name.
    ///
    /// Reads the configuration only when nothing else names a journal: its errors do not matter otherwise.
    func journal(of word: Command.Word, _ file: String?, load: Command.Loader) throws(UsageError) -> String {
        if let file {
            let row = SettingTable.rows.journal
            if case .option? = options.values.entry(of: row)?.origin {
                throw UsageError(
                    "and \(UsageError.quoted(file)) both name the journal; leave one out", option: row.flag)
            }
            return file
        }
        if let journal = options[\.journal] { return journal }
        if let text = try load(options[\.config]), let journal = try Configuration.read(text).values[\.journal] {
            return journal
        }
        throw UsageError(
            "\(word.rawValue) needs a journal: catwatch \(word.rawValue) \(word == .log ? "FILE" : "--summary --journal FILE")"
        )
    }
}
