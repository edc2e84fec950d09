package import Conditions
internal import Feed
package import Inputs
package import Journal
package import Nats
package import Outputs

// The inputs' own defaults.
private let request = HTTPRequest(url: "http://localhost/")
private let webSocket = WebSocketSource(SourceDescription(name: ""), request: request)
private let pages = PagesSource(
    SourceDescription(name: ""), request: request, paging: .next(.root), extraction: Extraction())
private let day = Duration.seconds(86_400)

/// Every setting and every request: add a row here, and nothing else. The order is that of the help within a group, and
/// of the documentation within a section.
///
/// Ranges and help texts stand here; a default is a constant of the input or output that owns it.
package struct SettingTable: Sendable {
    // MARK: Keys of a source

    package let name = SettingKey(
        "name", Types.name,
        source: .init(
            .general,
            "Its name in lines; unique. Default: the preset's name, the last component of the URL's path, or the kind.",
            kinds: SourceKind.allCases))
    let kind = SettingKey(
        "kind", Types.words(SourceKind.allCases),
        source: .init(
            .general,
            "The origin of its events. Default: `file` with a `path`, `websocket` for ws and wss URLs, `feed` (other "
                + "agents) for `unix:`, `nats:` and `tls:`, else `http`.",
            kinds: SourceKind.allCases))
    let preset = SettingKey(
        "preset", Types.words(Preset.single),
        source: .init(.general, "A known feed; the keys beside it override its own."))
    let type = SettingKey(
        "type", Types.name, source: .init(.general, "The `type` of its data lines. Default: its name."))
    let unit = SettingKey(
        "unit", Types.text(limit: 32), source: .init(.general, "The unit of its values, for people."))
    let bands = SettingKey(
        "bands", Types.scale,
        source: .init(
            .general,
            "The meaning of its values: a scale, its name in the top level's `bands`, or the built-in `cpcb`."))
    let keep = SettingKey(
        "keep", Types.duration(.seconds(1)...(.seconds(30 * 86_400))),
        source: .init(
            .general,
            "The age to which newest lines of series are kept for later readers. Default: until a complete answer "
                + "lacks the series, for streams a day."))
    let url = SettingKey(
        "url", Types.url,
        source: .init(
            .place,
            "http or https; ws or wss for a WebSocket; for an agent also `unix:PATH`; for many agents "
                + "`nats://HOST,HOST` or `tls://HOST,HOST`, the servers of one cluster. User name and password belong "
                + "into `basic`.")
    )

    // MARK: Main options

    package let config = SettingKey(
        "config", Types.path,
        option: .init("c", .main, "read this configuration (JSON with comments)", traits: .notInFile))
    package let urls = SettingKey(
        "url", Types.url.list(), absent: [],
        option: .init(
            "u", .main, "poll this; repeatable (https://catfact.ninja/fact)",
            traits: [.reloads, .choosesFeed]),
        secret: { urls in
            urls.contains { $0.userInfo != nil }
                ? "holds a user name or password; write a source with basic, and a secret in it" : nil
        })
    package let every = SettingKey(
        "every", Types.duration(.milliseconds(10)...day),
        initialFor: [.http: HTTPSource.usualEvery, .pages: PagesSource.usualEvery],
        option: .init("e", .main, "poll period of every feed, from 10ms (2s)", traits: .reloads),
        source: .init(
            .place, "The period of polls or runs. Without it Fibonacci runs once, and when asked.",
            kinds: [.http, .pages, .fibonacci]))
    package let presets = SettingKey(
        "preset", Types.words(Preset.allCases).list(once: true), absent: [],
        option: .init("p", .main, "watch a known feed; all for each of them (fact)", traits: [.reloads, .choosesFeed]))
    package let demo = SettingKey(
        "demo", Types.flag, absent: false,
        option: .init(nil, .main, "start the stand-in API on loopback and watch it", traits: .choosesFeed))
    package let interval = SettingKey(
        "interval", Types.duration(.seconds(1)...(.seconds(3_600)), wholeSeconds: true),
        initial: FeedState.Limits().interval,
        option: .init("i", .main, "window width, 1s to 1h (10s)"))
    package let output = SettingKey(
        "output", Types.words(StdoutFormat.allCases),
        option: .init("o", .main, "view, ndjson or none (view in a terminal)", argument: "FORMAT"))
    package let once = SettingKey(
        "once", Types.once, absent: nil,
        option: .init(nil, .main, "print the view as text, the page or lines, and end"))
    package let count = SettingKey(
        "count", Types.integer(1...(.max)), option: .init("n", .main, "stop after N data events"))
    package let duration = SettingKey(
        "duration", Types.duration(.milliseconds(10)...(.seconds(365 * 86_400))),
        option: .init("d", .main, "stop after that time"))
    let verbose = SettingKey(
        "verbose", Types.flag, absent: false, option: .init("v", .main, "say more on stderr", traits: .verbosity))
    let quiet = SettingKey(
        "quiet", Types.flag, absent: false, option: .init("q", .main, "say less on stderr", traits: .verbosity))
    let help = SettingKey(
        "help", SettingType(.optionalWords(["all"]), parse: { $0 }, tree: JSONTree.string),
        option: .init(
            "h", .main, "show this, or every option",
            effect: .request { text throws(UsageError) in
                guard text.isEmpty || text == "all" else { throw UsageError("write --help or --help=all") }
                return .help(text.isEmpty ? .main : .all)
            }))
    let version = SettingKey(
        "version", Types.flag, option: .init("V", .main, "show the version", effect: .request { _ in .version }))

    // MARK: Reading documents

    let value = SettingKey(
        "value", Types.place, absent: .first,
        option: .init(nil, .documents, "JSON Pointer to the number, or none (the first one)"),
        source: .init(
            .fields,
            "An event's number, `true` or `false` (1 and 0), or one of `states`; null for none. Default: the first "
                + "number of the first good document, then the same place."
        )
    )
    let states = SettingKey(
        "states", Types.states, absent: [],
        option: .init(nil, .documents, "words that values may be, from good to bad: a,b,c", argument: "WORDS"),
        source: .init(
            .fields,
            "The words that a string at `value` may be, from good to bad; the value is the word's index, from 0. They "
                + "are its bands unless `bands` is given."))
    let text = SettingKey(
        "text", Types.place, absent: .first,
        option: .init(nil, .documents, "JSON Pointer to the text (the first string)"),
        source: .init(
            .fields,
            "An event's text, a string or a boolean; null for none. Default: the first string, or none beside a "
                + "pointer as `key`."))
    let items = SettingKey(
        "items", Types.pointerOrNull, absent: nil,
        option: .init(nil, .documents, "JSON Pointer to the array or object of events; '' for all of it"),
        source: .init(
            .items,
            "The array or object of events; null or absent when the document is one event."))
    let key = SettingKey(
        "key", Types.key, absent: nil,
        option: .init(nil, .documents, "within an item, what names its series; # for its position"),
        source: .init(.items, "A pointer within an item to the name of its series, or `#` for its position."))
    let only = SettingKey(
        "only", Types.patterns, absent: [],
        option: .init(
            nil, .documents, "take only items with this key, * for any text; repeatable", argument: "KEY",
            repeats: .lines),
        source: .init(
            .items,
            "The keys of the items to take; `*` stands for any text. Needs `items` and `key`."))
    let itemCount = SettingKey(
        "item_count", Types.flag, absent: false,
        option: .init(nil, .documents, "make the number of items a series, count:SOURCE"),
        source: .init(
            .items, "Whether the number of items of each complete answer is a series, `count:SOURCE`. Needs `items`.",
            kinds: [.http, .pages]))
    let time = SettingKey(
        "time", Types.pointerOrNull, absent: nil,
        option: .init(nil, .documents, "JSON Pointer to the time of an event (when it came)"),
        source: .init(
            .fields,
            "An event's time: RFC 3339, or seconds (from 10^11 on milliseconds) since 1970. Default: when it came."))
    let pictures = SettingKey(
        "pictures", Types.origins,
        source: .init(
            .fields,
            "Origins, `https://HOST`, of pictures that the page may show. Links to others stay links."))
    let number = SettingKey(
        "number", Types.words(Extraction.NumberRule.allCases), absent: Extraction().number,
        initialFor: Dictionary(uniqueKeysWithValues: SourceKind.documents.map { ($0, Extraction().number) }),
        option: .init(
            nil, .documents, "strict, or lenient: strings that hold a number count (strict)", argument: "RULE"),
        source: .init(
            .fields, "`lenient` also takes strings that hold a number."))

    // MARK: Serving, attaching, pushing

    package let listen = SettingKey(
        "listen", Types.socket, option: .init("l", .feed, "serve the feed on a Unix socket", traits: .reloads))
    package let listenMode = SettingKey(
        "listen_mode", Types.mode, initial: 0o600,
        option: .init(nil, .feed, "its permissions (600)", argument: "OCTAL", traits: .reloads))
    package let maxReaders = SettingKey(
        "max_readers", Types.integer(1...100_000), initial: ReaderLimits().readers,
        option: .init(nil, .feed, "how many may read at once (1024)", traits: .reloads))
    package let readerTimeout = SettingKey(
        "reader_timeout", Types.duration(.milliseconds(100)...day), initial: ReaderLimits().stall,
        option: .init(nil, .feed, "close readers that take nothing for so long (60s)", traits: .reloads))
    package let http = SettingKey(
        "http", Types.address,
        option: .init(nil, .feed, "serve the page and the feed by HTTP (127.0.0.1:2287)", traits: .reloads))
    package let httpTokenFile = SettingKey(
        "http_token_file", Types.path,
        option: .init(nil, .feed, "let in by HTTP who knows the token in it", traits: .reloads))
    package let httpOpen = SettingKey(
        "http_open", Types.flag, absent: false,
        option: .init(nil, .feed, "let everybody in who gets to that address", traits: .reloads))
    package let httpHost = SettingKey(
        "http_host", Types.host.list(once: true), absent: [],
        option: .init(nil, .feed, "a name that it may be called by; repeatable", traits: .reloads))
    package let httpFrame = SettingKey(
        "http_frame", Types.origin.list(once: true), absent: [],
        option: .init(nil, .feed, "let pages of that origin show it; repeatable", argument: "ORIGIN", traits: .reloads))
    package let metricsSeries = SettingKey(
        "metrics_series", Types.integer(0...FeedState.Limits.usualSeries), initial: 1_000,
        option: .init(nil, .feed, "how many series /metrics tells of, 0 to 10000 (1000)", traits: .reloads))
    package let attach = SettingKey(
        "attach", Types.agents, absent: [],
        option: .init("a", .feed, "read agents: a socket, http://…, nats://…; repeatable", traits: .choosesFeed),
        secret: { urls in
            urls.contains { $0.userInfo != nil }
                ? "holds a user name or password; write a source of kind feed with a secret" : nil
        })
    package let noReconnect = SettingKey(
        "no_reconnect", Types.flag, absent: false,
        option: .init(nil, .feed, "end when that agent is lost", traits: .choosesFeed))
    package let replay = SettingKey(
        "replay", Types.path,
        option: .init(nil, .feed, "play a journal or lines back; - for stdin", traits: [.notInFile, .choosesFeed]))
    package let speed = SettingKey(
        "speed", Types.speed, absent: .usual,
        option: .init(nil, .feed, "how fast: 0.1x to 10000x, or max (1x)", argument: "N", traits: .notInFile))
    package let from = SettingKey(
        "from", Types.time,
        option: .init(nil, .feed, "begin at the first line of or after that time", argument: "TIME", traits: .notInFile)
    )
    package let connect = SettingKey(
        "connect", Types.target.list(), absent: [],
        option: .init(nil, .feed, "push the feed to unix:PATH or tcp:HOST:PORT", argument: "TARGET", traits: .reloads))
    package let outputFile = SettingKey(
        "output_file", Types.path, option: .init(nil, .feed, "append every line", traits: .reloads))

    package let nats = SettingKey(
        "nats", Types.nats, option: .init(nil, .feed, "publish the feed to NATS JetStream"))
    package let agentName = SettingKey(
        "agent_name", Types.agentName, option: .init(nil, .feed, "its name there (the host's)"))
    package let journal = SettingKey(
        "journal", Types.path, option: .init(nil, .feed, "keep every line in a SQLite file", traits: []))
    package let journalCommit = SettingKey(
        "journal_commit", Types.duration(.milliseconds(1)...(.seconds(60))), initial: JournalOutput.Pace().commit,
        option: .init(nil, .feed, "commit lines after so long, or 4,096 of them (100ms)"))
    package let journalSync = SettingKey(
        "journal_sync", Types.words(JournalSettings.Sync.allCases), initial: JournalSettings().sync,
        option: .init(nil, .feed, "survive the process (normal) or the machine (full)", argument: "LEVEL"))
    package let journalAge = SettingKey(
        "journal_age", Types.duration(.seconds(1)...(.seconds(3_650 * 86_400))), initial: JournalSettings().age,
        option: .init(nil, .feed, "how long lines are kept in it (7d)"))
    package let journalBytes = SettingKey(
        "journal_bytes", Types.size((1 << 20)...(1 << 40)), initial: JournalSettings().bytes,
        option: .init(nil, .feed, "how large it may grow, 1MiB to 1TiB (256MiB)"))

    // MARK: HTTP, TLS and secrets

    let headers = SettingKey(
        "headers", Types.headers,
        source: .init(
            .request,
            "Names and values to send. Values are strings or secrets; `Authorization`, `X-Api-Key` and the like take "
                + "only secrets."))
    let bearer = SettingKey("bearer", Types.secret, source: .init(.request, "The bearer token to send; a secret."))
    let basic = SettingKey(
        "basic", Types.basic,
        source: .init(.request, "`{\"user\": \"NAME\", \"password\": SECRET}` for Basic authentication."))
    package let timeout = SettingKey(
        "timeout", Types.duration(.milliseconds(10)...(.seconds(600))), initial: request.timeout,
        option: .init(nil, .http, "deadline of a whole request, 10ms to 10m (10s)"),
        source: .init(.request, "One deadline for a whole request, or for a WebSocket's handshake."))
    let retryMost = SettingKey(
        "retry_most", Types.duration(.milliseconds(100)...(.seconds(3_600))),
        option: .init(nil, .http, "longest wait after failures (4 periods, 2s to 30s)"),
        source: .init(
            .request,
            "The longest wait after failures, unless the server asks for more by a 429 or `Retry-After`. Default: four "
                + "periods, 2 s to 30 s; 30 s without a period.",
            kinds: SourceKind.asked))
    let maxBody = SettingKey(
        "max_body", Types.size(1...(1 << 30)), initial: request.maxBody,
        option: .init(nil, .http, "largest body after decompression, to 1GiB (1MiB)"),
        source: .init(
            .request, "The largest body after decompression, or the largest message.", kinds: SourceKind.asked))
    let maxRedirects = SettingKey(
        "max_redirects", Types.integer(0...50), initial: request.maxRedirects,
        option: .init(nil, .http, "redirects to follow, 0 to 50 (10)"),
        source: .init(.request, "How many redirects are followed.", kinds: SourceKind.asked))
    let header = SettingKey(
        "header", Types.header.list(), absent: [],
        option: .init(nil, .http, "send this header; repeatable", argument: "'NAME: VALUE'", repeats: .lines),
        secret: { fields in
            fields.contains { SecretHeader.holdsSecret($0.name) }
                ? "a secret does not stand here; write header_file or bearer_file" : nil
        })
    let headerFile = SettingKey(
        "header_file", Types.path, option: .init(nil, .http, "send the headers in it, one a line"))
    let bearerFile = SettingKey(
        "bearer_file", Types.path, option: .init(nil, .http, "send the bearer token in it", traits: .bearer))
    let bearerVariable = SettingKey(
        "bearer_env", Types.text("the variable's name"),
        option: .init(nil, .http, "send the bearer token in that variable", traits: .bearer))
    let authorities = SettingKey(
        "ca_file", Types.path, option: .init(nil, .http, "trust these CAs (PEM), not the system's", long: "cacert"),
        source: .init(.request, "A PEM file of the authorities to trust instead of the system's; by NATS besides them.")
    )
    let certificate = SettingKey(
        "certificate", Types.path, option: .init(nil, .http, "client certificate (PEM)", long: "cert"),
        source: .init(.request, "A PEM file with the client's certificate."))
    let keyFile = SettingKey(
        "key_file", Types.path, option: .init(nil, .http, "its private key (PEM), if not in --cert"),
        source: .init(.request, "A PEM file with its private key, if that is not in `certificate`."))
    let proxy = SettingKey(
        "proxy", Types.flag, initial: request.usesProxy,
        source: .init(.request, "Whether the proxies of the environment are used."))

    // MARK: NATS

    let subject = SettingKey(
        "subject", Types.subject, initial: NatsSubject.all,
        source: .init(
            .nats,
            "The subjects to read; their last tokens are the agents' names. `*` is any token, `>` all that follow."
        ))
    let stream = SettingKey(
        "stream", Types.stream, initial: NatsSettings(to: NatsServers([])).stream,
        source: .init(.nats, "The stream that has them."))
    let credsFile = SettingKey(
        "creds_file", Types.path,
        source: .init(.nats, "A file with a user's JWT and the seed of its key, read at every connect."))
    let nkeyFile = SettingKey(
        "nkey_file", Types.path,
        source: .init(.nats, "A file with the seed of a user's nkey, read at every connect."))
    let tokenFile = SettingKey(
        "token_file", Types.path,
        source: .init(.nats, "A file with a token, which is sent as it is: only by TLS."))

    // MARK: Pages

    let next = SettingKey(
        "next", Types.pointer,
        source: .init(.pages, "Where a page holds the next one's URL; either this or `page_parameter`."))
    let pageParameter = SettingKey(
        "page_parameter", Types.text(limit: 256),
        source: .init(.pages, "The query's parameter that counts pages; an empty page ends the listing."))
    let firstPage = SettingKey(
        "first_page", Types.integer(0...1_000_000), initial: 1,
        source: .init(.pages, "The first value of `page_parameter`."))
    let batch = SettingKey(
        "batch", Types.integer(1...1_000_000),
        source: .init(.pages, "The items to ask for a page. Default: the server's choice."))
    let batchParameter = SettingKey(
        "batch_parameter", Types.text(limit: 256), initial: pages.batchParameter,
        source: .init(.pages, "The query's parameter that asks for them."))
    let total = SettingKey(
        "total", Types.pointerOrNull, absent: nil,
        source: .init(.pages, "Where a page holds the number of all items, for `progress` lines."))
    let pause = SettingKey(
        "pause", Types.duration(.zero...day), initial: pages.pause,
        source: .init(.pages, "The time between the end of one page and the request for the next."))
    let mostPages = SettingKey(
        "most_pages", Types.integer(1...1_000_000), initial: pages.mostPages,
        source: .init(.pages, "The most pages of a run."))
    let otherOrigins = SettingKey(
        "other_origins", Types.flag, initial: pages.followsOtherOrigins,
        source: .init(.pages, "Whether a next page may be at another origin than the first."))
    let oneRun = SettingKey(
        "once", Types.flag, initial: false, source: .init(.pages, "Whether it runs only once, whatever `every` is."))

    // MARK: WebSocket, lines, Fibonacci

    let subprotocols = SettingKey(
        "subprotocols", Types.tokens, initial: webSocket.subprotocols,
        source: .init(.webSocket, "The subprotocols to offer, in order."))
    let subscribe = SettingKey(
        "subscribe", Types.message,
        source: .init(.webSocket, "The message to send first: a string, or JSON that is sent as text."))
    let pingEvery = SettingKey(
        "ping_every", Types.duration(.milliseconds(100)...day), initial: webSocket.pingEvery,
        source: .init(.webSocket, "The time between pings."))
    let pingTimeout = SettingKey(
        "ping_timeout", Types.duration(.milliseconds(100)...day), initial: webSocket.pingTimeout,
        source: .init(.webSocket, "How long anything may take to come after a ping."))
    let path = SettingKey(
        "path", Types.path,
        source: .init(
            .lines, "The file to read to its end, a document or a number a line; a FIFO until its last writer is gone.",
            kinds: [.file]))
    let maxLine = SettingKey(
        "max_line", Types.size(64...(64 << 20)), initial: StdinSource(SourceDescription(name: "")).maxLine,
        source: .init(.lines, "The longest line taken."))
    let n = SettingKey(
        "n", Types.integer(0...PollRequest.mostN),
        source: .init(.fibonacci, "Up to which number a run goes; needed."))
    let emit = SettingKey(
        "emit", Types.words(FibonacciSource.Emission.allCases),
        initial: FibonacciSource(SourceDescription(name: ""), n: 0).emission,
        source: .init(
            .fibonacci,
            "The lines of a run: `summary` is one with the time it took, `pairs` adds an item for every number: N and F(N)."
        ))

    // MARK: Reading a journal

    package let since = SettingKey(
        "since", Types.time,
        option: .init(
            nil, .log, "from then on: RFC 3339, a date, -1h, today, yesterday", argument: "TIME",
            effect: .with([.log, .wait, .check])))
    package let until = SettingKey(
        "until", Types.time, option: .init(nil, .log, "up to then, which is not included", argument: "TIME"))
    package let logTypes = SettingKey(
        "type", Types.text("the type").list(once: true), absent: [],
        option: .init(nil, .log, "lines of this type only; repeatable"))
    package let logSources = SettingKey(
        "source", Types.text("the source").list(once: true), absent: [],
        option: .init(nil, .log, "lines of this source only; repeatable"))
    package let logSeries = SettingKey(
        "series", Types.text("the series").list(once: true), absent: [],
        option: .init(nil, .log, "lines of this series only; repeatable"))
    package let limit = SettingKey(
        "limit", Types.integer(0...(.max)), option: .init(nil, .log, "the newest N of them (10 with --follow alone)"))
    package let reverse = SettingKey(
        "reverse", Types.flag, absent: false, option: .init("r", .log, "the newest first"))
    package let follow = SettingKey(
        "follow", Types.flag, absent: false, option: .init("f", .log, "go on with what comes"))
    package let format = SettingKey(
        "format", Types.words(LogFormat.allCases), initial: .ndjson,
        option: .init(
            nil, .log, "ndjson, csv or text (ndjson; of alerts text)", argument: "FORMAT",
            effect: .with([.log, .check])))
    package let logAlerts = SettingKey(
        "log_alerts", Types.flag, absent: false,
        option: .init(nil, .log, "a table of alerts: when, how long, by which value", long: "alerts"))
    package let summary = SettingKey(
        "summary", Types.flag, absent: false,
        option: .init(nil, .log, "a table of sources; with fibonacci: of all runs", effect: .with([.log, .fibonacci])))

    // MARK: Waiting

    package let waitFor = SettingKey(
        "for", Types.condition.list(), absent: [],
        option: .init(
            nil, .wait, "until this holds, such as 'status = 200 for 10s'; repeatable", argument: "LINE",
            repeats: .lines))
    package let waitFail = SettingKey(
        "fail", Types.condition.list(), absent: [],
        option: .init(
            nil, .wait, "give up with status 3 when this holds; repeatable", argument: "LINE", repeats: .lines)
    )
    package let waitAny = SettingKey(
        "any", Types.flag, absent: false, option: .init(nil, .wait, "until one of them holds, not all at once"))
    package let within = SettingKey(
        "within", Types.duration(.milliseconds(10)...(.seconds(365 * 86_400))), initial: .seconds(30),
        option: .init(nil, .wait, "give up with status 124 after that time (30s)"))

    // MARK: More

    package let history = SettingKey(
        "history", Types.duration(.seconds(1)...day, wholeSeconds: true),
        option: .init(nil, .program, "how long windows are kept (2m)"))
    package let logBytes = SettingKey(
        "log_bytes", Types.size((1 << 20)...(4 << 30)), initial: FeedState.Limits().logCapacity,
        option: .init(nil, .program, "recent lines kept for readers, 1MiB to 4GiB (8MiB)"))
    package let keptBytes = SettingKey(
        "kept_bytes", Types.size((64 << 10)...(1 << 30)), initial: FeedState.Limits().keptCapacity,
        option: .init(nil, .program, "newest lines of series kept longer, 64KiB to 1GiB (8MiB)"))
    package let maxSeries = SettingKey(
        "max_series", Types.integer(1_000...FeedState.Limits.mostSeries), initial: FeedState.Limits.usualSeries,
        option: .init(nil, .program, "how many series have windows, 1000 to 100000 (10000)"))
    package let alert = SettingKey(
        "alert", Types.condition.list(), absent: [],
        option: .init(
            nil, .program, "tell when this begins to hold, and when it ends; repeatable", argument: "LINE",
            repeats: .lines, effect: .with([nil, .check])))
    package let against = SettingKey(
        "against", Types.path,
        option: .init(
            nil, .program, "with check: which alerts a recording would have had", argument: "FILE",
            effect: .with([.check])))
    package let suggest = SettingKey(
        "suggest", Types.text("the series"),
        option: .init(
            nil, .program, "with --against: a threshold for a series' values", argument: "SERIES",
            effect: .with([.check])))
    package let perWeek = SettingKey(
        "per_week", Types.integer(1...1_000), initial: 1,
        option: .init(
            nil, .program, "with --suggest: how often it may fire in a week (1)", argument: "N", effect: .with([.check])
        ))
    package let online = SettingKey(
        "online", Types.flag, absent: false,
        option: .init(nil, .program, "with check: ask every source once, show what comes", effect: .with([.check])))
    package let explain = SettingKey(
        "explain", Types.flag, absent: false,
        option: .init(nil, .program, "with check: say where each value comes from", effect: .with([.check])))
    package let mouse = SettingKey(
        "mouse", Types.flag, absent: false, option: .init(nil, .program, "let the wheel and clicks move the view"))
    let completions = SettingKey(
        "completions", Types.words(Command.Shell.allCases),
        option: .init(
            nil, .program, "print completions for bash, zsh or fish", argument: "SHELL",
            effect: .request { text throws(UsageError) in
                .completions(try Types.words(Command.Shell.allCases).parse(text))
            }))
    let man = SettingKey(
        "man", Types.flag, option: .init(nil, .program, "print the manual page", effect: .request { _ in .manual }))
}

extension SettingTable {
    package static let rows = SettingTable()

    /// All rows in the order of their declaration. Reflection keeps the list in step with the typed properties.
    private static let all = Mirror(reflecting: rows).children.compactMap { $0.value as? any Setting }

    /// The options of the command line in the order of the help.
    static let options: [(option: Option, setting: any Setting)] = Option.Group.allCases.flatMap { group in
        all.compactMap { row in row.option.flatMap { $0.group == group ? ($0, row) : nil } }
    }

    /// The settings of a configuration's top level, in the order of the help.
    static let inFile: [(key: String, option: Option, setting: any Setting)] = options.compactMap { option, setting in
        option.key.map { ($0, option, setting) }
    }

    /// The settings that exclude others of their group.
    static let exclusive: [(group: Option.Traits, setting: any Setting)] = options.compactMap { option, setting in
        let group = option.traits.intersection([.verbosity, .bearer])
        return group.isEmpty ? nil : (group, setting)
    }

    /// The keys of a configuration's source, in the order of the documentation.
    static let ofSources: [(setting: any Setting, source: InSource)] = InSource.Section.allCases.flatMap { section in
        all.compactMap { row in row.source.flatMap { $0.section == section ? (row, $0) : nil } }
    }

}

/// The formats in which `catwatch log` prints lines.
package enum LogFormat: String, Sendable, CaseIterable {
    /// The lines as they were written.
    case ndjson
    /// RFC 4180.
    case csv
    /// For people.
    case text
}

/// The forms in which `--once` prints.
package enum OnceForm: String, Sendable, CaseIterable {
    /// One frame of the view as text.
    case text
    /// The page with the newest lines in it, as one file.
    case html
    /// The newest line of each series.
    case ndjson
}

/// The formats of stdout.
package enum StdoutFormat: String, Sendable, CaseIterable {
    /// The live view, in a terminal.
    case view
    /// Lines of JSON.
    case ndjson
    /// Nothing.
    case none
}
