package import Inputs
package import Outputs

/// What the command line and the environment ask for; every value is checked and in range.
package struct Options: Sendable, Equatable {
    /// The configuration file that was named.
    package var config: String?
    /// What `--url` gave, in order.
    package var urls: [FeedURL] = []
    package var presets: [Preset] = []
    /// Start the stand-in API on loopback, and take the presets from there.
    package var demo = false
    /// The poll period of every feed, 10 ms to 1 day.
    package var every: Duration = .seconds(2)
    /// JSON Pointer (RFC 6901) to the number of every feed; nil: the first number, or the preset's own.
    package var value: String?
    /// JSON Pointer (RFC 6901) to the text of every feed; nil: the first string, or the preset's own.
    package var text: String?
    /// JSON Pointer to the array or object of events of every feed; nil: a document is one, or the preset's own.
    package var items: String?
    /// JSON Pointer to what names an item's series, or `#` for its position.
    package var key: String?
    /// JSON Pointer to an event's time.
    package var time: String?
    /// What counts as a number.
    package var number: Extraction.NumberRule = .strict
    /// Read standard input.
    package var readsStdin = false

    /// The window width: whole seconds, 1 s to 1 h.
    package var interval: Duration = .seconds(10)
    /// How far back windows are kept, whole seconds, `interval` to 1 day; see `resolvedHistory`.
    package var history: Duration?

    /// What stdout gets; nil: the view in a terminal, lines of JSON otherwise.
    package var output: Output?
    /// Print one frame of the view as text, and end.
    package var once = false
    /// Whether the view takes the mouse.
    package var mouse = false
    /// Stop after that many data events, from 1.
    package var count: Int?
    /// Stop after that time, 10 ms to 365 days.
    package var duration: Duration?
    package var verbosity: Verbosity = .normal
    /// How many bytes of recent lines are kept for readers, 1 MiB to 4 GiB.
    package var logBytes = 8 << 20

    /// Serve the feed on a Unix socket.
    package var listen: SocketPath?
    /// The socket's permissions.
    package var listenMode: UInt32 = 0o600
    /// How many may read at once, 1 to 100,000.
    package var maxReaders = 1_024
    /// Readers that take nothing for so long are closed, 100 ms to 1 day.
    package var readerTimeout: Duration = .seconds(60)
    /// Pass a running agent's feed on instead of having one.
    package var attach: SocketPath?
    /// Whether to wait for that agent when it is lost.
    package var reconnects = true
    /// Where the feed is pushed to.
    package var connect: [PushTarget] = []
    /// Append every line to this file.
    package var outputFile: String?

    /// How every request is made.
    package var request = RequestOptions()

    package init() {}

    /// The long names of the options that were set, by the command line, the environment or the configuration.
    package var explicit: Set<String> = []
    /// What the configuration file says; its options are among these already.
    var configuration: Configuration?

    /// How far back windows are kept: what was asked for in whole windows, else 2 minutes, or one window when that is
    /// longer.
    package var resolvedHistory: Duration {
        guard let history else { return max(.seconds(120), interval) }
        let rest = history.components.seconds % max(1, interval.components.seconds)
        return rest == 0 ? history : history + interval - .seconds(rest)
    }

    /// The path of a socket, or where it is by default.
    package struct SocketPath: Sendable, Equatable {
        /// nil for the default; see `DefaultSocket`.
        package var path: String?

        /// - Parameter path: empty for the default.
        package init(path: String) { self.path = path.isEmpty ? nil : path }
    }

    package enum Output: String, Sendable, CaseIterable {
        /// The live view, in a terminal.
        case view
        /// Lines of JSON to stdout.
        case ndjson
        /// Nothing to stdout.
        case none
    }

    /// What stderr says.
    package enum Verbosity: Int, Sendable, Comparable {
        /// Errors that end the program.
        case quiet
        /// Failures of the upstream as well.
        case normal
        /// Every request as well.
        case verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }
}

/// How requests are made; the same for every feed.
package struct RequestOptions: Sendable, Equatable {
    /// One deadline for the whole request, name resolution to last byte; 10 ms to 10 min.
    package var timeout: Duration = .seconds(10)
    /// The most bytes of an answer's body after decompression, 1 B to 1 GiB.
    package var maxBody = 1 << 20
    /// How many redirects are followed, 0 to 50.
    package var maxRedirects = 10
    /// What `--header` gave; `headerFields(environment:)` has all of them.
    package var headers: [HeaderField] = []
    /// Path of a file with one `Name: value` a line.
    package var headerFile: String?
    package var bearer: BearerSource?
    /// Path of a PEM file of certificate authorities that replaces the system's.
    package var caFile: String?
    /// Path of a PEM file with the client's certificate, perhaps its key as well.
    package var certificate: String?
    /// Path of a PEM file with the client's private key.
    package var key: String?

    package init() {}

    /// Where the bearer token is read from.
    package enum BearerSource: Sendable, Equatable {
        case file(String)
        /// The name of an environment variable.
        case environment(String)
    }
}
