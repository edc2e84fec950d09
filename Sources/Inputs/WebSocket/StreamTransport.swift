package import Reactor

/// Opens byte streams to where a URL points: over the network (`CurlTransport`), or in a test's imagination.
package protocol StreamTransport: Sendable {
    /// Connects, through proxies and with TLS as the request asks for them, at most until the request's deadline. Nothing
    /// is sent and nothing read.
    ///
    /// - Parameter request: its URL is `ws`, `wss`, `http` or `https`; headers, body and redirects do not matter.
    /// - Returns: the stream, which belongs to the caller's loop, and what name, connection and TLS took.
    /// - Throws: `HTTPFailure`; when the task is cancelled, one with the code `closed`.
    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming)
}
