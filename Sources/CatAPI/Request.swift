internal import HTTPServer
internal import WebSocket

/// The parts of an HTTP request that the stand-in uses.
package struct Request: Sendable {
    package var method: String
    /// The path as it was sent, without the query.
    package var path: String
    package var query: Query
    /// The `Host` field: URLs in answers start with it.
    package var host: String
    /// The `If-None-Match` field, for the `etag` fault.
    package var ifNoneMatch: String?
    /// The `If-Modified-Since` field, for the `etag` fault.
    package var ifModifiedSince: String?
    /// The handshake for a WebSocket; nil for a plain request.
    package var upgrade: UpgradeRequest?

    /// - Parameter target: path and query as in the request line.
    package init(_ method: String, _ target: String, host: String = "localhost") {
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        self.path = String(halves[0])
        self.query = Query(halves.count == 2 ? halves[1] : "")
        self.host = host
    }

    /// - Parameter host: replaces a missing `Host` field, which is optional in HTTP/1.0.
    init(_ request: HTTPRequest, host: String) {
        self.init(request.method, request.target, host: request["Host"] ?? host)
        ifNoneMatch = request["If-None-Match"]
        ifModifiedSince = request["If-Modified-Since"]
        upgrade = UpgradeRequest(request)
    }
}

/// A client's half of the opening handshake of a WebSocket (RFC 6455, section 4.2.1).
package struct UpgradeRequest: Sendable, Hashable {
    /// `Sec-WebSocket-Key`
    package var key: String
    /// `Sec-WebSocket-Version`
    package var version: String
    /// `Sec-WebSocket-Protocol`; empty when it is missing.
    package var subprotocols: String

    package init(key: String, version: String = "13", subprotocols: String = "") {
        self.key = key
        self.version = version
        self.subprotocols = subprotocols
    }

    fileprivate init?(_ request: HTTPRequest) {
        guard let upgrade = request["Upgrade"], Handshake.list(upgrade, names: "websocket"),
            let connection = request["Connection"], Handshake.list(connection, names: "upgrade")
        else { return nil }
        self.init(
            key: request["Sec-WebSocket-Key"] ?? "", version: request["Sec-WebSocket-Version"] ?? "",
            subprotocols: request["Sec-WebSocket-Protocol"] ?? "")
    }
}
