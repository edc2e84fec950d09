internal import Feed
internal import Glibc
internal import Journal
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// The program: parses the command line, then runs the agent's event loop on this thread until something ends it.
@main
struct Catwatch {
    /// Not `async`: an asynchronous main would be isolated to the main actor, whose executor is not the loop.
    static func main() {
        // Blocked until a handler is installed: an early SIGHUP should reload, not end the process.
        SignalWatch.block([SIGHUP])
        StandardStreams.occupy()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)  // treat a file size limit like a full disk
        Memory.economise()
        let environment = ProcessEnvironment.variables()
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let command = try Command.parse(arguments, environment: environment) { path throws(UsageError) in
                try ConfigFile.find(named: path, environment: environment)
            } isThere: {
                access($0, F_OK) == 0
            }
            if let text = command.text { leave(printing: text) }
            switch command {
            case .watch, .wait: break
            default: SignalWatch.unblock([SIGHUP])
            }
            switch command {
            case .watch(let options):
                let capabilities = TerminalCapabilities { environment[$0] }
                let stdoutMode = try StdoutMode(
                    options, capabilities: capabilities, isTerminal: isatty(STDOUT_FILENO) == 1)
                let (options, doubt) =
                    stdoutMode.isLines ? (options, nil) : options.attachingByDefault(environment: environment)
                if let doubt, options.verbosity > .quiet {
                    complain("catwatch: not attached: \(Sanitizer.visible(doubt, limit: 500))\n")
                }
                let plan = try WatchPlan(options, environment: environment, arguments: arguments)
                for notice in plan.notices where options.verbosity > .quiet { complain("catwatch: \(notice)\n") }
                if options[\.replay] != nil { JournalMapping.endInWords() }
                // Before other threads exist, which could receive these signals.
                if stdoutMode == .view { SignalWatch.block([SIGWINCH, SIGTSTP, SIGCONT]) }
                let loop = try EventLoop()
                let platform = try Platform(of: environment, capabilities: capabilities, on: loop)
                Platform.leave(
                    try loop.run { try await (try Agent(plan, stdoutMode: stdoutMode, in: platform)).run() })
            case .wait(let options):
                let (options, doubt) = options.attachingByDefault(environment: environment)
                guard !options.namesNothing else {
                    throw UsageError(
                        doubt.map { "not attached: \(Sanitizer.visible($0, limit: 500))" }
                            ?? "say what to watch: a URL, a FILE, -, or --attach; no agent of yours runs here")
                }
                let plan = try WatchPlan(options, environment: environment, arguments: arguments)
                try plan.check(options[\.waitFor] + options[\.waitFail])
                for notice in plan.notices where options.verbosity > .quiet { complain("catwatch: \(notice)\n") }
                if options[\.replay] != nil { JournalMapping.endInWords() }
                let loop = try EventLoop()
                let platform = try Platform(of: environment, capabilities: .init(depth: .none), on: loop)
                Platform.leave(try loop.run { try await (try Agent(plan, stdoutMode: .wait, in: platform)).run() })
            case .check(let options):
                let plan = try WatchPlan(options, environment: environment, arguments: arguments)
                if let path = options[\.against] { try look(at: path, plan, environment) }
                var notices = [plan.origin] + plan.notices
                if let path = options[\.journal] {
                    notices.append("journal: \(JournalCheck.text(of: path, SQLiteHistory(path: path)))")
                }
                complain(notices.map { "catwatch: \($0)\n" }.joined())
                let text = options[\.explain] ? plan.explanation() : plan.effectiveText()
                let alerts = alertLines(of: plan)
                guard options[\.online] || !alerts.isEmpty else { leave(printing: text) }
                try print(text)
                complain(alerts)
                guard options[\.online] else { exit(0) }
                let loop = try EventLoop()
                let platform = try Platform(of: environment, capabilities: .init(depth: .none), on: loop)
                Platform.leave(try loop.run { try await OnlineCheck.run(plan, in: platform) })
            case .fibonacci(let runs):
                try FibonacciCommand.print(runs)
                exit(0)
            case .log(let journal, let options):
                let shows = isatty(STDOUT_FILENO) == 0 || options[\.summary]
                let log = LogCommand(
                    journal, options, isTerminal: isatty(STDOUT_FILENO) == 1,
                    bar: shows ? progress(options, environment) : nil
                ) { complain($0) }
                exit(log.run())
            case .fibonacciRuns(let journal): exit(FibonacciCommand.printRuns(of: journal) { complain($0) })
            case .nats, .help, .version, .completions, .manual: exit(0)
            }
        } catch let error as UsageError {
            complain("\(error.description)\n")
            exit(UsageError.exitCode)
        } catch {
            complain("catwatch: \(error)\n")
            exit(1)
        }
    }

    /// Runs `catwatch check --against`.
    private static func look(at path: String, _ plan: WatchPlan, _ environment: [String: String]) throws -> Never {
        let (options, flag) = (plan.options, SettingTable.rows.against.flag)
        guard !plan.alerts.isEmpty || options[\.suggest] != nil else {
            throw UsageError(
                "says nothing without an alert, of the configuration or by \(SettingTable.rows.alert.flag) LINE",
                option: flag)
        }
        JournalMapping.endInWords()
        let loop = try EventLoop()
        let capabilities = TerminalCapabilities { environment[$0] }
        let platform = try Platform(of: environment, capabilities: capabilities, on: loop)
        Platform.leave(
            try loop.run {
                let bar = progress(options, environment)
                return try await AgainstCheck(plan, path, in: platform, bar: bar) { complain($0) }.run()
            })
    }

    /// The progress bar on standard error, if that is a terminal.
    private static func progress(_ options: Options, _ environment: [String: String]) -> JournalProgress? {
        guard options.verbosity > .quiet, isatty(STDERR_FILENO) == 1 else { return nil }
        let columns = ScreenSize.of(STDERR_FILENO, environment: environment).columns
        let style: ProgressBar.Style = TerminalCapabilities { environment[$0] }.isASCII ? .ascii : .unicode
        return JournalProgress(style: style, columns: columns)
    }

    /// What `catwatch check` says of alerts on standard error.
    static func alertLines(of plan: WatchPlan) -> String {
        var lines = plan.alertSummaries
        if !lines.isEmpty, plan.options[\.journal] == nil {
            let flag = SettingTable.rows.journal.flag
            lines.append("alerts are forgotten at the end of the process: there is no journal (\(flag))")
        }
        return lines.map { "catwatch: \($0)\n" }.joined()
    }

    /// Prints the requested text and exits; silently when nobody reads it.
    private static func leave(printing text: String) -> Never {
        do throws(SystemError) {
            try print(text)
            exit(0)
        } catch {
            if error.code == EPIPE { exit(0) }
            complain("catwatch: stdout: \(error.reason)\n")
            exit(1)
        }
    }

    /// Prints the text unchanged for other programs; for a terminal, control characters are made visible.
    private static func print(_ text: String) throws(SystemError) {
        try Descriptor.write(isatty(STDOUT_FILENO) == 1 ? Sanitizer.lines(text) : text, to: STDOUT_FILENO)
    }

    private static func complain(_ text: String) { try? Descriptor.write(Sanitizer.lines(text), to: STDERR_FILENO) }
}
