internal import Conditions
internal import Inputs
internal import Journal
internal import Reactor

/// The action that a command line asks for.
package enum Command: Sendable, Equatable {
    case watch(Options)
    /// Check the options and the configuration and print the result.
    case check(Options)
    /// Compute F(0) to F(N) for each N, 0 to 100,000.
    case fibonacci([Int])
    /// Watch until conditions are met.
    case wait(Options)
    /// Print the lines of a journal, or a summary table.
    case log(journal: String, Options)
    /// Print how long each Fibonacci run in a journal took.
    case fibonacciRuns(journal: String)
    /// Print the stream and the permissions that NATS servers need.
    case nats(NatsDefinition.Part, Options)
    /// Print the help: the main options, all, or those of a subcommand.
    case help(Help)
    case version
    case completions(Shell)
    /// Print the manual page.
    case manual

    package enum Help: Sendable, Equatable {
        case main, all, log, wait
    }

    package enum Shell: String, Sendable, CaseIterable {
        case bash, zsh, fish
    }

    /// The words that may stand in front of the options.
    enum Word: String, Sendable, CaseIterable {
        case check, fibonacci, log, nats, wait
    }

    static let words = Word.allCases.map(\.rawValue)

    /// Reads the configuration at `path`, or the one found by default; returns nil when there is none.
    package typealias Loader = (_ path: String?) throws(UsageError) -> ConfigText?
}

extension Command {
    /// Parses a command line. A pure function of the arguments (without the program's name), the environment,
    /// `isThere`, which says whether a word names a file, and `load`, which finds the configuration.
    ///
    /// For each option, flags win over the environment, and the environment over the configuration. An option with one
    /// value is given once; `--url`, `--preset` and `--header` add up, but replace the environment's. Words that name
    /// something to watch replace all that the environment says to watch. Empty variables count as unset. `--help` and
    /// other requests win over everything after them. When the command line or the environment says what to watch, the
    /// configuration's sources are ignored.
    /// - Throws: `UsageError`.
    package static func parse(
        _ arguments: [String], environment: [String: String] = [:],
        load: Loader = { (_) throws(UsageError) in nil }, isThere: (String) -> Bool = { _ in false }
    ) throws(UsageError) -> Command {
        switch arguments.first.flatMap(Word.init(rawValue:)) {
        case .fibonacci: return try fibonacci(arguments.dropFirst(), environment: environment, load: load)
        case .log: return try log(arguments.dropFirst(), environment: environment, load: load)
        case .nats: return try nats(arguments.dropFirst(), environment: environment, load: load)
        case .wait:
            return try wait(arguments.dropFirst(), environment: environment, load: load, isThere: isThere)
        case .check, nil: break
        }
        var line = try ParsedArguments(arguments, environment: environment)
        if let request = line.request { return request }
        var options = try watched(&line, load: load, isThere: isThere)
        try options.placing { () throws(UsageError) in try check(options, environment: environment) }
        options.serveNothingOnce()
        guard line.word == .check else { return .watch(options) }
        for row: any Setting in [SettingTable.rows.since, SettingTable.rows.format] where options[\.against] == nil {
            if options.values.isSaid(row) {
                throw UsageError("says nothing without \(SettingTable.rows.against.flag)", option: row.flag)
            }
        }
        for path in options.feeds.files {
            guard let text = try? load(path), let configuration = try? Configuration.read(text),
                configuration.namesSources
            else { continue }
            throw UsageError("\(UsageError.quoted(path)) is a configuration by what it says; write -c in front")
        }
        return .check(options)
    }

    /// Reads the words, which name something to watch, and the configuration.
    private static func watched(
        _ line: inout ParsedArguments, load: Loader, isThere: (String) -> Bool
    ) throws(UsageError) -> Options {
        var feeds = Options.Feeds()
        let (listen, attach, once) = (SettingTable.rows.listen, SettingTable.rows.attach, SettingTable.rows.once)
        let attachesByDefault = line.commandLine[\.attach] == [FeedURL(socket: "")]
        for word in line.words {
            do throws(UsageError) {
                try feeds.parse(word, isThere: isThere, into: &line.commandLine)
            } catch {
                // getopt_long takes an optional argument only behind `=`; without it, the argument becomes a word.
                if line.commandLine.entry(of: once)?.value == .text, OnceForm(rawValue: word) != nil {
                    throw UsageError("a form is written \(once.flag)=\(word)", option: once.flag)
                }
                guard word.contains("/") || word.hasSuffix(".sock") else { throw error }
                if line.commandLine.entry(of: listen)?.value == .usual {
                    throw UsageError("a path is written \(listen.flag)=PATH", option: listen.flag)
                }
                guard attachesByDefault else { throw error }
                throw UsageError("a path is written \(attach.flag)=PATH", option: attach.flag)
            }
        }
        if attachesByDefault, line.words.contains(where: { $0 != "-" }) {
            throw UsageError("an agent's path or address is written \(attach.flag)=PATH", option: attach.flag)
        }
        line.removeReplaced()
        return try line.configured(feeds, load: load)
    }

    /// Requires `--http-token-file` or `--http-open` for an address that other machines can reach.
    ///
    /// - Throws: `UsageError` when neither is given.
    package static func checkAccess(to address: String, _ options: Options) throws(UsageError) {
        let rows = SettingTable.rows
        guard options[\.httpTokenFile] == nil, !options[\.httpOpen] else { return }
        throw UsageError(
            "others get to \(address); say who may with \(rows.httpTokenFile.flag), or \(rows.httpOpen.flag) for everybody",
            option: rows.http.flag)
    }

    /// Parses the words of `catwatch wait`.
    private static func wait(
        _ words: ArraySlice<String>, environment: [String: String], load: Loader, isThere: (String) -> Bool
    ) throws(UsageError) -> Command {
        var line = try ParsedArguments(words, of: .wait, environment: environment)
        if let request = line.request { return request }
        var options = try watched(&line, load: load, isThere: isThere)
        try options.placing { () throws(UsageError) in try check(options, environment: environment) }
        // Nobody looks at it.
        if !options.values.isSaid(SettingTable.rows.speed) { options.values.set(\.speed, .most) }
        let rows = SettingTable.rows
        guard !options[\.waitFor].isEmpty else {
            throw UsageError("wait needs \(rows.waitFor.flag) LINE, such as \(rows.waitFor.flag) 'status = 200'")
        }
        if options[\.since] != nil, options[\.attach].isEmpty, options[\.replay] == nil {
            throw UsageError("says nothing without --attach or --replay", option: rows.since.flag)
        }
        return .wait(options)
    }

    /// Parses the words of `catwatch log`.
    ///
    /// - Parameter words: the words after `log`.
    /// - Throws: `UsageError`.
    private static func log(
        _ words: ArraySlice<String>, environment: [String: String], load: Loader
    ) throws(UsageError) -> Command {
        let line = try ParsedArguments(words, of: .log, environment: environment)
        if let request = line.request { return request }
        guard line.words.count < 2 else {
            throw UsageError("log reads one journal, and \(UsageError.quoted(line.words[1])) is another word")
        }
        let options = Options(line.values)
        try check(options, environment: environment)
        return .log(journal: try line.journal(line.words.first, load: load), options)
    }

    /// The options that the command line must not give, each with what is wrong with it and whether that holds.
    private static func rules(
        for options: Options, environment: [String: String]
    ) -> [(rows: [any Setting], message: String, holds: Bool)] {
        let rows = SettingTable.rows
        func without(_ other: any Setting) -> String { "says nothing without \(other.flag)" }
        func beside(_ other: any Setting, _ why: String) -> String { "does not go with \(other.flag): \(why)" }
        let (once, summary, follow) = (options[\.once] != nil, options[\.summary], options[\.follow])
        // Elsewhere the page's options may be for a port handed over.
        let isHandedOver = environment["LISTEN_FDNAMES"]?.split(separator: ":").contains(rows.http.name[...]) == true
        return [
            ([rows.output], beside(rows.once, "it says itself what stdout gets"), once),
            ([rows.listen, rows.http], beside(rows.once, "it ends before anybody could read"), once),
            ([rows.agentName], without(rows.nats), options[\.nats] == nil),
            ([rows.speed, rows.from], without(rows.replay), options[\.replay] == nil),
            (
                [rows.httpTokenFile, rows.httpOpen, rows.httpHost, rows.httpFrame], without(rows.http),
                options[\.http] == nil && !isHandedOver
            ),
            (
                [rows.follow, rows.reverse],
                beside(rows.summary, "a table has no order, and no end that it could wait for"), summary
            ),
            ([rows.limit], beside(rows.summary, "it counts all that is chosen"), summary),
            ([rows.format], beside(rows.summary, "a table is text"), summary),
            (
                [rows.follow, rows.reverse, rows.limit, rows.logTypes, rows.logSeries, rows.summary],
                beside(rows.logAlerts, "it is a table of alerts, in the order in which they end"), options[\.logAlerts]
            ),
            ([rows.suggest], without(rows.against), options[\.against] == nil),
            ([rows.perWeek], without(rows.suggest), options[\.suggest] == nil),
            (
                [rows.format, rows.alert],
                beside(rows.suggest, "it suggests a condition, and looks at none"),
                options[\.suggest] != nil
            ),
            (
                [rows.online, rows.explain], beside(rows.against, "it looks at a recording, and asks nobody"),
                options[\.against] != nil
            ),
            ([rows.reverse], beside(rows.follow, "what comes is the newest"), follow),
            ([rows.until], beside(rows.follow, "it has no end"), follow),
        ]
    }

    /// Refuses combinations of options that contradict each other.
    private static func check(_ options: Options, environment: [String: String]) throws(UsageError) {
        let rows = SettingTable.rows
        for (rows, message, holds) in rules(for: options, environment: environment) where holds {
            for row in rows {
                guard case .option? = options.values.entry(of: row)?.origin else { continue }
                throw UsageError(message, option: row.flag)
            }
        }
        let interval = options[\.interval]
        if let history = options[\.history], history < interval {
            throw UsageError(
                "\(DurationText.format(history)) is shorter than one window of --interval "
                    + DurationText.format(interval), option: rows.history.flag)
        }
        if options[\.replay] != nil {
            var others = options
            others.values.remove(rows.replay)
            if others.namesSources {
                throw UsageError(
                    "the feed is the recording's; leave out --url, --preset, --demo, --attach, files and addresses"
                        + (options.feeds.files.isEmpty ? "" : "; one file is played back at a time"),
                    option: rows.replay.flag)
            }
            // Closing the recording would release the locks of the journal's writer: they are the process's (fcntl(2)).
            if let recording = options[\.replay], let journal = options[\.journal],
                JournalFile.areSame(recording == "-" ? "/dev/stdin" : recording, journal)
            {
                throw UsageError("a journal is not played back into itself", option: rows.replay.flag)
            }
        }
        if options.passedOn == nil, options[\.noReconnect] {
            throw UsageError("says nothing without --attach, or beside other sources", option: rows.noReconnect.flag)
        }
        if let address = options[\.http], !address.isLoopback {
            try checkAccess(to: "\(address)", options)
        }
        guard PolicyOrigin.size(of: options[\.httpFrame]) <= PolicyOrigin.most else {
            throw UsageError(
                "all origins take more than \(PolicyOrigin.most) bytes together", option: rows.httpFrame.flag)
        }
        if options[\.keyFile] != nil && options[\.certificate] == nil {
            throw UsageError(
                "a key needs the certificate it belongs to; add --cert FILE", option: rows.keyFile.flag)
        }
    }
}

extension Command {
    /// The text to print on stdout before exiting with 0; nil when the command has to run.
    package var text: String? {
        switch self {
        case .watch, .check, .wait, .fibonacci, .fibonacciRuns, .log: nil
        case .nats(let part, let options): NatsDefinition(options).text(of: part)
        case .help(let help): HelpText.text(of: help)
        case .version: "catwatch \(Version.current)\n"
        case .completions(let shell): Completions.script(for: shell)
        case .manual: ManualPage.text
        }
    }
}

/// The version of the program, as `--version`, `hello` lines and the User-Agent header show it.
package enum Version {
    /// Semantic version.
    package static let current = "0.1.0"
}
