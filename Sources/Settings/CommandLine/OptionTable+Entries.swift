internal import Inputs
internal import Outputs

extension OptionTable {
    /// Every option, in the order of the help.
    package static let entries: [Entry] = mainEntries + documentEntries + feedEntries + httpEntries + programEntries

    private static let mainEntries: [Entry] = [
        Entry(
            long: "config", short: "c", argument: .required("FILE"), group: .main,
            help: "read this configuration (JSON with comments)", completion: .file,
            effect: .set { (options, text) throws(UsageError) in options.config = try nonEmpty(text, "the path") }),
        Entry(
            long: "url", short: "u", argument: .required("URL"), group: .main,
            help: "poll this; repeatable (https://catfact.ninja/fact)", repeats: .words,
            effect: .set { (options, text) throws(UsageError) in options.urls.append(try FeedURL(text)) }),
        Entry(
            long: "every", short: "e", argument: .required("DURATION"), group: .main,
            help: "poll period of every feed, from 10ms (2s)",
            effect: .set { (options, text) throws(UsageError) in
                options.every = try DurationText.parse(text, in: .milliseconds(10)...day)
            }),
        Entry(
            long: "preset", short: "p", argument: .required("NAME"), group: .main,
            help: "watch a known feed; all for each of them (fact)",
            completion: .words(Options.Preset.allCases.map(\.rawValue)), repeats: .words,
            effect: .set { (options, text) throws(UsageError) in
                let preset: Options.Preset = try choice(text)
                if !options.presets.contains(preset) { options.presets.append(preset) }
            }),
        Entry(
            long: "demo", group: .main, help: "start the stand-in API on loopback and watch it",
            effect: .set { (options, text) throws(UsageError) in options.demo = try flag(text) }),
        Entry(
            long: "interval", short: "i", argument: .required("DURATION"), group: .main,
            help: "window width, 1s to 1h (10s)",
            effect: .set { (options, text) throws(UsageError) in
                options.interval = try wholeSeconds(text, in: .seconds(1)...(.seconds(3_600)))
            }),
        Entry(
            long: "output", short: "o", argument: .required("FORMAT"), group: .main,
            help: "view, ndjson or none (view in a terminal)",
            completion: .words(Options.Output.allCases.map(\.rawValue)),
            effect: .set { (options, text) throws(UsageError) in
                options.output = try choice(text) as Options.Output
            }),
        Entry(
            long: "once", group: .main, help: "print one frame of the view as text, and end",
            effect: .set { (options, text) throws(UsageError) in options.once = try flag(text) }),
        Entry(
            long: "count", short: "n", argument: .required("N"), group: .main, help: "stop after N data events",
            effect: .set { (options, text) throws(UsageError) in
                options.count = try integer(text, in: 1...(.max))
            }),
        Entry(
            long: "duration", short: "d", argument: .required("DURATION"), group: .main, help: "stop after that time",
            effect: .set { (options, text) throws(UsageError) in
                options.duration = try DurationText.parse(text, in: .milliseconds(10)...(.seconds(365 * 86_400)))
            }),
        Entry(
            long: "verbose", short: "v", group: .main, help: "say more on stderr",
            effect: .set { (options, text) throws(UsageError) in
                if try flag(text) { options.verbosity = .verbose }
            }),
        Entry(
            long: "quiet", short: "q", group: .main, help: "say less on stderr",
            effect: .set { (options, text) throws(UsageError) in
                if try flag(text) { options.verbosity = .quiet }
            }),
        Entry(
            long: "help", short: "h", argument: .optional("all"), group: .main, help: "show this, or every option",
            completion: .words(["all"]),
            effect: .request { (text) throws(UsageError) in
                guard text.isEmpty || text == "all" else { throw UsageError("write --help or --help=all") }
                return .help(all: !text.isEmpty)
            }),
        Entry(
            long: "version", short: "V", group: .main, help: "show the version", effect: .request { _ in .version }),
    ]

    private static let documentEntries: [Entry] = [
        Entry(
            long: "value", argument: .required("POINTER"), group: .documents,
            help: "JSON Pointer to the number (the first number)",
            effect: .set { (options, text) throws(UsageError) in options.value = try pointer(text) }),
        Entry(
            long: "text", argument: .required("POINTER"), group: .documents,
            help: "JSON Pointer to the text (the first string)",
            effect: .set { (options, text) throws(UsageError) in options.text = try pointer(text) }),
        Entry(
            long: "items", argument: .required("POINTER"), group: .documents,
            help: "JSON Pointer to the array or object of events; '' for all of it",
            effect: .set { (options, text) throws(UsageError) in options.items = try pointer(text) }),
        Entry(
            long: "key", argument: .required("POINTER"), group: .documents,
            help: "within an item, what names its series; # for its position",
            effect: .set { (options, text) throws(UsageError) in options.key = text == "#" ? text : try pointer(text) }),
        Entry(
            long: "time", argument: .required("POINTER"), group: .documents,
            help: "JSON Pointer to the time of an event (when it came)",
            effect: .set { (options, text) throws(UsageError) in options.time = try pointer(text) }),
        Entry(
            long: "number", argument: .required("RULE"), group: .documents,
            help: "strict, or lenient: strings that hold a number count (strict)",
            completion: .words(Extraction.NumberRule.allCases.map(\.rawValue)),
            effect: .set { (options, text) throws(UsageError) in options.number = try choice(text) }),
    ]

    private static let feedEntries: [Entry] = [
        Entry(
            long: "listen", short: "l", argument: .optional("PATH"), group: .feed,
            help: "serve the feed on a Unix socket", completion: .file,
            effect: .set { (options, text) throws(UsageError) in options.listen = .init(path: text) }),
        Entry(
            long: "listen-mode", argument: .required("OCTAL"), group: .feed, help: "its permissions (600)",
            effect: .set { (options, text) throws(UsageError) in
                guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
                    throw UsageError("\(UsageError.quoted(text)) is no mode; write one like 660")
                }
                options.listenMode = mode
            }),
        Entry(
            long: "max-readers", argument: .required("N"), group: .feed, help: "how many may read at once (1024)",
            effect: .set { (options, text) throws(UsageError) in
                options.maxReaders = try integer(text, in: 1...100_000)
            }),
        Entry(
            long: "reader-timeout", argument: .required("DURATION"), group: .feed,
            help: "close readers that take nothing for so long (60s)",
            effect: .set { (options, text) throws(UsageError) in
                options.readerTimeout = try DurationText.parse(text, in: .milliseconds(100)...day)
            }),
        Entry(
            long: "attach", short: "a", argument: .optional("PATH"), group: .feed,
            help: "read from a running agent's socket", completion: .file,
            effect: .set { (options, text) throws(UsageError) in options.attach = .init(path: text) }),
        Entry(
            long: "no-reconnect", group: .feed, help: "end when that agent is lost",
            effect: .set { (options, text) throws(UsageError) in options.reconnects = try !flag(text) }),
        Entry(
            long: "connect", argument: .required("TARGET"), group: .feed,
            help: "push the feed to unix:PATH or tcp:HOST:PORT", repeats: .words,
            effect: .set { (options, text) throws(UsageError) in
                do throws(PushTarget.Fault) {
                    options.connect.append(try PushTarget(text))
                } catch {
                    throw UsageError("\(UsageError.quoted(text)): \(error.message)")
                }
            }),
        Entry(
            long: "output-file", argument: .required("FILE"), group: .feed, help: "append every line",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.outputFile = try nonEmpty(text, "the path")
            }),
    ]

    private static let httpEntries: [Entry] = [
        Entry(
            long: "timeout", argument: .required("DURATION"), group: .http,
            help: "deadline of a whole request, 10ms to 10m (10s)",
            effect: .set { (options, text) throws(UsageError) in
                options.request.timeout = try DurationText.parse(text, in: .milliseconds(10)...(.seconds(600)))
            }),
        Entry(
            long: "max-body", argument: .required("SIZE"), group: .http,
            help: "largest body after decompression, to 1GiB (1MiB)",
            effect: .set { (options, text) throws(UsageError) in
                options.request.maxBody = try ByteSize.parse(text, in: 1...(1 << 30))
            }),
        Entry(
            long: "max-redirects", argument: .required("N"), group: .http, help: "redirects to follow, 0 to 50 (10)",
            effect: .set { (options, text) throws(UsageError) in
                options.request.maxRedirects = try integer(text, in: 0...50)
            }),
        Entry(
            long: "header", argument: .required("'NAME: VALUE'"), group: .http, help: "send this header; repeatable",
            repeats: .lines,
            effect: .set { (options, text) throws(UsageError) in
                options.request.headers.append(try HeaderField(text))
            }),
        Entry(
            long: "header-file", argument: .required("FILE"), group: .http, help: "send the headers in it, one a line",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.request.headerFile = try nonEmpty(text, "the path")
            }),
        Entry(
            long: "bearer-file", argument: .required("FILE"), group: .http, help: "send the bearer token in it",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.request.bearer = .file(try nonEmpty(text, "the path"))
            }),
        Entry(
            long: "bearer-env", argument: .required("NAME"), group: .http,
            help: "send the bearer token in that variable",
            effect: .set { (options, text) throws(UsageError) in
                options.request.bearer = .environment(try nonEmpty(text, "the variable's name"))
            }),
        Entry(
            long: "cacert", argument: .required("FILE"), group: .http, help: "trust these CAs (PEM), not the system's",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.request.caFile = try nonEmpty(text, "the path")
            }),
        Entry(
            long: "cert", argument: .required("FILE"), group: .http, help: "client certificate (PEM)",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.request.certificate = try nonEmpty(text, "the path")
            }),
        Entry(
            long: "key-file", argument: .required("FILE"), group: .http,
            help: "its private key (PEM), if not in --cert",
            completion: .file,
            effect: .set { (options, text) throws(UsageError) in
                options.request.key = try nonEmpty(text, "the path")
            }),
    ]

    private static let programEntries: [Entry] = [
        Entry(
            long: "history", argument: .required("DURATION"), group: .program, help: "how long windows are kept (2m)",
            effect: .set { (options, text) throws(UsageError) in
                options.history = try wholeSeconds(text, in: .seconds(1)...day)
            }),
        Entry(
            long: "log-bytes", argument: .required("SIZE"), group: .program,
            help: "recent lines kept for readers, 1MiB to 4GiB (8MiB)",
            effect: .set { (options, text) throws(UsageError) in
                options.logBytes = try ByteSize.parse(text, in: (1 << 20)...(4 << 30))
            }),
        Entry(
            long: "online", group: .program, help: "with check: ask every source once, show what comes",
            effect: .online),
        Entry(
            long: "mouse", group: .program, help: "let the wheel and clicks move the view",
            effect: .set { (options, text) throws(UsageError) in options.mouse = try flag(text) }),
        Entry(
            long: "completions", argument: .required("SHELL"), group: .program,
            help: "print completions for bash, zsh or fish",
            completion: .words(Command.Shell.allCases.map(\.rawValue)),
            effect: .request { (text) throws(UsageError) in .completions(try choice(text)) }),
        Entry(long: "man", group: .program, help: "print the manual page", effect: .request { _ in .manual }),
    ]

    private static let day = Duration.seconds(86_400)

    /// Whether a flag is meant to be set; on the command line its text is empty, in the environment it says so.
    private static func flag(_ text: String) throws(UsageError) -> Bool {
        switch text.lowercased() {
        case "", "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw UsageError("\(UsageError.quoted(text)) is neither 1 nor 0")
        }
    }
}
