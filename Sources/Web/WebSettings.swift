internal import HTTPServer
package import Outputs

/// The settings of a web server; a reload may change all of them.
package struct WebSettings: Sendable, Equatable {
    /// The token that requests need; nil for none.
    package var token: WebToken?
    /// Names of this machine that a `Host` may have besides `localhost` and addresses, in lower case.
    package var hosts: [String] = []
    /// Origins whose pages may embed this one in a frame.
    package var frames: [String] = []
    /// Origins of pictures besides the server's own: `https://…`.
    package var pictures: [String] = []
    // Series, sources, endpoints, agents, conditions of alerts and alerts in `/metrics`: 1,000 each (`--metrics-series`, up to
    // 10,000); left out and counted.
    /// The most series, and the most sources, endpoints, agents, conditions of alerts and alerts, in `/metrics`, each.
    package var metricsSeries = 1_000
    /// The program's version, as `--version` prints it.
    package var version = ""
    /// The most series in the store; nil for the default.
    package var series: Int?
    /// Whether the feed is that of another agent.
    package var isAttached = false
    /// The address of the stand-in API, if started: `http://127.0.0.1:PORT`.
    package var demo: String?

    package init() {}

    /// The header fields of every answer.
    var fields: [HTTPField] {
        let frames = frames.isEmpty ? "'none'" : frames.joined(separator: " ")
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
            (["img-src 'self'"] + pictures).joined(separator: " "), "frame-ancestors \(frames)", "base-uri 'none'",
            "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
        ]
        return [
            HTTPField("Content-Security-Policy", policy.joined(separator: "; ")),
            HTTPField("Referrer-Policy", "no-referrer"), HTTPField("Cross-Origin-Opener-Policy", "same-origin"),
        ] + Self.shortFields
    }

    /// The fields needed for a file that is only part of a document.
    static let shortFields = [
        HTTPField("X-Content-Type-Options", "nosniff"), HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
    ]
}
