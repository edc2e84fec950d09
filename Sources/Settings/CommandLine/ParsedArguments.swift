/// The options and words of a command line: of watching and checking, or of a subcommand, which shares some options with
/// them.
struct ParsedArguments {
    /// The values of the environment, and those of the command line, which win.
    private(set) var environment = SettingValues()
    var commandLine = SettingValues()
    private(set) var words: ArraySlice<String>
    /// The subcommand; nil for watching.
    let word: Command.Word?
    /// A request such as `--help`, which wins over everything behind it.
    private(set) var request: Command?

    /// The values of the command line over those of the environment.
    var values: SettingValues {
        var values = environment
        values.overlay(commandLine)
        return values
    }

    /// The settings of watching that also apply to a subcommand; nil for all.
    private static func shared(with word: Command.Word?) -> [any Setting]? {
        let rows = SettingTable.rows
        return switch word {
        case .check, nil: nil
        case .nats: [rows.nats, rows.agentName, rows.config]
        case .log, .fibonacci: [rows.journal, rows.config, rows.quiet]
        case .wait:
            SettingTable.options.filter { [.documents, .http].contains($0.option.group) }.map(\.setting)
                + [
                    rows.config, rows.urls, rows.every, rows.presets, rows.demo, rows.interval, rows.verbose,
                    rows.quiet, rows.attach, rows.noReconnect, rows.replay, rows.speed, rows.from, rows.history,
                    rows.logBytes, rows.keptBytes, rows.maxSeries,
                ]
        }
    }

    /// - Parameters:
    ///   - arguments: the arguments after the subcommand.
    ///   - subcommand: nil for watching, and for checking, whose word may stand behind options.
    /// - Throws: `UsageError`, also for an option that does not apply to the subcommand.
    init(
        _ arguments: some Collection<String>, of subcommand: Command.Word? = nil,
        environment variables: [String: String]
    ) throws(UsageError) {
        let (rows, shared) = (SettingTable.options, Self.shared(with: subcommand))
        let scan = try LongOptions.scan(Array(arguments))
        let isCheck = subcommand == nil && scan.operands.first == Command.Word.check.rawValue
        word = isCheck ? .check : subcommand
        words = scan.operands[...].dropFirst(isCheck ? 1 : 0)
        func isShared(_ setting: any Setting) -> Bool { shared?.contains { $0 === setting } ?? true }
        let given = Set(scan.occurrences.map(\.entry))
        for (index, row) in rows.enumerated() {
            guard isShared(row.setting), let name = row.option.environment, let text = variables[name], !text.isEmpty
            else { continue }
            var said = environment
            do throws(UsageError) {
                for part in row.option.repeats.parts(of: text) {
                    try row.setting.parse(part, into: &said, from: .variable(name))
                }
                environment = said
            } catch {
                // A wrong value does not matter when the command line replaces it.
                if !given.contains(index), !isReplaced(row.option) { throw UsageError(error.message, option: name) }
            }
        }
        for occurrence in scan.occurrences where request == nil {
            let (option, setting) = rows[occurrence.entry]
            request = try UsageError.about(option.flag) { () throws(UsageError) in
                if case .request(let request) = option.effect {
                    let request = try request(occurrence.argument)
                    return request == .help(.main) ? .help(help) : request
                }
                var (isMeant, subcommands) = (isShared(setting), [Command.Word]())
                if case .with(let words) = option.effect {
                    (isMeant, subcommands) = (words.contains(word), words.compactMap(\.self))
                }
                if let subcommand, !isMeant { throw UsageError("says nothing to catwatch \(subcommand.rawValue)") }
                // Otherwise the address would be polled as a source.
                if option.flag == SettingTable.rows.http.flag, occurrence.argument.isEmpty, let next = occurrence.next,
                    (try? HTTPAddress(next)) != nil
                {
                    throw UsageError(
                        "an address is written \(option.flag)=HOST:PORT; what is to be watched stands in front of it")
                }
                try setting.parse(occurrence.argument, into: &commandLine, from: .option(option.flag))
                guard isMeant else {
                    throw UsageError("says nothing without \(UsageError.list(subcommands.map(\.rawValue)))")
                }
                return nil
            }
        }
    }

    /// The help that fits the subcommand.
    private var help: Command.Help {
        switch word {
        case .log: .log
        case .wait: .wait
        case .check, .fibonacci, .nats, nil: .main
        }
    }

    /// Whether the words of the command line replace the environment's value: both say what to watch.
    private func isReplaced(_ option: Option) -> Bool { !words.isEmpty && option.traits.contains(.choosesFeed) }

    /// Removes the environment's values that the words of the command line replace.
    mutating func removeReplaced() {
        for (option, setting) in SettingTable.options where isReplaced(option) {
            if !commandLine.isSaid(setting) { environment.remove(setting) }
        }
    }

    /// Returns the options with the configuration's values below them.
    func configured(_ feeds: Options.Feeds = .init(), load: Command.Loader) throws(UsageError) -> Options {
        var options = Options(values)
        options.feeds = feeds
        if let text = try load(options[\.config]) { options.configure(try Configuration.read(text), under: values) }
        // A configuration may say more than a subcommand does.
        guard let shared = Self.shared(with: word) else { return options }
        options.configuration?.alerts = []
        for (_, _, setting) in SettingTable.inFile where !shared.contains(where: { $0 === setting }) {
            options.values.remove(setting)
        }
        return options
    }

    /// The journal to read: the given file, or the one that the settings of watching name.
    ///
    /// Reads the configuration only when nothing else names a journal: its errors do not matter otherwise.
    func journal(_ file: String?, load: Command.Loader) throws(UsageError) -> String {
        if let file {
            let row = SettingTable.rows.journal
            guard !commandLine.isSaid(row) else {
                throw UsageError(
                    "and \(UsageError.quoted(file)) both name the journal; leave one out", option: row.flag)
            }
            return file
        }
        if let journal = values[\.journal] { return journal }
        if let text = try load(values[\.config]), let journal = try Configuration.read(text).values[\.journal] {
            return journal
        }
        let (name, how) = word == .log ? ("log", "FILE") : ("fibonacci", "--summary --journal FILE")
        throw UsageError("\(name) needs a journal: catwatch \(name) \(how)")
    }
}
