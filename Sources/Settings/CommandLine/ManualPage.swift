/// The manual page, made from the option table: `catwatch --man | man -l -`.
package enum ManualPage {
    /// The page in the man macros of roff(7).
    package static var text: String {
        var page = """
            .TH CATWATCH 1 "" "catwatch \(Version.current)" "User Commands"
            .SH NAME
            catwatch \\- watch JSON feeds and stream what they say as NDJSON
            .SH SYNOPSIS
            .B catwatch
            .RI [ options ]
            .RI [ URL | FILE | \\- ]...
            .PP
            .B catwatch check
            .RI [ options ]
            .RI [ URL | FILE | \\- ]...
            .PP
            .B catwatch wait
            \(escaped("--for"))
            .IR LINE ...
            .RI [ options ]
            .RI [ URL | FILE | \\- ]...
            .PP
            .B catwatch log
            .RI [ options ]
            .RI [ FILE ]
            .PP
            .B catwatch fibonacci
            .IR N ...
            .PP
            .B catwatch nats
            .RB [ stream | permissions ]
            .SH DESCRIPTION
            Reads JSON over HTTP, over WebSockets, from files or from standard input
            .RB ( \\- ),
            keeps the last value of every window over a rolling history, and writes what it sees to
            standard output, one JSON object a line.
            A word with a scheme
            .RB ( http:// ", " https:// ", " ws:// " or " wss:// )
            is an address, as behind \(escaped("--url")); one that names a file that is there is that file; and
            .I HOST:PORT
            with a path behind it or without is an address of http, which is said on standard error.
            A file is read to its end, a FIFO until its last writer is gone, a JSON document or a bare number a line; it is a
            source of its name.
            .I ./check
            is the file,
            .I check
            the subcommand.
            .PP
            Without a word or an option that names a feed, and without a configuration that does, it polls https://catfact.ninja/fact.
            .PP
            .B catwatch check
            checks the options and the configuration, and prints what they come to as JSON, without secrets.
            .B catwatch wait
            watches until all conditions of \(escaped("--for")) are met at the same time, prints the line that decided it, and ends.
            A condition is a line such as
            .IR "status = 200 for 10s" :
            docs/conditions.md describes them.
            .B catwatch fibonacci
            computes the numbers F(0) to F(N), for every N; with \(escaped("--summary")) and a journal
            it lists how long each run took that the journal knows of.
            .B catwatch log
            prints the lines that a journal holds, the oldest first; the agent may go on writing meanwhile.
            .B catwatch nats
            prints what the servers need that \(escaped("--nats")) publishes to: the definition of the stream, as JSON, and
            permissions for this agent and for who reads. It connects to nobody.

            """
        for group in Option.Group.allCases {
            page += ".SH \(escaped(group.rawValue.uppercased()))\n"
            for entry in Option.all where entry.group == group {
                page += ".TP\n.B \(escaped(trimmed(entry.usage)))\n\(escaped(sentence(entry)))\n"
            }
        }
        page += """
            .SH DURATIONS AND SIZES
            A duration is 500ms, 10s, 1.5s, 2m, 1h, 7d, or bare seconds.
            A size is 64KiB, 1MiB, 1MB, 2GiB, or bare bytes.
            A time is 2026\\-11\\-22T08:00:00Z, 2026\\-11\\-22 or '2026\\-11\\-22 08:00' (here), \\-1h or 1h (ago), now, today or yesterday.
            .SH ENVIRONMENT
            An option on the command line overrides its variable, and a URL, a FILE or - all that they say to watch.
            CATWATCH_URL and CATWATCH_PRESET take several values separated by blanks, CATWATCH_HEADER one header a line.
            Flags are set by 1 and not by 0.
            .PP
            http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY are honoured.
            .SH FILES
            A configuration is JSON with comments and trailing commas.
            It is
            .IR $XDG_CONFIG_HOME/catwatch/config.jsonc ,
            .I $HOME/.config/catwatch/config.jsonc
            when that is not set, else
            .IR /etc/catwatch/config.jsonc ,
            unless \(escaped("--config")) names another.
            Options and environment win over it.
            .SH SIGNALS
            SIGINT ends with a summary on standard error, SIGTERM ends with a bye line, SIGQUIT prints the summary and goes on.
            .SH EXIT STATUS
            .TP
            .B 0
            Fine, also when ended by a signal or when the reader of standard output left.
            .TP
            .B 1
            Ended by itself without a single event; of
            .BR "catwatch log" ,
            nothing was printed.
            .TP
            .B 2
            Wrong usage or configuration; of
            .BR "catwatch log" ,
            the journal cannot be read.
            .TP
            .B 3
            An alert fires, with \(escaped("--once")) or
            .BR "catwatch check --online" ;
            statuses 1 and 2 go first.
            .PP
            .B catwatch wait
            ends with 0 when the conditions are met, 1 when the input ended before, 3 when one of \(escaped("--fail")) was met,
            124 when the time of \(escaped("--within")) is over, and 128 and the number of the signal that ended it.
            .SH EXAMPLES
            .nf
            \(escaped("catwatch --demo | jq ."))
            \(escaped("catwatch wait http://HOST/health --for 'status = 200 for 10s' --within 2m && echo well"))
            \(escaped("catwatch http://HOST/x.json --value /a/b --text /c --every 500ms"))
            \(escaped("CATWATCH_URL='http://A/x http://B/y' catwatch -n 100 > sample.ndjson"))
            .fi

            """
        return page
    }

    private static func sentence(_ entry: Option) -> String {
        let help = entry.help.prefix(1).uppercased() + entry.help.dropFirst() + "."
        return help + (entry.environment.map { " Environment: \($0)." } ?? "")
    }

    private static func trimmed(_ usage: String) -> String { String(usage.drop { $0 == " " }) }

    /// Escapes text so that roff prints it as it is: hyphens stay hyphens, and nothing becomes a request.
    private static func escaped(_ text: String) -> String {
        (text.hasPrefix(".") ? "\\&" : "") + text.escaped(["\\": "\\e", "-": "\\-", "'": "\\(aq"])
    }
}
