internal import HTTPServer
package import Outputs

/// What a web server is told by the settings; a reload may change all of it.
package struct WebSettings: Sendable, Equatable {
    /// What whoever asks has to know; nil when that is not asked for.
    package var token: WebToken?
    /// Names beside `localhost` and addresses that a request may call this machine by, in lower case.
    package var hosts: [String] = []
    /// Origins whose pages may show this one in a frame.
    package var frames: [String] = []
    /// Origins that pictures may come from besides the server's own: `https://…`.
    package var pictures: [String] = []
    /// How many series, and how many sources and endpoints, `/metrics` tells of, each.
    package var metricsSeries = 1_000
    /// The program's, as `--version` says it.
    package var version = ""
    /// How many series there may be; nil for as many as usual.
    package var series: Int?
    /// Whether the feed is another agent's.
    package var isAttached = false
    /// Where the stand-in API says that it is, when it was started: `http://127.0.0.1:PORT`.
    package var demo: String?

    package init() {}

    /// The fields that every answer has.
    var fields: [HTTPField] {
        let frames = frames.isEmpty ? "'none'" : frames.joined(separator: " ")
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "worker-src 'self'",
            (["img-src 'self'"] + pictures).joined(separator: " "), "frame-ancestors \(frames)", "base-uri 'none'",
            "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types catwatch",
        ]
        return [
            HTTPField("Content-Security-Policy", policy.joined(separator: "; ")),
            HTTPField("Referrer-Policy", "no-referrer"), HTTPField("Cross-Origin-Opener-Policy", "same-origin"),
        ] + Self.shortFields
    }

    /// Those of them that a file needs that is only ever a part of a document.
    static let shortFields = [
        HTTPField("X-Content-Type-Options", "nosniff"), HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
    ]
}
