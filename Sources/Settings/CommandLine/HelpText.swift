/// The text of `--help`, made from the option table.
package enum HelpText {
    static func text(of help: Command.Help) -> String {
        switch help {
        case .main: main
        case .all: all
        case .log: log
        case .wait: wait
        }
    }

    /// How to read a journal.
    private static var log: String {
        """
        Usage: catwatch log [options] [FILE]   print the lines that a journal holds

        \(list(.log))

        Without a FILE it reads the journal that the configuration or --journal names.
        The manual has more: catwatch --man

        """
    }

    /// How to wait.
    private static var wait: String {
        """
        Usage: catwatch wait --for LINE... [options] [URL|FILE|-]...
               watch until the conditions hold, print the line that decided it, and end

        \(list(.wait))
              --since TIME   with --attach or --replay: what came since then counts too

        A LINE is [SOURCE] TEST [and TEST]... [for DURATION] [until TEST [for DURATION]]:
          'status = 200 for 10s'   '/state = "done"'        'rooms/kitchen > 1000'
          'all rooms/* < 1000'     'p95 over 1m < 300ms'    'agent web1 silent 30s'
        Measures: value, text, /POINTER, band, status, ms; last, min, max, mean, count of a
        window; min, max, mean, count, p50, p90, p95, p99, errors 'over DURATION'.
        Tests: < <= > >= = !=, in A..B, contains "TEXT", exists, missing, fails, silent.
        Options for sources, HTTP and attaching: catwatch --help=all
        Exit: 0 met, 1 the input ended first, 2 wrong usage, 3 --fail holds, 124 time is up.

        """
    }

    /// The main options and examples, on one screen of 24 lines of 80 columns with room for the prompt.
    package static var main: String {
        """
        Usage: catwatch [options] [URL|FILE|-]...   watch JSON feeds, stream NDJSON
               catwatch wait [...], check [...], log [FILE], fibonacci N..., nats [PART]

        \(list(.main))

        A DURATION is 500ms, 10s, 2m, 1h or bare seconds. Data goes to stdout, the rest
        to stderr. Exit: 0 fine, 1 no event came, 2 wrong usage, 3 --once: alert fires.
          catwatch --demo | jq .      catwatch --demo --http  (http://127.0.0.1:2287/)
          catwatch http://HOST/x.json --value /a/b --text /c --every 500ms
        Items, sockets, TLS, tokens, limits: catwatch --help=all  Manual: catwatch --man

        """
    }

    /// Every option, and how the environment is used.
    package static var all: String {
        let groups = Option.Group.allCases.map { "\($0.rawValue):\n\(list($0))\n" }.joined(separator: "\n")
        return """
            Usage: catwatch [options] [URL|FILE|-]...  watch JSON feeds, stream NDJSON
                   catwatch check [options] [...]      check all of it, print what it comes to
                   catwatch wait [options] [...]       watch until a condition is met, then end
                   catwatch log [FILE] [options]       print what a journal holds
                   catwatch fibonacci N...             F(0) to F(N), and how long that takes
                   catwatch nats [PART]                print a stream, and permissions for it

            A URL is polled like one behind --url; HOST:PORT/PATH is taken for an http URL.
            A FILE is read to its end, - standard input: a document or a number a line.

            \(groups)
            Every option that is not a request has an environment variable that an option on
            the command line overrides: CATWATCH_EVERY for --every, CATWATCH_MAX_BODY for
            --max-body. CATWATCH_URL takes several URLs separated by blanks, CATWATCH_HEADER
            one header a line. A URL, a FILE or - replaces all that they say to watch.
            What neither says a configuration file may: --config, else
            $XDG_CONFIG_HOME/catwatch/config.jsonc, else /etc/catwatch/config.jsonc.
            http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY are honoured.

            """
    }

    /// One line for each option: how to write it, then what it does.
    private static func list(_ group: Option.Group) -> String {
        let entries = Option.all.filter { $0.group == group }
        let width = (entries.map(\.usage.count).max() ?? 0) + 2
        return entries.map { entry in
            "  " + entry.usage + String(repeating: " ", count: width - entry.usage.count) + entry.help
        }.joined(separator: "\n")
    }
}
