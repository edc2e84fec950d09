package import Reactor

/// Opens byte streams to a URL: over the network (`CurlTransport`), or simulated in a test.
package protocol StreamTransport: Sendable {
    /// Connects, through proxies and with TLS as the request says, within the request's deadline. Nothing is sent or
    /// read.
    ///
    /// - Parameter request: its URL is `ws`, `wss`, `http` or `https`; headers, body and redirects do not matter.
    /// - Returns: the stream, which belongs to the caller's loop, and the duration of name resolution, connection and
    ///   TLS.
    /// - Throws: `HTTPFailure`; when the task is cancelled, one with the code `closed`.
    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming)
}
