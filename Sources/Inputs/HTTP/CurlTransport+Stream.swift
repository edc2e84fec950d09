internal import CCurl
internal import Feed
package import Reactor

extension CurlTransport: StreamTransport {
    package func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        guard let handle = EasyHandle(connectOnly: true) else {
            throw HTTPFailure(.internal, "there is no memory for another connection")
        }
        try handle.prepare(request)
        guard let code = await run(handle) else { throw HTTPFailure(.closed, "the connection was cancelled") }
        guard code == CURLE_OK else { throw handle.failure(code, of: request) }
        let timing = handle.connectionTiming
        // Streams keep the transport alive, as requests do.
        let release = { self.remove(handle) }
        do throws(SystemError) {
            return (LoopBound(try CurlStream(handle, on: loop, release: release)), timing)
        } catch {
            throw HTTPFailure(.internal, "the connection cannot be used: \(error.reason)")
        }
    }
}
