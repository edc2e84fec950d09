internal import Feed
internal import Inputs

extension ConfigKey {
    /// Every key of a source, in the order of the documentation.
    static let source: [ConfigKey] = general + documents + request + pages + webSocket + others

    private static let day = Duration.seconds(86_400)

    private static let general: [ConfigKey] = [
        ConfigKey(
            name: "name", type: .name,
            help: "What lines call it; unique. Without it: the preset's name, the last component of the URL's path, or "
                + "the kind."),
        ConfigKey(
            name: "kind", type: .words(SourceKind.allCases.map(\.rawValue)),
            help: "Where its events come from. Without it: `websocket` for a ws or wss URL, else `http`."),
        ConfigKey(
            name: "preset", type: .words(Options.Preset.single.map(\.rawValue)),
            help: "Start from a known feed; the keys beside it override it, one by one."),
        ConfigKey(name: "type", type: .name, help: "The `type` of its data lines; its name without it."),
        ConfigKey(name: "unit", type: .string(limit: 32), help: "What its values are measured in, for people."),
        ConfigKey(
            name: "bands", type: .scale,
            help: "What its values mean: the name of a scale of the top level's `bands`, a built-in one (`cpcb`), or a "
                + "scale itself."),
    ]

    private static let documents: [ConfigKey] = [
        ConfigKey(
            name: "url", type: .url, kinds: SourceKind.remote,
            help: "http or https; ws or wss for a WebSocket. Without user name and password: `basic` is for them."),
        ConfigKey(
            name: "every", type: .duration(.milliseconds(10)...day), kinds: [.http, .pages, .fibonacci],
            initialFor: [.http: #""2s""#, .pages: #""10m""#],
            help: "The time from poll to poll, or from run to run. Fibonacci without it runs once, and when asked."),
        ConfigKey(
            name: "items", type: .pointer(orNull: true), kinds: SourceKind.documents,
            help: "The array or object whose elements are an event each; null or absent when the document is one event."
        ),
        ConfigKey(
            name: "key", type: .key, kinds: SourceKind.documents,
            help: "Within an item, what names its series: a pointer, or `#` for its position."),
        ConfigKey(
            name: "value", type: .pointer(orNull: true), kinds: SourceKind.documents,
            help: "The number of an event; null for none. Without it: the first number there is."),
        ConfigKey(
            name: "text", type: .pointer(orNull: true), kinds: SourceKind.documents,
            help:
                "The text of an event; null for none. Without it: the first string there is, or none beside a `key` that "
                + "is a pointer, which is the first string more often than not."),
        ConfigKey(
            name: "time", type: .pointer(orNull: true), kinds: SourceKind.documents,
            help:
                "When an event happened: RFC 3339, or seconds (from 10^11 on milliseconds) since 1970. Without it: when "
                + "it came."),
        ConfigKey(
            name: "number", type: .words(Extraction.NumberRule.allCases.map(\.rawValue)), kinds: SourceKind.documents,
            initial: #""strict""#,
            help: "What counts as a number: `strict` for JSON's, `lenient` for strings that hold one, too."),
    ]

    private static let request: [ConfigKey] = [
        ConfigKey(
            name: "headers", type: .headers, kinds: SourceKind.remote,
            help: "Names and values to send. A value is a string or a secret; one that is likely to be secret, such as "
                + "`Authorization` or `X-Api-Key`, has to be a secret."),
        ConfigKey(name: "bearer", type: .secret, kinds: SourceKind.remote, help: "The bearer token to send; a secret."),
        ConfigKey(
            name: "basic", type: .basic, kinds: SourceKind.remote,
            help: "`{\"user\": \"NAME\", \"password\": SECRET}` for Basic authentication."),
        ConfigKey(
            name: "timeout", type: .duration(.milliseconds(10)...(.seconds(600))), kinds: SourceKind.remote,
            initial: #""10s""#, help: "One deadline for a whole request, or for a WebSocket's handshake."),
        ConfigKey(
            name: "max_body", type: .size(1...(1 << 30)), kinds: SourceKind.remote, initial: #""1MiB""#,
            help: "The largest body after decompression, or the largest message."),
        ConfigKey(
            name: "max_redirects", type: .integer(0...50), kinds: SourceKind.remote, initial: "10",
            help: "How many redirects are followed."),
        ConfigKey(
            name: "ca_file", type: .string(limit: 4_096), kinds: SourceKind.remote,
            help: "A PEM file of the authorities to trust instead of the system's."),
        ConfigKey(
            name: "certificate", type: .string(limit: 4_096), kinds: SourceKind.remote,
            help: "A PEM file with the client's certificate."),
        ConfigKey(
            name: "key_file", type: .string(limit: 4_096), kinds: SourceKind.remote,
            help: "A PEM file with its private key, if that is not in `certificate`."),
        ConfigKey(
            name: "proxy", type: .boolean, kinds: SourceKind.remote, initial: "true",
            help: "Whether the proxies of the environment are used."),
    ]

    private static let pages: [ConfigKey] = [
        ConfigKey(
            name: "next", type: .pointer(orNull: false), kinds: [.pages],
            help: "Where a page holds the next one's URL; either this or `page_parameter`."),
        ConfigKey(
            name: "page_parameter", type: .string(limit: 256), kinds: [.pages],
            help: "The query's parameter that counts pages; an empty page is behind the last."),
        ConfigKey(
            name: "first_page", type: .integer(0...1_000_000), kinds: [.pages], initial: "1",
            help: "What `page_parameter` starts from."),
        ConfigKey(
            name: "batch", type: .integer(1...1_000_000), kinds: [.pages],
            help: "How many items to ask for a page; without it what the server likes."),
        ConfigKey(
            name: "batch_parameter", type: .string(limit: 256), kinds: [.pages], initial: #""limit""#,
            help: "The query's parameter that asks for them."),
        ConfigKey(
            name: "total", type: .pointer(orNull: true), kinds: [.pages],
            help: "Where a page holds the number of all items, for `progress` lines."),
        ConfigKey(
            name: "pause", type: .duration(.zero...day), kinds: [.pages], initial: #""0s""#,
            help: "The time between the end of one page and the request for the next."),
        ConfigKey(
            name: "most_pages", type: .integer(1...1_000_000), kinds: [.pages], initial: "1000",
            help: "At most so many pages a run."),
        ConfigKey(
            name: "other_origins", type: .boolean, kinds: [.pages], initial: "false",
            help: "Whether a next page may be at another origin than the first."),
        ConfigKey(
            name: "once", type: .boolean, kinds: [.pages], initial: "false",
            help: "One run only; `every` says nothing then."),
    ]

    private static let webSocket: [ConfigKey] = [
        ConfigKey(
            name: "subprotocols", type: .tokens, kinds: [.websocket], initial: "[]",
            help: "The subprotocols to offer, in order."),
        ConfigKey(
            name: "subscribe", type: .message, kinds: [.websocket],
            help: "What to send as soon as it is open: a string, or JSON that is sent as text."),
        ConfigKey(
            name: "ping_every", type: .duration(.milliseconds(100)...day), kinds: [.websocket], initial: #""20s""#,
            help: "The time between pings."),
        ConfigKey(
            name: "ping_timeout", type: .duration(.milliseconds(100)...day), kinds: [.websocket],
            initial: #""10s""#, help: "How long anything may take to come after a ping."),
    ]

    private static let others: [ConfigKey] = [
        ConfigKey(
            name: "max_line", type: .size(64...(64 << 20)), kinds: [.stdin], initial: #""1MiB""#,
            help: "The longest line taken."),
        ConfigKey(
            name: "n", type: .integer(0...PollRequest.mostN), kinds: [.fibonacci],
            help: "Up to which number a run goes; needed."),
        ConfigKey(
            name: "emit", type: .words(FibonacciSource.Emission.allCases.map(\.rawValue)), kinds: [.fibonacci],
            initial: #""summary""#,
            help: "What lines a run makes: `summary` for one with the time it took, `pairs` for every number as well."),
    ]
}
