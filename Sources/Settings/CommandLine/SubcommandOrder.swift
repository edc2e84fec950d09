/// What is said to a subcommand that watches nothing: its own options, and those of watching that say something to it.
struct SubcommandOrder {
    /// Its own options, and the shared ones.
    private(set) var options: Options
    private(set) var words: [String]
    /// `--help` and its like, which win over everything.
    private(set) var request: Command?

    /// What the command line and the environment say.
    private let nearer: SettingValues

    /// The settings of watching that say something to it, too.
    private static func shared(with word: Command.Word) -> [any Setting] {
        let rows = SettingTable.rows
        return word == .nats ? [rows.nats, rows.agentName, rows.config] : [rows.journal, rows.config, rows.quiet]
    }

    /// - Parameter arguments: what follows the subcommand.
    /// - Throws: `UsageError`, also for an option that says nothing to it.
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

    /// The options, with what a configuration says and nobody nearer.
    func configured(load: Command.Loader) throws(UsageError) -> Options {
        var options = options
        if let text = try load(options[\.config]) { options.configure(try Configuration.read(text), under: nearer) }
        return options
    }

    /// Which journal is meant: the word's, or the one that is watched with.
    ///
    /// A configuration is read only when nobody nearer says it: what is wrong with it does not matter otherwise.
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
